"""DWARF by pyelftools, for the few DIEs that a message is about.

pyelftools reads 80,000 DIEs a second, which is slow, but it reads everything: line tables, expressions, any attribute.
It is given the sections that have been decompressed and relocated here, without copies, and asked for single DIEs by
their offset. Whatever is wrong with the DWARF makes an answer None or empty: the core has read it already, and said
what there was to say.
"""

from __future__ import annotations

import inspect
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from struct import error as StructError
from typing import Any, Literal

from elftools.common.exceptions import DWARFError, ELFError
from elftools.construct import ConstructError
from elftools.dwarf.descriptions import describe_reg_name
from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

from pybtf.dwarf.line_files import LineFiles
from pybtf.dwarf.lines import alternate_files, own_files
from pybtf.dwarf.roots import SPLIT_TYPE, TYPE, UnitHead, heads
from pybtf.dwarf.sections import Buffer, DebugSections, another_section
from pybtf.elf.constants import EM_386, EM_AARCH64, EM_X86_64
from pybtf.elf.image import ElfImage
from pybtf.errors import Place, PybtfError

FAULTS = (
    DWARFError, ELFError, ConstructError, StructError, ValueError, KeyError, IndexError, AttributeError, TypeError,
    AssertionError, RecursionError, OverflowError, NotImplementedError, PybtfError,
)  # fmt: skip
"""What pyelftools raises for damaged input."""

MAX_CHILDREN = 20_000
"""Of one DIE, more children than these are not looked at."""

MAX_STEPS = 16
"""Origins and specifications that are followed from one DIE."""

FREE_STEPS = 1 << 25
STEPS_A_BYTE = 16
"""What may be done with DWARF: so much, some seconds, and more for each byte of it. What DIEs share, as a list or a
name, is read again for each of them.
"""
_STEPS = 32
"""What a look at the DWARF counts, beside the bytes that it reads."""

TYPE_KINDS = (TYPE, SPLIT_TYPE)
"""DW_UT_* of type units in .debug_info."""

_LEADING = ("DW_AT_abstract_origin", "DW_AT_specification", "DW_AT_signature")

_LINKAGE = ("DW_AT_linkage_name", "DW_AT_MIPS_linkage_name")

_ARCHITECTURES = {EM_386: "x86", EM_X86_64: "x64", EM_AARCH64: "AArch64"}


class Allowance:
    """How much may still be done with DWARF of so many bytes."""

    def __init__(self, size: int) -> None:
        self._left = FREE_STEPS + STEPS_A_BYTE * size

    def spend(self, size: int) -> None:
        """For one look, at so many bytes. Raises one of FAULTS if there have been too many."""
        self._left -= _STEPS + size
        if self._left < 0:
            raise DWARFError("more is shared than compilers share")


class _Stream:
    """A file of what a buffer has, without a copy of it."""

    def __init__(self, data: bytes | bytearray | memoryview, allowance: Allowance) -> None:
        self.data = memoryview(data)
        self.at = 0
        self._allowance = allowance

    def read(self, n: int = -1) -> bytes:
        end = len(self.data) if n < 0 else self.at + n
        piece = bytes(self.data[self.at : end])
        self._allowance.spend(len(piece))
        self.at += len(piece)
        return piece

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = max(0, offset + (0, self.at, len(self.data))[whence])
        return self.at

    def tell(self) -> int:
        return self.at


def allowance_of(contents: dict[str, Buffer]) -> Allowance:
    """For sections, by their short names."""
    return Allowance(len(contents.get("info", b"")) + len(contents.get("abbrev", b"")))


def dwarf_info(
    contents: dict[str, Buffer], *, little: bool, is64: bool, allowance: Allowance | None = None
) -> Any:
    """pyelftools' view of sections, by their short names. `allowance`: shared with other views."""
    allowance = allowance or allowance_of(contents)
    sections: dict[str, Any] = dict.fromkeys(list(inspect.signature(DWARFInfo).parameters)[1:])
    for name, data in contents.items():
        stream: Any = _Stream(data, allowance)
        sections[f"debug_{name}_sec"] = DebugSectionDescriptor(
            stream=stream, name=f".debug_{name}", global_offset=0, size=len(data), address=0
        )
    config = DwarfConfig(little_endian=little, machine_arch="", default_address_size=8 if is64 else 4)
    return DWARFInfo(config, **sections)


def dies_of(image: ElfImage, sections: DebugSections, units: list[tuple[int, int]]) -> Dies:
    """The DIEs of a file that has these sections, and of its alternate file."""
    contents: dict[str, Buffer] = dict(sections)
    if sections.alternate is not None:
        contents["info"] = contents["info"][: sections.alternate.info_at]
    ranges = _range_sections(image, sections)
    contents |= ranges
    files = own_files(image, sections)
    if sections.split_units:
        from pybtf.dwarf.split_dies import SplitDies

        return SplitDies(image, {**sections, **ranges}, sections, units, files)
    allowance = allowance_of(dict(sections))
    dwarf = dwarf_info(contents, little=image.little, is64=image.is64, allowance=allowance)
    if sections.alternate is not None:
        shared: dict[str, Buffer] = {**sections.alternate, "info": sections["info"][sections.alternate.info_at :]}
        shared["str"] = sections.get("str", b"")[sections.alternate.str_at :]
        dwarf.supplementary_dwarfinfo = dwarf_info(
            shared, little=image.little, is64=image.is64, allowance=allowance
        )
    shared_files = alternate_files(image, sections)
    return Dies(dwarf, allowance, units, image.machine, files, sections, shared_files, little=image.little)


def _range_sections(image: ElfImage, sections: DebugSections) -> dict[str, Buffer]:
    """Lists of ranges of code, in the form of DWARF 4 and of 5. What cannot be read has none."""
    found: dict[str, Buffer] = {}
    for name in ("ranges", "rnglists"):
        try:
            data = another_section(image, sections, f".debug_{name}")
        except PybtfError:
            continue
        if data is not None:
            found[name] = data
    return found


class Dies:
    """The DIEs of a file by their offset in .debug_info. `units`: where its units begin and end, ascending; `files`:
    the names of source files; `shared_files`: those of its alternate file, if it has one.
    """

    def __init__(
        self, dwarf: Any, allowance: Allowance, units: list[tuple[int, int]], machine: int, files: LineFiles,
        sections: DebugSections, shared_files: LineFiles | None = None, *, little: bool,
    ) -> None:  # fmt: skip
        self._dwarf = dwarf
        self._allowance = allowance
        self._sections = sections
        self._little = little
        self._order: Literal["little", "big"] = "little" if little else "big"
        self._starts = [start for start, _ in units]
        self._ends = [end for _, end in units]
        self._machine = machine
        self._files = files
        self._shared_files = shared_files

    def unit_number(self, offset: int) -> int | None:
        """The number of the unit that has the DIE at `offset`."""
        number = bisect_right(self._starts, offset) - 1
        return number if number >= 0 and offset < self._ends[number] else None

    def _dwarf_of(self, number: int) -> Any:
        """The view of the sections in which the unit is read."""
        return self._dwarf

    def _unit(self, number: int) -> Any:
        start = self._starts[number]
        unit = self._dwarf_of(number).get_CU_at(start)
        # pyelftools takes a type unit of DWARF 4 for one of .debug_info, and before 0.30 a split unit for a full one.
        unit.cu_die_offset = self._head(start).die
        return unit

    def _head(self, start: int) -> UnitHead:
        """The header of a unit, also of one of .debug_types."""
        info = self._sections["info"]
        place = Place(self._sections.path, ".debug_info")
        return next(
            heads(info, start, len(info), place, little=self._little, types=start >= self._sections.types_at)
        )

    @cached_property
    def _signatures(self) -> dict[int, tuple[int, int]]:
        """By signature, the number of a type unit, and where its type is."""
        found: dict[int, tuple[int, int]] = {}
        info = self._sections["info"]
        for number, start in enumerate(self._starts):
            head = self._head(start)
            if start >= self._sections.types_at or head.kind in TYPE_KINDS:
                size = 8 if head.wide else 4
                at = int.from_bytes(info[head.die - size : head.die], self._order)
                found.setdefault(head.identity, (number, start + at))
        return found

    def die(self, offset: int) -> Any | None:
        """The DIE at `offset`."""
        number = self.unit_number(offset)
        alternate = self._sections.alternate
        try:
            if number is None:
                if alternate is None or offset < alternate.info_at:
                    return None
                return self._dwarf.supplementary_dwarfinfo.get_DIE_from_refaddr(offset - alternate.info_at)
            return self._unit(number).get_DIE_from_refaddr(offset)
        except FAULTS:
            return None

    def offset(self, die: Any) -> int:
        """Where a DIE is; one of the alternate file after all others."""
        alternate = self._sections.alternate
        there = alternate is not None and die.dwarfinfo is self._dwarf.supplementary_dwarfinfo
        return int(die.offset) + (alternate.info_at if alternate is not None and there else 0)

    def children(self, die: Any) -> Iterator[Any]:
        """The children of a DIE, as far as they can be read."""
        unit, at, left = die.cu, die.offset + die.size, MAX_CHILDREN
        depth = int(die.has_children)
        try:
            while depth and left:
                self._allowance.spend(0)  # what has been read is kept, so that no bytes are
                child = unit.get_DIE_from_refaddr(at)
                at += child.size
                if child.is_null():
                    depth -= 1
                    continue
                sibling = _sibling(child)
                if depth == 1:
                    left -= 1
                    yield child
                if sibling >= at:  # one in front would never end
                    at = sibling
                else:
                    depth += child.has_children
        except FAULTS:
            return

    def to(self, die: Any, attribute: str) -> Any | None:
        """The DIE that a reference leads to."""
        if attribute not in die.attributes:
            return None
        try:
            found = die.attributes[attribute]
            if found.form == "DW_FORM_ref_sig8":
                number, offset = self._signatures[found.value]
                return self._unit(number).get_DIE_from_refaddr(offset)
            return die.get_DIE_from_attribute(attribute)
        except FAULTS:
            return None

    def origins(self, die: Any) -> Iterator[Any]:
        """The DIE itself, and those that it completes or stands for: abstract origins, specifications, type units."""
        at: Any | None = die
        for _ in range(MAX_STEPS):
            if at is None:
                return
            yield at
            leading = (name for name in _LEADING if name in at.attributes)
            at = self.to(at, next(leading, ""))

    def name(self, die: Any) -> str:
        """The name of a DIE, perhaps that of its origin."""
        for each in self.origins(die):
            if "DW_AT_name" in each.attributes:
                return self._string(each, "DW_AT_name")
        return ""

    def linkage_name(self, die: Any) -> str:
        """The symbol that a compiler has made of the name, of the DIE or of its origin; empty if none is told."""
        for each in self.origins(die):
            for attribute in _LINKAGE:
                if attribute in each.attributes:
                    return self._string(each, attribute)
        return ""

    def number(self, die: Any, attribute: str) -> int | None:
        """A constant, an address or a flag."""
        for each in self.origins(die):
            if attribute in each.attributes:
                value = each.attributes[attribute].value
                return int(value) if isinstance(value, int) else None
        return None

    def unit_name(self, offset: int) -> str:
        """The name of the unit that has the DIE at `offset`: mostly, of the source file."""
        number = self.unit_number(offset)
        if number is None:
            return ""
        top = self.die_of_unit(number)
        return "" if top is None else self._string(top, "DW_AT_name")

    def _string(self, die: Any, attribute: str) -> str:
        return self._charged(_text(_value(die, attribute)))

    def _charged(self, text: str) -> str:
        """A text, or nothing if there have been too many: a name of a megabyte may be that of each parameter."""
        try:
            self._allowance.spend(len(text))
        except FAULTS:
            return ""
        return text

    def die_of_unit(self, number: int) -> Any | None:
        try:
            return self._unit(number).get_top_DIE()
        except FAULTS:
            return None

    def where(self, die: Any) -> tuple[str, int]:
        """File and line of the declaration; ("", 0) if DWARF says nothing of it."""
        for each in self.origins(die):
            if "DW_AT_decl_file" in each.attributes:
                file, line = self._file(each, _value(each, "DW_AT_decl_file")), _value(each, "DW_AT_decl_line")
                return file, line if file and isinstance(line, int) else 0
        return "", 0

    def _file(self, die: Any, index: object) -> str:
        files = self._files if die.dwarfinfo is self._dwarf else self._shared_files
        top = die.cu.get_top_DIE()
        table = _value(top, "DW_AT_stmt_list")
        if files is None or not isinstance(index, int) or not isinstance(table, int):
            return ""
        return files.name(table, index)

    # ---- code ----

    def starts(self, die: Any) -> list[int] | None:
        """Where the code of a function begins, and each further part of it; empty if that cannot be read, None if the
        DIE has no code. What the linker has discarded is at 0.
        """
        if "DW_AT_low_pc" in die.attributes:
            start = _value(die, "DW_AT_low_pc")
            return [] if not isinstance(start, int) else self._kept([start])
        if "DW_AT_ranges" not in die.attributes:
            return None
        try:
            found = self._range_starts(die)
        except FAULTS:
            return []
        return self._kept(found) if found else []

    @staticmethod
    def _kept(starts: list[int]) -> list[int] | None:
        return [start for start in starts if start] or None

    def _range_starts(self, die: Any) -> list[int]:
        """Of ranges that are not empty; none if there is no list."""
        unit = die.cu
        dwarf = die.dwarfinfo
        if (dwarf.debug_rnglists_sec if unit["version"] >= 5 else dwarf.debug_ranges_sec) is None:
            return []
        base = _value(unit.get_top_DIE(), "DW_AT_low_pc")
        base = base if isinstance(base, int) else 0
        found = []
        for entry in dwarf.range_lists().get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, unit):
            if hasattr(entry, "base_address"):
                base = entry.base_address
            elif entry.begin_offset != entry.end_offset:
                found.append(entry.begin_offset + (0 if entry.is_absolute else base))
        return found

    # ---- places of parameters ----

    def register(self, number: int) -> str:
        """The name of a register by DWARF's number."""
        try:
            name = describe_reg_name(number, _ARCHITECTURES.get(self._machine, ""))
        except FAULTS:
            name = ""
        return name or f"register {number}"

    def location(self, die: Any) -> str:
        """Where a parameter is when its function is entered, as DWARF's operations say it; or why it is nowhere."""
        if "DW_AT_const_value" in die.attributes:
            return "replaced by a constant"
        if "DW_AT_location" not in die.attributes:
            return "no location"
        attribute = die.attributes["DW_AT_location"]
        try:
            expression = attribute.value
            if isinstance(expression, int):
                expression = self._first_expression(die, attribute)
            if expression is None:
                return "no location where the function begins"
            return self._operations(die, expression) or "no location"
        except FAULTS:
            return "a location that cannot be read"

    def _first_expression(self, die: Any, attribute: Any) -> Any:
        lists = self._dwarf.location_lists()
        offset = attribute.value
        if attribute.form == "DW_FORM_loclistx":
            lists_of = self._dwarf.location_lists()
            from elftools.dwarf.locationlists import LocationParser

            entries: Any = LocationParser(lists_of).parse_from_attribute(attribute, die.cu["version"], die)
        else:
            entries = lists.get_location_list_at_offset(offset, die)
        return next((entry.loc_expr for entry in entries if hasattr(entry, "loc_expr")), None)

    def _operations(self, die: Any, expression: Any) -> str:
        words = []
        self._allowance.spend(_STEPS * len(expression))
        for operation in islice(DWARFExprParser(die.cu.structs).parse_expr(expression), 8):
            name = operation.op_name.removeprefix("DW_OP_")
            arguments = operation.args
            if name.startswith("reg") and name[3:].isdecimal():
                words.append(self.register(int(name[3:])))
            elif name == "regx" and arguments:
                words.append(self.register(arguments[0]))
            elif name == "stack_value":
                words.insert(0, "no place, only a value:")
            elif name in ("entry_value", "GNU_entry_value", "GNU_parameter_ref"):
                words.append(name)
            else:
                words.append(" ".join([name, *(_amount(each) for each in arguments if isinstance(each, int))]))
        return ", ".join(words).replace(":, ", ": ")


def _sibling(die: Any) -> int:
    """Where the DIE after its children is, if it says so; else 0."""
    found = die.attributes.get("DW_AT_sibling")
    if found is None or not die.has_children or not isinstance(found.value, int):
        return 0
    return int(found.value) + (0 if found.form == "DW_FORM_ref_addr" else die.cu.cu_offset)


def _amount(number: int) -> str:
    return str(number) if -0x10000 < number < 0x10000 else f"{number:#x}"


def _value(die: Any, attribute: str) -> object:
    found = die.attributes.get(attribute)
    return None if found is None else found.value


def _text(value: object) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else ""
