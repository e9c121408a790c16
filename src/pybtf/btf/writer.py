"""`BtfBuilder`: from the model to bytes, the mirror of `reader` and `decode`. `Builder` adds checks and whole BTFs.

What it writes is laid out as the encoder's output: header, types, strings, no gaps. Strings are kept in the
order in which they are first used, each once.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pybtf.arguments import check_items, check_parts, check_text, number_of
from pybtf.btf.header import BASE_LENGTH, LAYOUT_LENGTH, Header, pack_layout
from pybtf.btf.kinds import KINDS, VERSION, Kind, default_layout, pack_info
from pybtf.btf.strings import Strings, encode_name
from pybtf.btf.types import (
    Array,
    Composite,
    Datasec,
    DeclTag,
    Enumeration,
    Enumerator,
    Float,
    FuncProto,
    Fwd,
    Int,
    Member,
    Param,
    Ref,
    SectionVar,
    Symbol,
    Type,
    Unknown,
)
from pybtf.errors import UsageError

if TYPE_CHECKING:
    from pybtf.btf.reader import BTF


class BtfBuilder:
    """Collects types and strings; `tobytes` gives the BTF.

    With a `base`, ids and string offsets go on where the base's end, and strings of the base are used.
    """

    def __init__(self, base: BTF | None = None) -> None:
        self.first_id = base.end_id if base is not None else 1
        self.next_id = self.first_id
        self._words = array("I")
        self._strings = bytearray()
        self._first_string = base.strings.end if base is not None else 0
        self._offsets: dict[bytes, int] = {}
        self._known: dict[str, int] = {}  # a long name that very many types share is made into bytes once
        layer = base
        while layer is not None:
            for offset, name in layer.strings:
                raw = encode_name(name)
                self._offsets[raw] = min(offset, self._offsets.get(raw, offset))
            layer = layer.base
        if base is None:
            self.string("")

    def keep_strings(self, strings: Strings) -> None:
        """Begin with these, all where they are: `.BTF.ext` names them by offset. Nothing may have been added yet."""
        self._strings[:] = strings.data
        for offset, name in strings:
            self._offsets.setdefault(encode_name(name), offset)

    def string(self, name: str) -> int:
        """Offset of a string, which is added if it is new. Raises UsageError if it contains NUL, or a surrogate that
        stands for no byte.
        """
        check_text(name, "a name")
        known = self._known.get(name)
        if known is not None:
            return known
        try:
            raw = encode_name(name)
        except UnicodeEncodeError:
            raise UsageError(f"a BTF string with a character that has no bytes: {name!r}") from None
        if 0 in raw:
            raise UsageError(f"a BTF string cannot contain NUL: {name!r}")
        offset = self._known[name] = self.raw_string(raw)
        return offset

    def raw_string(self, raw: bytes) -> int:
        """As `string`, of the bytes of one, which have no NUL."""
        offset = self._offsets.get(raw)
        if offset is None:
            offset = self._offsets[raw] = self._first_string + len(self._strings)
            self._strings += raw + b"\0"
        return offset

    def _forget_strings(self, length: int) -> None:
        """Take back the strings that were added past this length."""
        self._known.clear()
        while len(self._strings) > length:
            raw, offset = self._offsets.popitem()
            assert offset - self._first_string + len(raw) + 1 == len(self._strings)
            del self._strings[offset - self._first_string :]

    def add(self, type: Type) -> int:
        """Append a type and return its id; `type.id` plays no role, so types read from a BTF can be added.

        References are taken as they are: they may point forward. Raises UsageError, and adds nothing, if a value does
        not fit its field.
        """
        kind, vlen, flag, third = _head(type)
        limit = KINDS[kind].max_vlen if kind in KINDS else 0xFFFF
        if not 0 <= vlen <= limit:
            raise UsageError(f"{type} with vlen {vlen} cannot be written; the limit is {limit}")
        before = len(self._strings)
        try:
            words = [self.string(type.name), pack_info(kind, vlen, flag), third, *self._rest(type, flag)]
        except UsageError:
            self._forget_strings(before)
            raise
        self._words.extend(words)
        self.next_id += 1
        return self.next_id - 1

    def extend(self, types: Iterable[Type]) -> None:
        """Append types in order."""
        check_items(types, "types", "a sequence of types")
        for type in types:
            self.add(type)

    def _rest(self, type: Type, flag: bool) -> list[int]:
        """Words after the first three, in wire order; strings are added in that order too."""
        words: list[int] = []
        match type:
            case Int():
                bits, offset = _fit(type.bits, 8, "bits"), _fit(type.offset, 8, "offset")
                words = [_fit(type.encoding, 4, "encoding") << 24 | offset << 16 | bits]
            case Array():
                words = [_id(type.type), _id(type.index_type), _fit(type.nelems, 32, "nelems")]
            case DeclTag():
                words = [_fit(type.component, 32, "component", signed=True)]
            case Symbol() if type.kind is Kind.VAR:
                words = [_fit(type.linkage, 32, "linkage")]
            case Composite():
                for member in type.members:
                    words += (self.string(member.name), _id(member.type), _place(member, flag))
            case Enumeration():
                bits = 64 if type.kind is Kind.ENUM64 else 32
                for name, value in type.values:
                    number = _fit(value, bits, f"value of {name}", signed=flag)
                    words += (self.string(name), number & 0xFFFFFFFF, *([number >> 32] if bits == 64 else []))
            case FuncProto():
                for param in type.params:
                    words += (self.string(param.name), _id(param.type))
            case Datasec():
                for variable in type.variables:
                    size = _fit(variable.size, 32, "size of a variable")
                    words += (_id(variable.type), _fit(variable.offset, 32, "offset of a variable"), size)
            case Unknown():
                words = [_fit(word, 32, "word") for word in type.words]
        return words

    def tobytes(self, little: bool = True, *, layout: bool = False, header_length: int = 0) -> bytes:
        """The BTF so far in one byte order.

        With `layout` there is a layout section, and the header has the 32 bytes that takes. `header_length`
        (bytes, at least 24, a multiple of 4) makes a longer header, as newer programs may write.
        """
        section = pack_layout(default_layout(), little) if layout else b""
        length = max(header_length, LAYOUT_LENGTH if layout else BASE_LENGTH)
        words = self._words[:]
        if little != (sys.byteorder == "little"):
            words.byteswap()
        types = words.tobytes()
        header = Header(
            little, VERSION, 0, length,
            type_off=0, type_len=len(types),
            str_off=len(types) + len(section), str_len=len(self._strings),
            layout_off=len(types) if layout else 0, layout_len=len(section),
        )  # fmt: skip
        return header.pack() + types + section + bytes(self._strings)


def _head(type: Type) -> tuple[int, int, bool, int]:
    """Kind, vlen, kind flag and third word."""
    match type:
        case Unknown():
            return type.number, type.vlen, type.kind_flag, type.third
        case Composite():
            members = check_parts(type.members, Member, "members")
            flag = type.kind_flag or any(member.bitfield_size for member in members)
            return type.kind, len(members), flag, _fit(type.size, 32, "size")
        case Enumeration():
            values = check_parts(type.values, Enumerator, "values")
            return type.kind, len(values), type.kind_flag, _fit(type.size, 32, "size")
        case Datasec():
            variables = check_parts(type.variables, SectionVar, "variables")
            return type.kind, len(variables), type.kind_flag, _fit(type.size, 32, "size")
        case Int() | Float():
            return type.kind, 0, type.kind_flag, _fit(type.size, 32, "size")
        case Array() | Fwd():
            return type.kind, 0, type.kind_flag, 0
        case FuncProto():
            return type.kind, len(check_parts(type.params, Param, "params")), type.kind_flag, _id(type.return_type)
        case Symbol() if type.kind is Kind.FUNC:
            return type.kind, number_of(type.linkage, "linkage"), type.kind_flag, _id(type.type)
        case Ref():
            return type.kind, 0, type.kind_flag, _id(type.type)
        case _:
            raise UsageError(f"{type} cannot be written")


def _fit(value: int, bits: int, what: str, *, signed: bool = False) -> int:
    """`value` as an unsigned field of so many bits. Raises UsageError if it does not fit."""
    low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
    value = number_of(value, what)
    if not low <= value < high:
        raise UsageError(f"{what} {value} does not fit {bits} {'signed ' if signed else ''}bits")
    return value & (1 << bits) - 1


def _id(id: int) -> int:
    return _fit(id, 32, "type id")


def _place(member: Member, flag: bool) -> int:
    """The offset word of a member."""
    if not flag:
        return _fit(member.bit_offset, 32, f"offset of {member.name}")
    size = _fit(member.bitfield_size, 8, f"bitfield size of {member.name}")
    return size << 24 | _fit(member.bit_offset, 24, f"offset of {member.name}")
