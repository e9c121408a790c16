"""Finding the unit that defines a name: for messages about one type, long after the encoding.

pyelftools reads DWARF slowly, 80,000 DIEs a second, and a kernel has 14 million. So a unit is only looked into if it
can hold the name: where the name is not inline, its offset in .debug_str must occur among the unit's bytes. That
leaves out nearly all units where forms have offsets; where names are given by an index (DW_FORM_strx) every unit is a
candidate, and the search gives up after a while.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pybtf.dwarf.sections import debug_sections
from pybtf.elf.image import ElfImage
from pybtf.elf.layout import section_addresses
from pybtf.errors import PybtfError

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
    from pybtf.dwarf.slow import FAULTS, dwarf_info

    tags = TAGS.get(kind)
    if tags is None or not name:
        return None
    try:
        with ElfImage.open(path) as image:
            sections = debug_sections(image, section_addresses(image))
            contents = {each: bytes(data) for each, data in sections.items()}
            contents["info"] = contents["info"][: sections.types_at]
            dwarf = dwarf_info(dict(contents), little=image.little, is64=image.is64)
        strings = None if "str_offsets" in contents else contents.get("str", b"")
        return _search(dwarf, contents["info"], _Sought(tags, name.encode("utf-8", "surrogateescape"), strings, kind))
    except (PybtfError, *FAULTS):
        return None


class _Sought:
    """What is looked for, and by which bytes a unit shows that it may have it."""

    def __init__(self, tags: set[str], name: bytes, strings: bytes | None, kind: str) -> None:
        self.tags = tags
        self.name = name
        self.declared = kind == "FWD"
        self.offsets = None if strings is None else list(_occurrences(strings, name + b"\0"))

    def marks(self, little: bool) -> list[bytes] | None:
        """Bytes of which one must occur in a unit that has the name; None if that cannot be said."""
        if self.offsets is None or len(self.offsets) > MAX_SPELLINGS:
            return None
        order: Any = "little" if little else "big"
        return [self.name + b"\0", *(offset.to_bytes(4, order) for offset in self.offsets)]


def _search(dwarf: Any, info: bytes, sought: _Sought) -> str | None:
    marks = sought.marks(dwarf.config.little_endian)
    seen = 0
    for unit in dwarf.iter_CUs():
        data = memoryview(info)[unit.cu_offset : unit.cu_offset + unit.size]
        if marks is not None and not _has_any(bytes(data), marks):
            continue
        for die in unit.iter_DIEs():
            seen += 1
            if seen > MAX_DIES:
                return None
            if die.tag in sought.tags and _is(die, sought.name, sought.declared):
                return _unit_name(unit)
    return None


def _has_any(data: bytes, marks: list[bytes]) -> bool:
    return any(mark in data for mark in marks)


def _is(die: Any, name: bytes, declared: bool) -> bool:
    if ("DW_AT_declaration" in die.attributes) != declared:
        return False
    if "DW_AT_name" not in die.attributes and "DW_AT_specification" in die.attributes:
        die = die.get_DIE_from_attribute("DW_AT_specification")
    attribute = die.attributes.get("DW_AT_name")
    return attribute is not None and attribute.value == name


def _unit_name(unit: Any) -> str | None:
    attribute = unit.get_top_DIE().attributes.get("DW_AT_name")
    return None if attribute is None else str(attribute.value.decode("utf-8", "backslashreplace"))


def _occurrences(data: bytes, text: bytes) -> Iterator[int]:
    at = data.find(text)
    for _ in range(MAX_SPELLINGS + 1):
        if at < 0:
            return
        yield at
        at = data.find(text, at + 1)
