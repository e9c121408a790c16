"""The debug sections of an image, ready for the core: decompressed, and relocated where the file still needs it.

The core reads one run of bytes as .debug_info. Type units may stand elsewhere: in `.debug_types` (DWARF 4), and in a
relocatable file each in a section of its own, a member of a COMDAT group. They are appended to .debug_info; what they
say of their place is relative to their unit, so nothing has to be changed in them.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable
from struct import Struct

from pybtf.dwarf.separate import find_debug_file
from pybtf.elf.constants import ET_REL, SHF_GROUP, SHT_REL, SHT_RELA
from pybtf.elf.image import ElfImage, Section
from pybtf.elf.layout import section_addresses
from pybtf.elf.relocation import relocated
from pybtf.errors import InputError, NothingToEncode, Place
from pybtf.records import replace

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

# The names by which core/run.py knows them. `.debug_ranges` and `.debug_rnglists` are not read.
WANTED: Final = ("info", "abbrev", "str", "line_str", "str_offsets", "addr", "loc", "loclists")

DW_UT_TYPE: Final = 2

Buffer = bytes | bytearray | memoryview
Read = Callable[[Section], Buffer]


class DebugSections(dict[str, Buffer]):
    """The contents of the debug sections by short name, and where they come from."""

    def __init__(self, image: ElfImage) -> None:
        super().__init__()
        self.path = image.path
        """The file that has them: the input, or its separate debug file."""
        self.types_at = 0
        """Where in `info` the units of `.debug_types` start; its size if there are none."""
        self.parts: list[tuple[int, str]] = []
        """What `info` is made of, if of more than one section: start and name, ascending."""
        self.warnings: list[str] = []

    def place(self, place: Place) -> Place:
        """The same place, with offsets as they are in the section it names."""
        if place.section != ".debug_info" or not self.parts:
            return replace(place, file=self.path)
        where = next((n for n in (place.die, place.offset, place.unit) if n is not None), 0)
        start, name = next(part for part in reversed(self.parts) if part[0] <= where)

        def own(offset: int | None) -> int | None:
            return None if offset is None else max(0, offset - start)

        return replace(
            place,
            file=self.path,
            section=name,
            offset=own(place.offset),
            unit=own(place.unit),
            die=own(place.die),
        )


def debug_sections(image: ElfImage, addresses: array[int]) -> DebugSections:
    """The debug sections of `image`, or of its separate debug file. Raises `InputError` if there is no DWARF."""
    if image.debug_section(".debug_info") is not None:
        return _sections_of(image, addresses)
    with find_debug_file(image) as (debug, warning):
        found = _sections_of(debug, section_addresses(debug))
    if warning:
        found.warnings.append(warning)
    return found


def _sections_of(image: ElfImage, addresses: array[int]) -> DebugSections:
    read = _reader(image, addresses)
    found = DebugSections(image)
    for name in WANTED:
        section = image.debug_section(f".debug_{name}")
        if section is not None:
            found[name] = read(section)
    if not found.get("info"):
        raise NothingToEncode(image.place(), "has an empty .debug_info", "debug information", "Build with -g.")
    if "abbrev" not in found:
        raise InputError(image.place(), "has .debug_info but no .debug_abbrev", "both")
    found.types_at = len(found["info"])
    more = _type_units(image)
    if more:
        _append(image, found, more, read)
    return found


def _reader(image: ElfImage, addresses: array[int]) -> Read:
    """What gives the contents of a section; relocated if that is still to be done."""
    if image.etype != ET_REL:
        return image.data
    relocations: dict[int, list[Section]] = defaultdict(list)
    for section in image.sections:
        if section.type in (SHT_REL, SHT_RELA):
            relocations[section.info].append(section)
    return lambda section: relocated(image, section, addresses, relocations[section.index])


def _type_units(image: ElfImage) -> list[Section]:
    """The sections of type units beside .debug_info, those of DWARF 5 first."""
    found: list[Section] = []
    types: list[Section] = []
    for section in image.sections:
        if not section.size or section.name.replace(".zdebug_", ".debug_", 1) not in (".debug_info", ".debug_types"):
            continue
        if section.name.endswith("types"):
            types.append(section)
        elif section.flags & SHF_GROUP and _starts_with_type_unit(image, section):
            found.append(section)
    if image.etype != ET_REL:
        # The linker has made one section of all; of several the first counts, as for .debug_info.
        only = image.debug_section(".debug_types")
        return [only] if only is not None and only.size else []
    return found + types


def _starts_with_type_unit(image: ElfImage, section: Section) -> bool:
    data = image.data(section)[:16]
    header = Struct(f"{image.order}IHB")
    if len(data) < 16:
        return False
    long = bytes(data[:4]) == b"\xff\xff\xff\xff"
    _, version, kind = header.unpack_from(data, 8 if long else 0)
    return bool(version >= 5 and kind == DW_UT_TYPE)


def _append(image: ElfImage, found: DebugSections, more: list[Section], read: Read) -> None:
    """Put these sections of type units behind .debug_info."""
    if sum(section.size for section in more) > image.size:
        raise InputError(image.place(more[0]), f"{len(more)} sections of type units that overlap", "one for each type")
    info = bytearray(found["info"])
    found.parts.append((0, ".debug_info"))
    for section in more:
        name = section.name.replace(".zdebug_", ".debug_", 1)
        found.parts.append((len(info), name))
        info += read(section)
        if name == ".debug_info":
            found.types_at = len(info)
    found["info"] = info
