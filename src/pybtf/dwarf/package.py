"""A package of split DWARF, `.dwp`: the sections of many `.dwo` files, and tables that say whose parts are where.

Tables are `.debug_cu_index` for units, by their dwo_id, and `.debug_tu_index` for type units, by their signature. They
are hash tables, but are read as a whole here. Version 2 is GNU's, for DWARF 4, version 5 the standard's (DWARF 5,
7.3.5); the numbers of sections differ.
"""

from __future__ import annotations

from struct import unpack_from

from pybtf.elf.image import ElfImage, Section
from pybtf.errors import InputError
from pybtf.records import record

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_COLUMNS: Final = {
    2: {1: "info", 2: "types", 3: "abbrev", 5: "loc", 6: "str_offsets"},
    5: {1: "info", 3: "abbrev", 5: "loclists", 6: "str_offsets", 8: "rnglists"},
}
_MOST_COLUMNS: Final = 32


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


def _damaged(image: ElfImage, section: Section, found: str) -> InputError:
    return InputError(image.place(section), found, "an index of units")
