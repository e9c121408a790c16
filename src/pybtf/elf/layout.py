"""Where the sections of a file are, also those of a relocatable file, which have no addresses yet.

Relocating the DWARF of an object file needs addresses. Any layout would do for types, but the choice shows
in the output: a variable belongs to the first section in the table that contains its address, and section 1
of an object may well be a non-allocated one at address 0. So the layout is pahole's (libdwfl's for a
single file that is not loaded anywhere), found by experiments with objects that make addresses visible:

- it starts at 0x10000 and takes the allocated sections in the order of the table, each at the current end
  rounded up to its alignment;
- when a section wants a larger alignment than the start has, the start is rounded up to that, and all
  sections up to this one are placed again. This does not happen to the first section that gets a place away
  from the start: its place becomes the start, and empty sections before it stay where they were;
- addresses that an object file brings along are ignored. Sections that are not allocated are at 0.
"""

from __future__ import annotations

from pybtf.core.elf.section_table import place_sections
from pybtf.elf.constants import ET_REL
from pybtf.elf.image import ElfImage, Section
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final

START: Final = 0x10000


def section_addresses(image: ElfImage) -> memoryview:
    """The address of every section, by index, as 64-bit words."""
    room = bytearray(8 * len(image.table))
    places = memoryview(room).cast("Q")  # an array: `array` is one more library to map
    if image.etype == ET_REL:
        place_sections(image.table, START, room)
    else:
        for section in image.sections:
            places[section.index] = section.addr
    return places


def owners(
    sections: Sequence[Section], addresses: memoryview, sizes: Mapping[int, int]
) -> list[tuple[int, int, Section]]:
    """Ranges of addresses (start, end, section), ascending and without overlaps, where `sections` are.

    `sizes`: of those that take more than the table says, by index.

    Where several overlap, the one with the lowest index owns the address (Q26). A sweep over all starts and ends, so
    that the time does not depend on how much they overlap.
    """
    from _heapq import heappop, heappush  # as `heapq`, at once; few files have variables
    from itertools import pairwise

    starts = sorted((addresses[s.index], s.index, s) for s in sections if s.size)
    ends = {addresses[s.index] + sizes.get(s.index, s.size) for s in sections}
    found: list[tuple[int, int, Section]] = []
    here: list[tuple[int, int, Section]] = []  # a heap of those that have started: index, end, section
    bounds = sorted({*ends, *(start for start, _, _ in starts)})
    at = 0
    for low, high in pairwise(bounds):
        while at < len(starts) and starts[at][0] <= low:
            start, index, section = starts[at]
            heappush(here, (index, start + sizes.get(index, section.size), section))
            at += 1
        while here and here[0][1] <= low:
            heappop(here)
        if not here:
            continue
        owner = here[0][2]
        if found and found[-1][1] == low and found[-1][2] is owner:
            found[-1] = found[-1][0], high, owner
        else:
            found.append((low, high, owner))
    return [(low, min(high, 1 << 64), owner) for low, high, owner in found if low >> 64 == 0]
