"""The index in a file, found by what it begins with, because its name may have been chosen; and an object's values."""

from __future__ import annotations

from pybtf.elf.constants import ET_REL, SHT_NULL
from pybtf.elf.image import ElfImage, Section
from pybtf.elf.layout import section_addresses
from pybtf.elf.relocation import relocated
from pybtf.elf.values_index import MAGIC, compressed_name, may_be_index
from pybtf.errors import InputError
from pybtf.merging.pieces import PAYLOAD, Piece, unpack

_MAGICS = (MAGIC, MAGIC[::-1])


def find_index(image: ElfImage) -> Section | None:
    """The section that is an index, or None. Raises `InputError` if there are several."""
    found = [
        section
        for section in image.sections
        if may_be_index(section) and section.size and image.head(section, 4) in _MAGICS
    ]
    if len(found) > 1:
        names = ", ".join(section.name for section in found)
        raise InputError(image.place(), f"values of objects under several names ({names})", "one")
    return found[0] if found else None


def index_of(image: ElfImage, section: Section) -> list[Piece]:
    """What the index says, with addresses as in the file's DWARF. Raises `InputError`."""
    data = relocated(image, section, section_addresses(image)) if image.etype == ET_REL else image.data(section)
    return unpack(data, image.place(section), little=image.little)


def find_payloads(image: ElfImage) -> Section | None:
    """The section of values, or None. `objcopy --compress-debug-sections=zlib-gnu` gives it another name. Of one that
    was taken away, an inactive section of the name is left (elf/rebuild.py).
    """
    names = (PAYLOAD, compressed_name(PAYLOAD))
    return next((each for each in image.sections if each.name in names and each.type != SHT_NULL), None)
