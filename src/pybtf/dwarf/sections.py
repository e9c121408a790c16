"""The debug sections of an image, ready for the core: decompressed, and relocated where the file still needs it."""

from __future__ import annotations

from array import array
from typing import Final

from pybtf.elf.constants import ET_REL
from pybtf.elf.image import ElfImage
from pybtf.elf.relocation import relocated
from pybtf.errors import InputError, NothingToEncode

# The names by which core/run.py knows them. `.debug_types`, `.debug_ranges` and `.debug_rnglists` are not read.
WANTED: Final = ("info", "abbrev", "str", "line_str", "str_offsets", "addr", "loc", "loclists")

Buffer = bytes | bytearray | memoryview


def debug_sections(image: ElfImage, addresses: array[int]) -> dict[str, Buffer]:
    """The contents of the debug sections by short name. Raises `InputError` if there is no DWARF."""
    found: dict[str, Buffer] = {}
    for name in WANTED:
        section = image.debug_section(f".debug_{name}")
        if section is None:
            continue
        found[name] = relocated(image, section, addresses) if image.etype == ET_REL else image.data(section)
    if not found.get("info"):
        raise NothingToEncode(
            image.place(),
            "has no DWARF (.debug_info)",
            "debug information",
            "Build with -g, or name the file that was not stripped.",
        )
    if "abbrev" not in found:
        raise InputError(image.place(), "has .debug_info but no .debug_abbrev", "both")
    types = image.debug_section(".debug_types")
    if types is not None and types.size and image.etype != ET_REL:
        raise InputError(
            image.place(types),
            "holds DWARF 4 type units",
            "types in .debug_info",
            "Build without -fdebug-types-section.",
        )
    return found
