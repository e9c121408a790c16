"""A package of split DWARF, `.dwp`: the sections of many `.dwo` files, and tables that say whose parts are where.

Tables are `.debug_cu_index` for units, by their dwo_id, and `.debug_tu_index` for type units, by their signature. They
are hash tables, but are read as a whole here. Version 2 is GNU's, for DWARF 4, version 5 the standard's (DWARF 5,
7.3.5); the numbers of sections differ.
"""

from __future__ import annotations

from struct import unpack_from

from pybtf.elf.image import ElfImage, Section
from pybtf.errors import InputError, Place
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

_COLUMNS: Final = {
    2: {1: "info", 2: "types", 3: "abbrev", 5: "loc", 6: "str_offsets"},
    5: {1: "info", 3: "abbrev", 5: "loclists", 6: "str_offsets", 8: "rnglists"},
}
_MOST_COLUMNS: Final = 32
_AGAIN: Final = "Make the package again: the index that it has would give units the data of others."


_SHARED: Final = ("abbrev", "loc", "loclists", "rnglists", "str_offsets")
"""Of each `.dwo` there is one part, which all its units have."""


@record(frozen=True)
class Parts:
    """Where a unit's parts are: by the section's short name offset and size."""

    places: dict[str, tuple[int, int]]

    def of(self, section: str) -> tuple[int, int] | None:
        return self.places.get(section)


def read_index(image: ElfImage, title: str) -> dict[int, Parts]:
    """The rows of `.debug_cu_index` or `.debug_tu_index` by dwo_id or signature; none, if there is no such section.
    Raises `InputError`.
    """
    section = image.section(title)
    if section is None:
        return {}
    data = image.data(section)
    order = image.order
    if len(data) < 16:
        raise _damaged(image, section, f"{len(data)} bytes")
    version, short, columns, units, slots = unpack_from(f"{order}I", data)[0], *unpack_from(f"{order}H2x3I", data)
    if version != 2:
        version = short
    if version not in _COLUMNS:
        raise InputError(image.place(section), f"version {version}", "2 or 5")
    ids_at = 16 + 12 * slots
    rows_at = ids_at + 4 * columns
    if columns > _MOST_COLUMNS or units > slots or rows_at + 8 * columns * units > len(data):
        raise _damaged(image, section, f"{columns} columns, {units} units, {slots} slots")
    names = [_COLUMNS[version].get(each) for each in unpack_from(f"{order}{columns}I", data, ids_at)]
    signatures = unpack_from(f"{order}{slots}Q", data, 16)
    numbers = unpack_from(f"{order}{slots}I", data, 16 + 8 * slots)
    found: dict[int, Parts] = {}
    named = bytearray(units + 1)
    for signature, number in zip(signatures, numbers, strict=True):
        if not number:
            continue
        if number > units:
            raise _damaged(image, section, f"row {number} of {units}")
        if named[number]:
            raise _damaged(image, section, f"row {number} in two slots")
        named[number] = 1
        at = rows_at + 4 * columns * (number - 1)
        offsets = unpack_from(f"{order}{columns}I", data, at)
        sizes = unpack_from(f"{order}{columns}I", data, at + 4 * columns * units)
        places = {name: (start, size) for name, start, size in zip(names, offsets, sizes, strict=True) if name}
        found.setdefault(signature, Parts(places))
    return found


def check_parts(image: ElfImage, rows: Iterable[Parts]) -> None:
    """Raise `InputError` if these rows, those of both tables, cannot be of units as they were put together: if parts
    overlap that are not the same, or units of different `.dwo` files have the same names.

    All units of a `.dwo` have the same part of each section, of no other unit. So those that share `.debug_str_offsets`
    share `.debug_abbrev` as well.
    """
    known: dict[str, set[tuple[int, int]]] = {name: set() for name in _SHARED}
    abbreviations: dict[tuple[int, int], tuple[int, int] | None] = {}
    for parts in rows:
        for name, seen in known.items():
            place = parts.of(name)
            if place is not None and place[1]:
                seen.add(place)
        strings, abbrev = parts.of("str_offsets"), parts.of("abbrev")
        if strings is not None and strings[1] and abbreviations.setdefault(strings, abbrev) != abbrev:
            raise InputError(
                Place(image.path, ".debug_str_offsets.dwo", strings[0]), "a part of units with different parts of"
                " .debug_abbrev.dwo", "a part for the units of each .dwo", _AGAIN,
            )  # fmt: skip
    for name, seen in known.items():
        end = 0
        for start, size in sorted(seen):
            if start < end:
                where = Place(image.path, f".debug_{name}.dwo", start)
                raise InputError(where, "parts that overlap", "a part for the units of each .dwo", _AGAIN)
            end = start + size


def _damaged(image: ElfImage, section: Section, found: str) -> InputError:
    return InputError(image.place(section), found, "an index of units")
