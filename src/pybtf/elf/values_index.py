"""Which sections of a file have unit values of objects, or their index; and whether DWARF was taken out of the objects
when they got these (`pybtf cc --strip-dwarf`).

What remains is the DWARF of a part of the program, which looks just like that of a whole program. The index of values
says so (merging/pieces.py has its format); here it is only walked, as far as nothing depends on the linker.
"""

from __future__ import annotations

from struct import Struct

from pybtf.elf.constants import DWARF_SECTIONS, SHF_ALLOC, SHT_MIPS_DWARF, SHT_PROGBITS
from pybtf.elf.image import ElfImage, Section
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

VALUES: Final = ".debug_btf_values"
"""The section in which `pybtf object` leaves unit values."""
MAGIC: Final = b"bUV1"
"""How a piece of the index begins; in the byte order of the file, as what follows."""
STRIPPED: Final = 4
"""The flag of a piece whose object no longer has DWARF."""
_SIZE_AT: Final = 8
_FLAGS_AT: Final = 12
_GAPS: Final = (4096, 8)
"""Zeros that may stand between pieces; what is neither is not an index."""
_TYPES: Final = (SHT_PROGBITS, SHT_MIPS_DWARF)
"""GNU ld for MIPS gives all sections of such names the type of DWARF, whatever they had in the objects."""


def compressed_name(name: str) -> str:
    """What `objcopy --compress-debug-sections=zlib-gnu` calls a section of values, or an index, once it is smaller."""
    return name.replace(".debug_", ".zdebug_", 1)


def may_be_index(section: Section) -> bool:
    """Whether the section is of the kind that an index is in, by its header."""
    return (
        section.type in _TYPES
        and not section.flags & SHF_ALLOC
        and section.name.startswith((".debug_", ".zdebug_"))
    )


def is_index(image: ElfImage, section: Section) -> bool:
    """Whether the section begins as an index does."""
    return (
        may_be_index(section)
        and section.name not in DWARF_SECTIONS
        and image.head(section, len(MAGIC)) == (MAGIC if image.little else MAGIC[::-1])
    )


def is_ours(image: ElfImage, section: Section) -> bool:
    """Whether the section has values, or their index, so that it is not there if DWARF is linked."""
    ours = (VALUES, compressed_name(VALUES))
    return not section.flags & SHF_ALLOC and (section.name in ours or is_index(image, section))


def stripped_objects(image: ElfImage) -> int:
    """Of how many objects the index, if there is one, says that their DWARF was taken out."""
    count = 0
    magic = MAGIC if image.little else MAGIC[::-1]
    word = Struct("<I" if image.little else ">I")
    left = image.size
    for section in image.sections:
        if not is_index(image, section):
            continue
        left -= section.size
        if left < 0:  # sections that overlap, which could go on for long
            break
        data = image.data(section)
        at = 0
        while at + _FLAGS_AT + 4 <= len(data):
            if data[at : at + 4] != magic:
                step = next((n for n in _GAPS if data[at : at + n] == bytes(n)), 0)
                if step == 0:
                    break
                at += step
                continue
            count += bool(word.unpack_from(data, at + _FLAGS_AT)[0] & STRIPPED)
            at += max(word.unpack_from(data, at + _SIZE_AT)[0], 8)
    return count
