"""DWARF 2 to 5 from declarative tuples, in memory.

    cu = die("compile_unit", ("name", "string", "a.c"), children=[
        die("base_type", ("name", "strp", "int"), ("byte_size", "data1", 4), label="int"),
        die("pointer_type", ("type", "ref4", "int"))])
    sections = dwarf([Unit(cu, version=5)]).sections

An attribute is (name, form, value); names come without `DW_AT_` and `DW_FORM_`, or are numbers. The value
is what the attribute *means*; the writer puts it where the form needs it:

* strings: text, for every string form (tables are filled as needed);
* references: the label of a DIE, `END` (the end of the DIE's own subtree, for sibling), or a number taken
  as it is;
* addresses: the address, for `addr` and `addrx*`;
* expressions and blocks: bytes, or a sequence of operations (see `expression`);
* lists: a `LocList` or `RangeList`, for `sec_offset`, `data4`, `data8`, `loclistx` and `rnglistx`;
* a form may be a tuple `("indirect", FORM)`; `Raw(n)` writes n itself where an index or offset is due.

**How it works.** Sizes depend on values (`ref_udata`, `addrx`) and values on sizes, so the whole input is written
repeatedly until no label moves. The tables (strings, addresses, lists) are interned, so repetition is harmless.

**Writing wrong files.** `Unit` has an override for every header field; `Die.code` replaces the abbreviation
code; `bytes` among the children are copied as they are; `Dwarf.labels` gives the offset of each label in
its section, `Dwarf.attributes` that of each attribute value, so that a test can patch exactly one thing.

Sources: DWARF 5 chapter 7; the names are pyelftools'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from elftools.dwarf.dwarf_expr import DW_OP_name2opcode
from elftools.dwarf.enums import ENUM_DW_FORM, ENUM_DW_LLE, ENUM_DW_RLE, ENUM_DW_UT

from tests.builders.dwarftree import (
    END,
    Die,
    Dwarf,
    Fixup,
    Form,
    LocList,
    RangeList,
    Raw,
    Unit,
    attribute_number,
    die,
    form_number,
    forms_of,
    sleb,
    tag_number,
    uleb,
)


def dwarf(
    units: Sequence[Unit],
    *,
    little: bool = True,
    codes: Callable[[int], int] = lambda n: n,
    reverse_abbrevs: bool = False,
) -> Dwarf:
    """Writes the units. `codes` maps 1, 2, 3... of a table to the abbreviation codes to use."""
    state = _Writer(little, codes, reverse_abbrevs)
    for _ in range(20):
        before = (dict(state.labels), dict(state.ends))
        state.write(units)
        if before == (state.labels, state.ends):
            return state.result()
    raise ValueError("the layout does not settle")


class _Writer:
    def __init__(self, little: bool, codes: Callable[[int], int], reverse_abbrevs: bool) -> None:
        self.little, self.codes, self.reverse = little, codes, reverse_abbrevs
        self.labels: dict[str, int] = {}
        self.homes: dict[str, int] = {}  # label: offset of its unit's header
        self.ends: dict[int, int] = {}
        self.attributes: dict[tuple[str, str | int], int] = {}
        self.strings: dict[str, _Strings] = {".debug_str": _Strings(), ".debug_line_str": _Strings()}
        self.tables: dict[str, dict[tuple[Any, ...], int]] = {}
        self.abbrev_at: dict[str, int] = {}
        self.abbrev_offsets: dict[tuple[str, int], int] = {}
        self.list_at: dict[tuple[int, str, int], int] = {}  # of DWARF 5 lists, by unit, kind and index
        self.addresses: list[tuple[int, int]] = []  # (offset, address) in the expression being written

    # -- numbers -----------------------------------------------------------------------------------

    def number(self, value: int, size: int) -> bytes:
        return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little" if self.little else "big")

    def exact(self, value: int, size: int) -> bytes:
        """Like `number`, but a value that does not fit is an error in the test (once labels are known)."""
        if self.settled and value >> 8 * size:
            raise OverflowError(f"{value:#x} does not fit {size} bytes")
        return self.number(value, size)

    def initial_length(self, length: int, offset_size: int) -> bytes:
        return self.number(length, 4) if offset_size == 4 else b"\xff\xff\xff\xff" + self.number(length, 8)

    # -- one pass ----------------------------------------------------------------------------------

    def write(self, units: Sequence[Unit]) -> None:
        self.settled = bool(self.labels)
        self.out: dict[str, bytearray] = {}
        self.fixups: list[Fixup] = []
        self.unit_at: list[int] = []
        self.sequence = 0
        for unit in units:
            self.buffer = self.out.setdefault(unit.section, bytearray())
            self._unit(unit)
        self._abbrevs()

    def result(self) -> Dwarf:
        sections = {name: bytes(data) for name, data in self.out.items()}
        for name, strings in self.strings.items():
            if strings.data:
                sections[name] = strings.data
        return Dwarf(sections, self.labels, self.unit_at, self.attributes, self.abbrev_offsets, self.fixups)

    def _unit(self, unit: Unit) -> None:
        self.unit, start = unit, len(self.buffer)
        self.unit_start = start
        self.unit_at.append(start)
        self.pools: dict[str, list[Any]] = {"str": [], "addr": [], "loc": [], "rng": []}
        root = unit.root
        bases = self._bases(unit)
        self.buffer += self._header(unit, 0)
        if root is not None:
            self._die(root._replace(attributes=root.attributes + bases))
            if not unit.terminated:
                del self.buffer[-1:]
        self.buffer += unit.tail
        skip = 4 if unit.offset_size == 4 else 12
        length = len(self.buffer) - start - skip
        header = self._header(unit, length if unit.raw_length is None else unit.raw_length)
        self.buffer[start : start + len(header)] = header
        at = start + skip + (4 if unit.version >= 5 else 2)
        table = self.abbrev_at.get(unit.abbrevs, 0)
        self.fixups.append(Fixup(unit.section, at, unit.offset_size, ".debug_abbrev", table))
        self._flush_pools(unit)

    def _header(self, unit: Unit, length: int) -> bytes:
        version = self.number(unit.version if unit.raw_version is None else unit.raw_version, 2)
        address = bytes([unit.address_size if unit.raw_address_size is None else unit.raw_address_size])
        table = self.abbrev_at.get(unit.abbrevs, 0) if unit.raw_abbrev is None else unit.raw_abbrev
        abbrev = self.number(table, unit.offset_size)
        head = self.initial_length(length, unit.offset_size) + version
        type_die = self.labels.get(unit.type_label or "", 0) - self.unit_start
        type_tail = self.number(unit.signature, 8) + self.number(type_die, unit.offset_size)
        if unit.version < 5:
            return head + abbrev + address + (type_tail if unit.section == ".debug_types" else b"")
        kind = unit.unit_type
        if kind is None:
            root = "compile_unit" if unit.root is None else unit.root.tag
            kind = {"type_unit": "type", "partial_unit": "partial", "skeleton_unit": "skeleton"}.get(
                str(root), "compile"
            )
        number = kind if isinstance(kind, int) else ENUM_DW_UT[f"DW_UT_{kind}"]
        tail = {
            2: type_tail,
            6: type_tail,
            4: self.number(unit.signature, 8),
            5: self.number(unit.signature, 8),
        }
        return head + bytes([number]) + address + abbrev + tail.get(number, b"")

    def _bases(self, unit: Unit) -> tuple[tuple[str, str, Raw], ...]:
        """The `*_base` attributes that the unit's forms need, unless the test gives its own."""
        if unit.root is None or unit.version < 5 or not unit.bases:
            return ()
        forms = set(forms_of(unit.root))
        own = {name for name, _, _ in unit.root.attributes}
        needs = [
            (
                "str_offsets_base",
                ".debug_str_offsets",
                any(str(form).startswith("strx") for form in forms),
                4,
            ),
            ("addr_base", ".debug_addr", any(str(form).startswith("addrx") for form in forms), 4),
            ("loclists_base", ".debug_loclists", "loclistx" in forms, 8),
            ("rnglists_base", ".debug_rnglists", "rnglistx" in forms, 8),
        ]
        prefix = 4 if unit.offset_size == 4 else 12
        return tuple(
            (name, "sec_offset", Raw(len(self.out.get(section, b"")) + prefix + rest))
            for name, section, needed, rest in needs
            if needed and name not in own
        )

    # -- DIEs --------------------------------------------------------------------------------------

    def _die(self, entry: Die) -> None:
        number, self.sequence = self.sequence, self.sequence + 1
        if entry.label is not None:
            self.labels[entry.label] = len(self.buffer)
            self.homes[entry.label] = self.unit_start
        children = bool(entry.children) if entry.has_children is None else entry.has_children
        code = self._abbrev_code(entry, children)
        self.buffer += uleb(code if entry.code is None else entry.code)
        for name, form, value in entry.attributes:
            if entry.label is not None:
                self.attributes[entry.label, name] = len(self.buffer)
            self.buffer += self._value(form, value, number)
        if children:
            for child in entry.children:
                if isinstance(child, bytes):
                    self.buffer += child
                else:
                    self._die(child)
            self.buffer += b"\0"
        self.ends[number] = len(self.buffer)

    def _abbrev_code(self, entry: Die, children: bool) -> int:
        table = self.tables.setdefault(self.unit.abbrevs, {})
        described = tuple(
            (
                attribute_number(name),
                form_number(form),
                value if form_number(form) == ENUM_DW_FORM["DW_FORM_implicit_const"] else None,
            )
            for name, form, value in entry.attributes
        )
        key = (tag_number(entry.tag), children, described)
        return table.setdefault(key, self.codes(len(table) + 1))

    def _abbrevs(self) -> None:
        out = self.out[".debug_abbrev"] = bytearray()
        for name, table in self.tables.items():
            self.abbrev_at[name] = len(out)
            entries = list(table.items())
            for (tag, children, attributes), code in reversed(entries) if self.reverse else entries:
                self.abbrev_offsets[name, code] = len(out)
                out += uleb(code) + uleb(tag) + bytes([children])
                for attribute, form, constant in attributes:
                    out += uleb(attribute) + uleb(form) + (b"" if constant is None else sleb(constant))
                out += b"\0\0"
            out += b"\0"

    # -- values ------------------------------------------------------------------------------------

    def _value(self, form: Form, value: Any, number: int) -> bytes:
        if isinstance(form, tuple):  # ("indirect", FORM)
            rest: Form = form[1] if len(form) == 2 else form[1:]
            at = len(self.buffer)
            head = uleb(form_number(rest))
            self.buffer += head  # so that fix-ups see the right position
            tail = self._value(rest, value, number)
            del self.buffer[at:]
            return head + tail
        name = form if isinstance(form, str) else ""
        if name in _FIXED:
            return self._fixed(name, value)
        if name in _REFERENCES:
            return self._reference(name, value, number)
        if name in ("strp", "line_strp") or name.startswith("strx"):
            return self._string(name, value)
        if name.startswith("addr"):
            return self._address(name, value)
        simple: dict[str, Callable[[Any], bytes]] = {
            "string": lambda text: _encoded(text) + b"\0",
            "udata": uleb,
            "sdata": sleb,
            "flag_present": lambda _: b"",
            "implicit_const": lambda _: b"",
            "sec_offset": lambda item: self._list_offset(item, self.unit.offset_size),
            "loclistx": lambda item: uleb(self._pooled("loc", item)),
            "rnglistx": lambda item: uleb(self._pooled("rng", item)),
            "exprloc": lambda item: self._block(uleb, item),
            "block": lambda item: self._block(uleb, item),
            "block1": lambda item: self._block(lambda n: self.number(n, 1), item),
            "block2": lambda item: self._block(lambda n: self.number(n, 2), item),
            "block4": lambda item: self._block(lambda n: self.number(n, 4), item),
        }
        if name in simple:
            return simple[name](value)
        if isinstance(value, bytes):  # an unknown form
            return value
        raise ValueError(f"form {form!r} with {value!r}")

    def _fixed(self, name: str, value: Any) -> bytes:
        size = _FIXED[name]
        if isinstance(value, bytes):
            return value
        if isinstance(value, LocList | RangeList):
            return self._list_offset(value, size)
        return self.number(value.value if isinstance(value, Raw) else int(value), size)

    def _reference(self, name: str, value: Any, number: int) -> bytes:
        if isinstance(value, Raw):
            target = value.value
        elif isinstance(value, int):
            target = value
        else:
            target = self.ends.get(number, 0) if value is END else self._label(value)
            if name != "ref_addr":
                target -= self.unit_start if self.settled else 0
        sizes = {"ref1": 1, "ref2": 2, "ref4": 4, "ref8": 8, "ref_addr": self.unit.offset_size}
        if name == "ref_addr" and self.unit.version == 2:
            sizes[name] = self.unit.address_size
        if name == "ref_udata":
            return uleb(max(target, 0))
        if name == "ref_addr":
            self.fixups.append(Fixup(self.unit.section, len(self.buffer), sizes[name], ".debug_info", target))
        return self.exact(target, sizes[name])

    def _label(self, label: str) -> int:
        if self.settled and label not in self.labels:
            raise KeyError(f"no DIE is labelled {label!r}")
        return self.labels.get(label, 0)

    def _string(self, name: str, value: Any) -> bytes:
        size = self.unit.offset_size
        if name in ("strp", "line_strp"):
            section = ".debug_str" if name == "strp" else ".debug_line_str"
            offset = value.value if isinstance(value, Raw) else self.strings[section].add(_encoded(value))
            self.fixups.append(Fixup(self.unit.section, len(self.buffer), size, section, offset))
            return self.number(offset, size)
        index = value.value if isinstance(value, Raw) else self._pooled("str", _encoded(value))
        return uleb(index) if name == "strx" else self.exact(index, int(name[4:]))

    def _address(self, name: str, value: Any) -> bytes:
        raw = isinstance(value, Raw)
        if name == "addr":
            number = value.value if raw else value
            self.fixups.append(Fixup(self.unit.section, len(self.buffer), self.unit.address_size, "", number))
            return self.number(number, self.unit.address_size)
        index = value.value if raw else self._pooled("addr", value)
        return uleb(index) if name == "addrx" else self.exact(index, int(name[5:]))

    def _block(self, length: Callable[[int], bytes], value: Any) -> bytes:
        self.addresses = []
        data = value if isinstance(value, bytes) else self.expression(value)
        head = length(len(data))
        for offset, address in self.addresses:
            at = len(self.buffer) + len(head) + offset
            self.fixups.append(Fixup(self.unit.section, at, self.unit.address_size, "", address))
        return head + data

    def _pooled(self, pool: str, value: Any) -> int:
        if isinstance(value, Raw):
            return value.value
        items = self.pools[pool]
        if value not in items:
            items.append(value)
        return items.index(value)

    # -- expressions and lists ---------------------------------------------------------------------

    def expression(self, operations: Iterable[tuple[Any, ...]]) -> bytes:
        """Operations are tuples: name without `DW_OP_`, operands; `entry_value` takes operations."""
        out = b""
        for name, *operands in operations:
            code = name if isinstance(name, int) else _OPCODES[name]
            if name == "addr":
                self.addresses.append((len(out) + 1, operands[0]))
            out += bytes([code]) + b"".join(self._operand(str(name), n, x) for n, x in enumerate(operands))
        return out

    def _operand(self, name: str, position: int, value: Any) -> bytes:
        if isinstance(value, bytes):
            return value
        if name in ("entry_value", "GNU_entry_value"):
            inner = self.expression(value)
            return uleb(len(inner)) + inner
        if name == "addr":
            return self.number(value, self.unit.address_size)
        if name == "addrx":
            return uleb(self._pooled("addr", value))
        if name[:5] == "const" and name[5:6].isdigit():
            return self.number(value, int(name[5]))
        if name == "deref_size":
            return self.number(value, 1)
        if name in ("fbreg", "consts") or name.startswith("breg") or (name == "bregx" and position == 1):
            return sleb(value)
        return uleb(value)

    def _list_offset(self, item: Any, size: int) -> bytes:
        if isinstance(item, Raw | int):
            return self.number(item.value if isinstance(item, Raw) else item, size)
        kind = "loc" if isinstance(item, LocList) else "rng"
        five = self.unit.version >= 5
        section = {
            "loc": ".debug_loclists" if five else ".debug_loc",
            "rng": ".debug_rnglists" if five else ".debug_ranges",
        }[kind]
        if five:  # in the unit's contribution, after the table of offsets, which has every list
            index = self._pooled(kind, item)
            offset = self.list_at.get((len(self.unit_at), kind, index), 0)
        else:
            out = self.out.setdefault(section, bytearray())
            offset = len(out)
            out += self._old_list(item)
        self.fixups.append(Fixup(self.unit.section, len(self.buffer), size, section, offset))
        return self.number(offset, size)

    def _old_list(self, item: LocList | RangeList) -> bytes:
        size, out = self.unit.address_size, b""
        for first, second, *rest in item.entries:
            out += self.number(first, size) + self.number(second, size)
            if rest and rest[0] is not None:
                data = rest[0] if isinstance(rest[0], bytes) else self.expression(rest[0])
                out += self.number(len(data), 2) + data
        return out + (bytes(2 * size) if item.terminated else b"")

    def _new_list(self, item: LocList | RangeList) -> bytes:
        out, loc = b"", isinstance(item, LocList)
        table, prefix = (ENUM_DW_LLE, "DW_LLE_") if loc else (ENUM_DW_RLE, "DW_RLE_")
        for entry in item.entries:
            kind, *values = entry if isinstance(entry[0], str) else ("offset_pair", *entry)
            out += bytes([table[prefix + kind]])
            values, tail = (
                (values[:-1], values[-1]) if loc and not kind.startswith("base") else (values, None)
            )
            out += b"".join(self._list_operand(kind, n, value) for n, value in enumerate(values))
            if tail is not None:
                data = tail if isinstance(tail, bytes) else self.expression(tail)
                out += uleb(len(data)) + data
        return out + (b"\0" if item.terminated else b"")

    def _list_operand(self, kind: str, position: int, value: int) -> bytes:
        if kind in ("base_addressx", "startx_endx") or (kind == "startx_length" and position == 0):
            return uleb(self._pooled("addr", value))
        if kind in ("base_address", "start_end") or (kind == "start_length" and position == 0):
            return self.number(value, self.unit.address_size)
        return uleb(value)

    # -- tables of the unit ------------------------------------------------------------------------

    def _flush_pools(self, unit: Unit) -> None:
        size = unit.offset_size
        for kind, section in (("loc", ".debug_loclists"), ("rng", ".debug_rnglists")):
            lists = [self._new_list(item) for item in self.pools[kind]]
            if not lists:
                continue
            out = self.out.setdefault(section, bytearray())
            offsets, at = b"", size * len(lists)
            header = self.number(5, 2) + bytes([unit.address_size, 0]) + self.number(len(lists), 4)
            base = len(out) + (4 if size == 4 else 12) + len(header)
            for n, data in enumerate(lists):
                self.list_at[len(self.unit_at), kind, n] = base + at
                offsets, at = offsets + self.number(at, size), at + len(data)
            body = header + offsets + b"".join(lists)
            out += self.initial_length(len(body), size) + body
        if self.pools["str"]:
            out = self.out.setdefault(".debug_str_offsets", bytearray())
            body = self.number(5, 2) + b"\0\0"
            at = len(out) + (4 if size == 4 else 12) + len(body)
            for n, text in enumerate(self.pools["str"]):
                offset = self.strings[".debug_str"].add(text)
                self.fixups.append(Fixup(".debug_str_offsets", at + n * size, size, ".debug_str", offset))
                body += self.number(offset, size)
            out += self.initial_length(len(body), size) + body
        if self.pools["addr"]:
            out = self.out.setdefault(".debug_addr", bytearray())
            body = self.number(5, 2) + bytes([unit.address_size, 0])
            at = len(out) + (4 if size == 4 else 12) + len(body)
            for n, address in enumerate(self.pools["addr"]):
                where = at + n * unit.address_size
                self.fixups.append(Fixup(".debug_addr", where, unit.address_size, "", address))
                body += self.number(address, unit.address_size)
            out += self.initial_length(len(body), size) + body


class _Strings:
    def __init__(self) -> None:
        self.data = b""
        self.offsets: dict[bytes, int] = {}

    def add(self, text: bytes) -> int:
        if text not in self.offsets:
            self.offsets[text] = len(self.data)
            self.data += text + b"\0"
        return self.offsets[text]


_FIXED = {"data1": 1, "data2": 2, "data4": 4, "data8": 8, "data16": 16, "flag": 1, "ref_sig8": 8}
_REFERENCES = ("ref1", "ref2", "ref4", "ref8", "ref_udata", "ref_addr")
_OPCODES = {name.removeprefix("DW_OP_"): code for name, code in DW_OP_name2opcode.items()}


def _encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


__all__ = [
    "END",
    "Die",
    "Dwarf",
    "Fixup",
    "Form",
    "LocList",
    "RangeList",
    "Raw",
    "Unit",
    "die",
    "dwarf",
    "sleb",
    "uleb",
]
