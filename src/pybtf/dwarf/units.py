"""How many units there are, by their lengths alone."""

from __future__ import annotations

from struct import error, unpack_from

from pybtf.elf.image import ElfImage
from pybtf.errors import InputError


def count_units(image: ElfImage) -> int:
    """Units of .debug_info. Raises `InputError` if their lengths do not add up."""
    section = image.debug_section(".debug_info")
    if section is None:
        return 0
    data = image.data(section)
    at = found = 0
    while at < len(data):
        size = 4
        try:
            (length,) = unpack_from(f"{image.order}I", data, at)
            if length == 0xFFFFFFFF:
                (length,) = unpack_from(f"{image.order}Q", data, at + 4)
                size = 12
        except error:
            raise InputError(image.place(section, at), "the end of the section", "the header of a unit") from None
        if length == 0 or length > len(data) - at - size:
            raise InputError(image.place(section, at), f"the unit length {length:#x}", "one within the section")
        at += size + length
        found += 1
    return found
