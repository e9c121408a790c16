"""What `dwarfwriter` writes: units, DIEs and lists as tuples, and the numbers of their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from elftools.dwarf.enums import ENUM_DW_AT, ENUM_DW_FORM, ENUM_DW_TAG

EXTRA_TAGS = {"LLVM_annotation": 0x6000, "GNU_annotation": 0x6001}
EXTRA_ATTRIBUTES = {"GNU_annotation": 0x2139}

Form = str | int | tuple[str | int, ...]


class Raw(NamedTuple):
    """A number to be written as it is, although the form would normally need an index or an offset."""

    value: int


class _End:
    pass


END = _End()


class Die(NamedTuple):
    tag: str | int
    attributes: tuple[tuple[str | int, Form, Any], ...]
    children: Sequence[Die | bytes]
    label: str | None
    code: int | None  # abbreviation code to write instead of the right one
    has_children: bool | None  # the abbreviation's flag; None: as it is


def die(
    tag: str | int,
    *attributes: tuple[str | int, Form, Any],
    children: Sequence[Die | bytes] = (),
    label: str | None = None,
    code: int | None = None,
    has_children: bool | None = None,
) -> Die:
    return Die(tag, attributes, children, label, code, has_children)


class LocList(NamedTuple):
    """Entries (first, second, expression), or (kind, first, second, expression) with an LLE kind of DWARF 5.

    Without a kind, the numbers are offsets from the unit's base address.
    """

    entries: Sequence[tuple[Any, ...]]
    terminated: bool = True


class RangeList(NamedTuple):
    """Entries (first, second), or (kind, first, second) with an RLE kind of DWARF 5."""

    entries: Sequence[tuple[Any, ...]]
    terminated: bool = True


class Unit(NamedTuple):
    root: Die | None
    version: int = 4
    offset_size: int = 4
    address_size: int = 8
    unit_type: str | int | None = None  # DWARF 5; default by the tag of the root
    abbrevs: str = ""  # units of the same name share an abbreviation table
    section: str = ".debug_info"  # or .debug_types
    signature: int = 0  # of a type unit or a skeleton
    type_label: str | None = None  # type units: the DIE that the signature means
    # values for the header in place of the right ones
    raw_length: int | None = None
    raw_version: int | None = None
    raw_abbrev: int | None = None
    raw_address_size: int | None = None
    terminated: bool = True  # the null entry after the children of the root
    tail: bytes = b""  # after the tree, inside the unit
    bases: bool = True  # whether to add the `*_base` attributes that the forms need


class Dwarf(NamedTuple):
    sections: dict[str, bytes]
    labels: dict[str, int]  # section offset of each labelled DIE
    units: list[int]  # section offset of each unit header
    attributes: dict[
        tuple[str, str | int], int
    ]  # (label of the DIE, attribute name): section offset of the value
    abbrevs: dict[tuple[str, int], int]  # (table name, abbreviation code): offset in .debug_abbrev
    fixups: list[Fixup]


class Fixup(NamedTuple):
    """A place where a relocatable file needs a relocation. `target` is a section name, or "" for an address."""

    section: str
    offset: int
    size: int
    target: str
    value: int


def forms_of(entry: Die) -> Iterable[str | int]:
    for _, form, value in entry.attributes:
        yield from form if isinstance(form, tuple) else (form,)
        if isinstance(value, LocList | RangeList):
            if any("x" in str(item[0]) for item in value.entries):  # startx_*, base_addressx
                yield "addrx"
        elif (
            isinstance(value, list | tuple)
            and not isinstance(value, Raw)
            and any(op[0] == "addrx" for op in value)
        ):
            yield "addrx"
    for child in entry.children:
        if isinstance(child, Die):
            yield from forms_of(child)


def tag_number(tag: str | int) -> int:
    if isinstance(tag, int):
        return tag
    return EXTRA_TAGS[tag] if tag in EXTRA_TAGS else ENUM_DW_TAG[f"DW_TAG_{tag}"]


def attribute_number(name: str | int) -> int:
    if isinstance(name, int):
        return name
    return EXTRA_ATTRIBUTES[name] if name in EXTRA_ATTRIBUTES else ENUM_DW_AT[f"DW_AT_{name}"]


def form_number(form: Form) -> int:
    if isinstance(form, tuple):
        form = form[0]
    return form if isinstance(form, int) else ENUM_DW_FORM[f"DW_FORM_{form}"]


def uleb(value: int, size: int = 0) -> bytes:
    """Unsigned LEB128, padded to `size` bytes."""
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        more = value or len(out) + 1 < size
        out.append(byte | (0x80 if more else 0))
        if not more:
            return bytes(out)


def sleb(value: int) -> bytes:
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        done = (value == 0 and not byte & 0x40) or (value == -1 and byte & 0x40)
        out.append(byte if done else byte | 0x80)
        if done:
            return bytes(out)
