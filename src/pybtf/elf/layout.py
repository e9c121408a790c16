"""Where the sections of a file are, also those of a relocatable file, which have no addresses yet.

Relocating the DWARF of an object file needs addresses. Any layout would do for types, but the choice shows
in the output: a variable belongs to the first section in the table that contains its address, and section 1
of an object may well be a non-allocated one at address 0. So the layout is the reference's (libdwfl's for a
single file that is not loaded anywhere), found by experiments with objects that make addresses visible:

- it starts at 0x10000 and takes the allocated sections in the order of the table, each at the current end
  rounded up to its alignment;
- when a section wants a larger alignment than the start has, the start is rounded up to that, and all
  sections up to this one are placed again. This does not happen to the first section that gets a place away
  from the start: its place becomes the start, and empty sections before it stay where they were;
- addresses that an object file brings along are ignored. Sections that are not allocated are at 0.
"""

from __future__ import annotations

from array import array
from typing import Final

from pybtf.elf.constants import ET_REL, SHF_ALLOC
from pybtf.elf.image import ElfImage, Section
from pybtf.errors import InputError

START: Final = 0x10000

_MASK: Final = (1 << 64) - 1


def section_addresses(image: ElfImage) -> array[int]:
    """The address of every section, by index, as 64-bit words.

    Raises `InputError` if the alignments of a relocatable file are such that no layout comes to an end.
    """
    if image.etype != ET_REL:
        return array("Q", [section.addr for section in image.sections])
    places = array("Q", bytes(8 * len(image.sections)))
    start = end = START
    restarts = 0
    allocated = [section for section in image.sections if section.flags & SHF_ALLOC]
    for number, section in enumerate(allocated):
        if end == start:
            start = end = _round_up(end, section)
        elif start & (section.addralign - 1 if section.addralign else 0):
            # Each restart makes the start a multiple of a larger power of two, so there are few.
            restarts += 1
            if restarts > 64:
                raise InputError(
                    image.place(section), f"the alignment {section.addralign:#x}", "a power of two"
                )
            start = end = _round_up(start, section)
            end = _place(allocated[:number], places, end)
        end = _place([section], places, end)
    return places


def _place(sections: list[Section], places: array[int], end: int) -> int:
    """Give these sections places from `end` on; the new end. All arithmetic wraps at 64 bits."""
    for section in sections:
        places[section.index] = _round_up(end, section)
        end = (places[section.index] + section.size) & _MASK
    return end


def _round_up(address: int, section: Section) -> int:
    align = section.addralign or 1
    return (address + align - 1) & -align & _MASK
