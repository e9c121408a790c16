"""Finding the unit that defines a name: for messages about one type, long after the encoding.

pyelftools reads DWARF slowly, 80,000 DIEs a second, and a kernel has 14 million. So a unit is only looked into if it
can hold the name: where the name is not inline, its offset in .debug_str must occur among the unit's bytes. That
leaves out nearly all units of a linked file with forms that have offsets; where offsets are indirect (DW_FORM_strx)
or are not relocated yet, every unit is a candidate, and the search gives up after a while.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MAX_DIES = 400_000
"""Some seconds of searching."""

MAX_SPELLINGS = 64
"""Strings that end with the name: more of them, and looking for their offsets sorts out nothing."""

TAGS = {
    "STRUCT": {"DW_TAG_structure_type", "DW_TAG_class_type"},
    "UNION": {"DW_TAG_union_type"},
    "FWD": {"DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"},
    "ENUM": {"DW_TAG_enumeration_type"},
    "ENUM64": {"DW_TAG_enumeration_type"},
    "TYPEDEF": {"DW_TAG_typedef"},
    "INT": {"DW_TAG_base_type"},
    "FLOAT": {"DW_TAG_base_type"},
    "FUNC": {"DW_TAG_subprogram"},
    "VAR": {"DW_TAG_variable"},
}
"""DWARF's tags for the kinds of BTF that have names."""


def defining_unit(path: str, kind: str, name: str) -> str | None:
    """The name of the first unit of an ELF file that defines `name` as a thing of this BTF kind; None if not found.

    Only for messages: whatever is wrong with the file, the answer is None.
    """
    from elftools.common.exceptions import DWARFError, ELFError

    tags = TAGS.get(kind)
    if tags is None or not name:
        return None
    try:
        with open(path, "rb") as file:
            return _search(file, tags, name.encode("utf-8", "surrogateescape"), declared=kind == "FWD")
    except (OSError, DWARFError, ELFError, ValueError, KeyError, IndexError, AttributeError, AssertionError):
        return None


def _search(file: Any, tags: set[str], name: bytes, declared: bool) -> str | None:
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(file)
    if not elf.has_dwarf_info():
        return None
    dwarf = elf.get_dwarf_info()
    marks = _marks(dwarf, name, elf.little_endian) if elf["e_type"] != "ET_REL" else None
    seen = 0
    for unit in dwarf.iter_CUs():
        if marks is not None and not _may_hold(dwarf, unit, marks):
            continue
        for die in unit.iter_DIEs():
            seen += 1
            if seen > MAX_DIES:
                return None
            if die.tag in tags and _is(die, name, declared):
                return _unit_name(unit)
    return None


def _is(die: Any, name: bytes, declared: bool) -> bool:
    attribute = die.attributes.get("DW_AT_name")
    return attribute is not None and attribute.value == name and ("DW_AT_declaration" in die.attributes) == declared


def _unit_name(unit: Any) -> str | None:
    attribute = unit.get_top_DIE().attributes.get("DW_AT_name")
    return None if attribute is None else str(attribute.value.decode("utf-8", "backslashreplace"))


def _marks(dwarf: Any, name: bytes, little: bool) -> list[bytes] | None:
    """Bytes of which one must occur in a unit that names `name`; None if that cannot be said."""
    section = dwarf.debug_str_sec
    strings = section.stream.getvalue() if section is not None else b""
    offsets = list(_occurrences(strings, name + b"\0"))
    if len(offsets) > MAX_SPELLINGS:
        return None
    order = "little" if little else "big"
    return [name + b"\0", *(offset.to_bytes(4, order) for offset in offsets)]  # type: ignore[arg-type]


def _occurrences(data: bytes, text: bytes) -> Iterator[int]:
    at = data.find(text)
    for _ in range(MAX_SPELLINGS + 1):
        if at < 0:
            return
        yield at
        at = data.find(text, at + 1)


def _may_hold(dwarf: Any, unit: Any, marks: list[bytes]) -> bool:
    if unit.header["unit_length"] == 0 or _indirect(unit):
        return True
    stream = dwarf.debug_info_sec.stream
    stream.seek(unit.cu_offset)
    data = stream.read(unit.size)
    return any(mark in data for mark in marks)


def _indirect(unit: Any) -> bool:
    """Whether names of this unit may be given by an index."""
    attributes = unit.get_top_DIE().attributes
    return "DW_AT_str_offsets_base" in attributes or unit.structs.dwarf_format == 64
