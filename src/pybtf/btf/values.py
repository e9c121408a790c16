"""Bytes as values of a type: what a map, a crash dump or a file of records has in it.

`Values.of` makes a tree of named tuples and plain values; `value_text` prints it. BTF and bytes may come from anywhere,
so nothing in the BTF is taken to fit: each member must lie in the bytes, types nest to `MAX_DEPTH`, and one value has
some parts for each byte and no more (`parts_of`), since members may overlap and elements may have no size.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from pybtf.btf.chains import end_of
from pybtf.btf.kinds import IntEncoding, Kind
from pybtf.btf.types import Array, Composite, Datasec, Enumeration, Float, Int, Ptr, Symbol, Type
from pybtf.errors import InputError

if TYPE_CHECKING:
    from pybtf.btf.reader import BTF

MAX_DEPTH = 64
MAX_DENSE = 64
"""Parts of a value for each byte, and as many more, that are of no account to the values of a file together."""
MAX_MORE = 200_000
"""Parts that the values of a file together may have beyond these: each may have some thousands in a few bytes."""
ALL = 1 << 64
MAX_BITS = 1024
MAX_NAME = 1000
"""Characters of a name that a part may have; longer ones, which no compiler makes, are as many parts more."""
_FLOATS = {2: "e", 4: "f", 8: "d"}


class Address(NamedTuple):
    """The value of a pointer."""

    value: int


class Character(NamedTuple):
    """The value of a single `char`."""

    value: int


class Enumerated(NamedTuple):
    """The value of an enumeration; `name` is empty if it has no such enumerator."""

    name: str
    value: int


class Raw(NamedTuple):
    """Bytes that are neither text nor a number."""

    data: bytes
    total: int
    """How many there are; `data` has the first ones."""


class Elements(NamedTuple):
    """An array; `items` has the first of `total` elements."""

    items: list[Value]
    total: int


class Group(NamedTuple):
    """A struct, union or section: its members by name, of those without one the name is empty."""

    keyword: str
    rows: list[tuple[str, Value]]


Value = int | float | str | Address | Character | Enumerated | Raw | Elements | Group


class Values:
    """Makes values of bytes by one BTF, whose byte order they have."""

    def __init__(self, btf: BTF, elements: int = ALL) -> None:
        """Of an array, the first `elements` are made."""
        self.btf = btf
        self.elements = elements
        self._resolved: dict[int, Type] = {}
        self._sizes: dict[int, int] = {}
        self._names: dict[int, dict[int, str]] = {}
        self._left = 0
        self._more = MAX_MORE
        self._named = 0
        """Of the parts of the present value, those for long names."""
        self._order = "little" if btf.header.little else "big"

    def size(self, id: int) -> int:
        """Of the values of a type, in bytes. Raises InputError if it has none."""
        if id not in self._sizes:
            size = self.btf.size_of(id)
            if size is None:
                raise InputError(self.btf.place, f"{self.btf.type(id)}, a type without a size", "one that has values")
            self._sizes[id] = size
        return self._sizes[id]

    def of(self, id: int, data: bytes) -> Value:
        """The value of type `id` that `data` begins with. Raises InputError if it does not lie within `data`."""
        self._left = parts_of(len(data))
        self._named = 0
        value = self._value(id, data, 0, 0, 0)
        dense = parts_of(len(data)) - self._left - self._named - MAX_DENSE * (len(data) + 1)
        self._more -= self._named + max(0, dense)
        if self._more < 0:
            most = f"at most {MAX_DENSE} for each byte, and no long names, in so many values"
            raise InputError(self.btf.place, f"{self._type(id)} has more parts than are printed", most)
        return value

    def _charge(self, name: str) -> None:
        """Count a long name as parts."""
        parts = len(name) // MAX_NAME
        self._left -= parts
        self._named += parts

    def _type(self, id: int) -> Type:
        """What typedefs and qualifiers end at; of a variable, its type."""
        found = self._resolved.get(id)
        if found is None:
            found = self._made(end_of(self.btf, id))
            if isinstance(found, Symbol) and found.kind is Kind.VAR:
                found = self._made(end_of(self.btf, found.type))
            self._resolved[id] = found
        return found

    def _made(self, id: int) -> Type:
        """One object for all ids that lead to the type, since it may have many parts."""
        if id not in self._resolved:
            self._resolved[id] = self.btf.type(id)
        return self._resolved[id]

    def _enumerators(self, type: Enumeration) -> dict[int, str]:
        """The first name of each value."""
        if type.id not in self._names:
            self._names[type.id] = {value: name for name, value in reversed(type.values)}
        return self._names[type.id]

    def _value(self, id: int, data: bytes, bit: int, bits: int, depth: int) -> Value:
        """The value at `bit` of `data`; `bits` is the width of a bit-field, 0: it is none."""
        type = self._type(id)
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            limits = f"{parts_of(len(data)):,} of {len(data):,} bytes, {MAX_DEPTH} levels deep"
            raise InputError(self.btf.place, f"{type} has more parts than are printed", f"at most {limits}")
        match type:
            case Int():
                return self._int(type, data, bit, bits)
            case Enumeration():
                value = self._number(type, data, bit, bits or 8 * type.size, type.signed)
                name = self._enumerators(type).get(value, "")
                self._charge(name)
                return Enumerated(name, value)
            case Ptr():
                return Address(self._number(type, data, bit, 8 * self.btf.pointer_size, False))
            case Float():
                raw = self._bytes(type, data, bit, type.size)
                form = _FLOATS.get(type.size)
                order = "<" if self.btf.header.little else ">"
                if form is None:
                    return Raw(raw, len(raw))
                number: float = struct.unpack(order + form, raw)[0]
                return number
            case Array():
                return self._array(type, data, bit, depth)
            case Composite():
                rows = []
                for name, member, at, size in type.members:
                    self._charge(name)
                    rows.append((name, self._value(member, data, bit + at, size, depth + 1)))
                return Group("union" if type.kind is Kind.UNION else "struct", rows)
            case Datasec():
                rows = []
                for id, at, _ in type.variables:
                    name = self.btf.type(id).name
                    self._charge(name)
                    rows.append((name, self._value(id, data, bit + 8 * at, 0, depth + 1)))
                return Group("section", rows)
            case _:
                raise InputError(self.btf.place, f"{type} has no values", "a type that has")

    def _int(self, type: Int, data: bytes, bit: int, bits: int) -> int | Character:
        if bits:
            value = self._number(type, data, bit, bits, type.signed)
        else:  # before there were bit-fields in structs, types had them
            value = self._number(type, data, bit + type.offset, type.bits, type.signed)
        if type.encoding & IntEncoding.BOOL and value in (0, 1):
            return bool(value)
        return Character(value) if _is_char(type) and not bits else value

    def _array(self, type: Array, data: bytes, bit: int, depth: int) -> Value:
        element = self._type(type.type)
        if isinstance(element, Int) and _is_byte(element):
            raw = self._bytes(type, data, bit, type.nelems)
            text = printable(raw) if _is_char(element) else None
            return text if text is not None else Raw(raw[: self.elements], len(raw))
        size = self.size(type.type)
        if size * type.nelems > len(data):
            raise self._outside(type, bit, 8 * size * type.nelems, data)
        count = min(type.nelems, self.elements)
        items = [self._value(type.type, data, bit + 8 * size * number, 0, depth + 1) for number in range(count)]
        return Elements(items, type.nelems)

    def _bytes(self, type: Type, data: bytes, bit: int, size: int) -> bytes:
        if bit % 8 or bit // 8 + size > len(data):
            raise self._outside(type, bit, 8 * size, data)
        return data[bit // 8 : bit // 8 + size]

    def _number(self, type: Type, data: bytes, bit: int, bits: int, signed: bool) -> int:
        first, end = bit // 8, (bit + bits + 7) // 8
        if end > len(data) or bits > MAX_BITS:
            raise self._outside(type, bit, bits, data)
        raw = int.from_bytes(data[first:end], self._order)  # type: ignore[arg-type]
        shift = bit - 8 * first if self.btf.header.little else 8 * end - bit - bits
        value = raw >> shift & (1 << bits) - 1
        return value - (1 << bits) if signed and bits and value >> bits - 1 else value

    def _outside(self, type: Type, bit: int, bits: int, data: bytes) -> InputError:
        found = f"{type} at bit {bit}, {bits} bits long"
        return InputError(self.btf.place, found, f"a member within the {len(data)} bytes of the whole")


def parts_of(size: int) -> int:
    """How many members and elements a value of this many bytes may have: far more than real ones have."""
    return 10_000 + 16 * size


def _is_byte(type: Int) -> bool:
    """Whether an array of the type is text or bytes, not numbers."""
    if (type.size, type.bits) != (1, 8) or type.encoding == IntEncoding.BOOL:
        return False
    return _is_char(type) or not type.signed


def _is_char(type: Int) -> bool:
    """BTF of most compilers does not say that a type is for characters, other than by its name: `char` has a sign where
    it is a number with one, as `signed char` has, which is for numbers.
    """
    if type.size != 1 or type.name == "signed char":
        return False
    return type.name == "char" or bool(type.encoding & IntEncoding.CHAR)


def printable(raw: bytes) -> str | None:
    """The text up to the first NUL; None if it is not one that can be printed."""
    try:
        text = raw.partition(b"\0")[0].decode()
    except UnicodeDecodeError:
        return None
    return text if all(each.isprintable() or each in "\t\n\r" for each in text) else None
