"""The debug sections of an image, ready for the core: decompressed, and relocated where the file still needs it.

The core reads one run of bytes as .debug_info. Type units may stand elsewhere: in `.debug_types` (DWARF 4), and in a
relocatable file each in a section of its own, a member of a COMDAT group. They are appended to .debug_info; what they
say of their place is relative to their unit, so nothing has to be changed in them. The units of an alternate file of
dwz come last (alternate.py).
"""

from __future__ import annotations

from pybtf.dwarf.skeletons import has_skeletons
from pybtf.elf.constants import ET_REL, SHF_GROUP, SHT_NOBITS
from pybtf.elf.image import ElfImage, Section, Source
from pybtf.elf.layout import section_addresses
from pybtf.elf.relocation import relocated
from pybtf.errors import InputError, NothingToEncode, Place
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Final

    from pybtf.dwarf.alternate import Alternate

# The names by which core/inputs.py knows them. slow.py reads `.debug_ranges` and `.debug_rnglists`.
WANTED: Final = ("info", "abbrev", "str", "line_str", "str_offsets", "addr", "loc", "loclists")

_TITLES: Final = tuple([(name, f".debug_{name}") for name in WANTED])

DW_UT_TYPE: Final = 2

Buffer = bytes | bytearray | memoryview


class DebugSections(dict[str, Buffer]):
    """The contents of the debug sections by short name, and where they come from."""

    def __init__(self, image: ElfImage) -> None:
        super().__init__()
        self.path = image.path
        """The file that has them: the input, or its separate debug file."""
        self.types_at = 0
        """Where in `info` the units of `.debug_types` start; its size if there are none."""
        self.parts: list[tuple[int, str, str, int]] = []
        """What `info` is made of, if of more than one section: start, name and file, and what is to be subtracted from
        offsets for them to be those in that section; ascending."""
        self.ranges_bases: dict[int, int] = {}
        """Of split units of DWARF 4, by where they are in `info`: where their ranges begin in `.debug_ranges`."""
        self.split_units = b""
        """Of units of split DWARF, where their parts are: SplitUnit of core/model/debug_sections.pxd."""
        self.alternate: Alternate | None = None
        """What else there is of its alternate file. `info` and `str` have those of that file at their ends."""
        self.no_alternate = "The file does not say which: it has neither .gnu_debugaltlink nor .debug_sup."
        """Why there is none."""
        self.warnings: list[str] = []
        self.sources: list[Source] = []
        """The files they are mapped from."""
        self.info_in: tuple[Source, int] | None = None
        """The file that `info` is mapped from, and where it begins there; None if it is not, but made of what is."""

    def place(self, place: Place) -> Place:
        """The same place, with offsets as they are in the section it names."""
        in_info = place.section == ".debug_info"
        known = (place.die, place.offset if in_info else None, place.unit)
        where = next((n for n in known if n is not None), 0)
        if not self.parts:
            return replace(place, file=self.path)
        _, name, file, shift = next(part for part in reversed(self.parts) if part[0] <= where)

        split = name.endswith(".dwo")  # of its other sections only a part is here

        def own(offset: int | None) -> int | None:
            return None if offset is None else max(0, offset - shift)

        return replace(
            place,
            file=file,
            section=name if in_info else f"{place.section}.dwo" if split and place.section else place.section,
            offset=own(place.offset) if in_info else None if split else place.offset,
            unit=own(place.unit),
            die=own(place.die),
        )


def debug_sections(
    image: ElfImage,
    addresses: memoryview,
    *,
    package: str | None = None,
    degrade: bool = False,
    fill: Callable[[DebugSections], None] | None = None,
) -> DebugSections:
    """The debug sections of `image`, or of its separate debug file, with what it has in other files (split.py):
    `package` is a `.dwp` to look into, and with `degrade` what is missing is left out. `fill` may change what `image`
    itself has, before that of others is put to it. Raises `InputError` if there is no DWARF.
    """
    if image.debug_section(".debug_info") is not None:
        return _sections_of(image, addresses, package, degrade, fill)
    _refuse_stripped(image)  # there is none to be found elsewhere
    from pybtf.dwarf.separate import find_debug_file

    with find_debug_file(image) as (debug, warning):
        found = _sections_of(debug, section_addresses(debug), package, degrade)
    if warning:
        found.warnings.append(warning)
    return found


def _refuse_stripped(image: ElfImage) -> None:
    """Raise `NothingToEncode` for a file from which pybtf has taken the DWARF; in an object its sections are empty."""
    from pybtf.elf.values_index import stripped_objects

    if stripped_objects(image):
        place, hint = image.place(), "pybtf merge makes BTF of the values."
        raise NothingToEncode(place, "values of objects, and no DWARF (.debug_info)", "DWARF", hint)


def another_section(image: ElfImage, sections: DebugSections, title: str) -> Buffer | None:
    """One more debug section of the file that has these, `image` or its separate debug file. Raises `InputError`."""
    if sections.path != image.path:
        with ElfImage.open(sections.path) as debug:
            found = read_section(debug, title)
            return None if found is None else bytes(found)
    return read_section(image, title)


def read_section(image: ElfImage, title: str) -> Buffer | None:
    """A debug section of this very file. Raises `InputError`."""
    section = image.dwarf.get(title)
    return None if section is None else _read(image, section, section_addresses(image))


def _sections_of(
    image: ElfImage,
    addresses: memoryview,
    package: str | None,
    degrade: bool,
    fill: Callable[[DebugSections], None] | None = None,
) -> DebugSections:
    found = DebugSections(image)
    if image.source is not None:
        found.sources.append(image.source)
    there = image.dwarf
    for name, title in _TITLES:
        if title in there:
            found[name] = _read(image, there[title], addresses)
    if not found.get("info"):
        _refuse_stripped(image)
        raise NothingToEncode(image.place(), "has an empty .debug_info", "debug information", "Build with -g.")
    if "abbrev" not in found:
        raise InputError(image.place(), "has .debug_info but no .debug_abbrev", "both")
    if fill is not None:
        fill(found)
    more = _type_units(image)
    split = None
    if has_skeletons(found, lambda start, end: image.give_back(there[".debug_info"], start, end), little=image.little):
        from pybtf.dwarf.split import join_split

        split = join_split(image, found, package, degrade)
    elif package is not None:
        from pybtf.dwarf.split import Split

        Split(image, found, package)  # which says what is wrong with it
    found.types_at = len(found["info"])
    if more:
        _append(image, found, more, addresses)
    if split is not None:
        split.append_types(found)
    _append_alternate(image, found)
    info = found["info"]
    if image.source is not None and isinstance(info, memoryview) and info.obj is image.mapping:
        found.info_in = image.source, there[".debug_info"].offset
    return found


def _read(image: ElfImage, section: Section, addresses: memoryview) -> Buffer:
    """The contents of a section; relocated if that is still to be done."""
    return relocated(image, section, addresses) if image.etype == ET_REL else image.data(section)


def _type_units(image: ElfImage) -> list[Section]:
    """The sections of type units beside .debug_info, those of DWARF 5 first."""
    found: list[Section] = []
    types: list[Section] = []
    there = [section for section in image.table.of_units() if section.size]
    # Asked before anything of them is unpacked. In a linked file only one of each name is read.
    if image.etype == ET_REL and sum(s.size for s in there if s.type != SHT_NOBITS) > image.size:
        raise InputError(image.place(there[0]), f"{len(there)} sections of units that overlap", "one for each type")
    for section in there:
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
    data = image.head(section, 16)
    if len(data) < 16:
        return False
    long = data[:4] == b"\xff\xff\xff\xff"
    at = 12 if long else 4
    version = int.from_bytes(data[at : at + 2], "little" if image.little else "big")
    return version >= 5 and data[at + 2] == DW_UT_TYPE


def _append(image: ElfImage, found: DebugSections, more: list[Section], addresses: memoryview) -> None:
    """Put these sections of type units after .debug_info."""
    info = bytearray(found["info"])
    found.parts = found.parts or [(0, ".debug_info", image.path, 0)]
    for section in more:
        name = section.name.replace(".zdebug_", ".debug_", 1)
        found.parts.append((len(info), name, image.path, len(info)))
        info += _read(image, section, addresses)
        if name == ".debug_info":
            found.types_at = len(info)
    found["info"] = info


def _append_alternate(image: ElfImage, found: DebugSections) -> None:
    """Put what the alternate file of this file has after what there is, if there is an alternate file."""
    if image.section(".gnu_debugaltlink") is None and image.debug_section(".debug_sup") is None:
        return
    from pybtf.dwarf.alternate import WANTED, Alternate, find_alternate_file

    other, why_not = find_alternate_file(image)
    if other is None:
        found.no_alternate = why_not or found.no_alternate
        return
    found.no_alternate = ""
    with other:
        alternate = Alternate(other.path)
        alternate.update(_contents(other, WANTED))
        more = _contents(other, ("info", "str"))
        alternate.info_at = len(found["info"])
        alternate.str_at = len(found.get("str", b""))
        found.parts = found.parts or [(0, ".debug_info", image.path, 0)]
        found.parts.append((alternate.info_at, ".debug_info", other.path, alternate.info_at))
        if other.source is not None:
            found.sources.append(other.source)
        alternate.has_units = bool(more.get("info"))
        for name, data in more.items():
            if data:
                found[name] = b"".join((found.get(name, b""), data))
    found.alternate = alternate


def _contents(image: ElfImage, names: Iterable[str]) -> dict[str, Buffer]:
    sections = {name: image.debug_section(f".debug_{name}") for name in names}
    return {name: image.data(section) for name, section in sections.items() if section is not None}
