"""From the words of a record to the model. One short function per kind; record sizes come from `KINDS`.

Everything a record says is checked here: ids and string offsets, reserved bits, words that must be zero.
Lengths were checked when the records were indexed, so words up to the next record can be read blindly.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TypeVar

from pybtf.btf.kinds import FLAG, KINDS, RECORD_WORDS, IntEncoding, Kind, Linkage, Word, info_kind, info_vlen
from pybtf.btf.strings import BadStringOffset
from pybtf.btf.types import (
    Array,
    Composite,
    Const,
    Datasec,
    DeclTag,
    Enum,
    Enum64,
    Enumeration,
    Enumerator,
    Float,
    Func,
    FuncProto,
    Fwd,
    Int,
    Member,
    NamedRef,
    Param,
    Ptr,
    Ref,
    Restrict,
    SectionVar,
    Struct,
    Symbol,
    Type,
    Typedef,
    TypeTag,
    Union,
    Unknown,
    Var,
    Volatile,
)

_C = TypeVar("_C", bound=Composite)
_E = TypeVar("_E", bound=Enumeration)
_S = TypeVar("_S", bound=Symbol)
_N = TypeVar("_N", bound=NamedRef)
_R = TypeVar("_R", bound=Ref)


class BadRecord(Exception):
    """What is wrong with a record. Internal: the reader adds the place and raises InputError."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found, expected)
        self.found = found
        self.expected = expected


def _signed(value: int, bits: int = 32) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


class Decoder:
    """Decodes the records of one type section.

    `words` is the section in native order, `lookup` finds strings, ids are valid below `end_id`.
    """

    errors = (BadRecord, BadStringOffset)
    """What `decode` raises."""

    def __init__(self, words: array[int], lookup: Callable[[int], str], end_id: int) -> None:
        self._words = words
        self._lookup = lookup
        self._end_id = end_id
        self._decoders: dict[int, Callable[[int, int, int], Type]] = {
            Kind.INT: self._int,
            Kind.PTR: lambda at, info, id: self._ref(Ptr, at, info, id),
            Kind.ARRAY: self._array,
            Kind.STRUCT: lambda at, info, id: self._composite(Struct, at, info, id),
            Kind.UNION: lambda at, info, id: self._composite(Union, at, info, id),
            Kind.ENUM: lambda at, info, id: self._enumeration(Enum, at, info, id),
            Kind.FWD: self._fwd,
            Kind.TYPEDEF: lambda at, info, id: self._named_ref(Typedef, at, info, id),
            Kind.VOLATILE: lambda at, info, id: self._ref(Volatile, at, info, id),
            Kind.CONST: lambda at, info, id: self._ref(Const, at, info, id),
            Kind.RESTRICT: lambda at, info, id: self._ref(Restrict, at, info, id),
            Kind.FUNC: lambda at, info, id: self._symbol(Func, info_vlen(info), at, info, id),
            Kind.FUNC_PROTO: self._proto,
            Kind.VAR: lambda at, info, id: self._symbol(Var, self._words[at + RECORD_WORDS], at, info, id),
            Kind.DATASEC: self._datasec,
            Kind.FLOAT: self._float,
            Kind.DECL_TAG: self._decl_tag,
            Kind.TYPE_TAG: lambda at, info, id: self._named_ref(TypeTag, at, info, id),
            Kind.ENUM64: lambda at, info, id: self._enumeration(Enum64, at, info, id),
        }

    def decode(self, at: int, id: int, end: int) -> Type:
        """The type whose record is the words from `at` to `end`.

        Raises one of `errors`.
        """
        info = self._words[at + 1]
        decoder = self._decoders.get(info_kind(info))
        if decoder is None:
            return self._unknown(at, info, id, end)
        return decoder(at, info, id)

    def _type(self, at: int) -> int:
        """The word at `at` as a type id."""
        id = self._words[at]
        if id >= self._end_id:
            raise BadRecord(f"type id {id}", f"below {self._end_id}")
        return id

    def _types(self, ids: Sequence[int]) -> Sequence[int]:
        if ids and max(ids) >= self._end_id:
            raise BadRecord(f"type id {max(ids)}", f"below {self._end_id}")
        return ids

    def _elements(self, at: int, info: int) -> list[array[int]]:
        """The elements' words by column: all first words, all second words, ..."""
        fixed, width = _SHAPES[info >> 24 & 0x1F]
        start = at + fixed
        end = start + width * (info & 0xFFFF)
        return [self._words[first:end:width] for first in range(start, start + width)]

    def _zero_third(self, at: int) -> None:
        if self._words[at + 2]:
            raise BadRecord(f"{self._words[at + 2]} as size or type", "0, as this kind has neither")

    def _ref(self, kind: type[_R], at: int, info: int, id: int) -> _R:
        return kind(self._type(at + 2), name=self._lookup(self._words[at]), id=id)

    def _named_ref(self, kind: type[_N], at: int, info: int, id: int) -> _N:
        return kind(self._lookup(self._words[at]), self._type(at + 2), kind_flag=info >= FLAG, id=id)

    def _symbol(self, kind: type[_S], linkage: int, at: int, info: int, id: int) -> _S:
        if linkage >= len(_LINKAGE):
            raise BadRecord(f"linkage {linkage}", "0 (static), 1 (global) or 2 (extern)")
        return kind(self._lookup(self._words[at]), self._type(at + 2), _LINKAGE[linkage], id=id)

    def _int(self, at: int, info: int, id: int) -> Int:
        name, _, size, data = self._words[at : at + RECORD_WORDS + 1]
        if data & 0xF000FF00:
            raise BadRecord(f"encoding word {data:#010x}", "zeros in bits 8-15 and 28-31")
        encoding = IntEncoding(data >> 24)
        return Int(self._lookup(name), size, data & 0xFF, encoding, data >> 16 & 0xFF, id=id)

    def _float(self, at: int, info: int, id: int) -> Float:
        return Float(self._lookup(self._words[at]), self._words[at + 2], id=id)

    def _array(self, at: int, info: int, id: int) -> Array:
        self._zero_third(at)
        element, index = self._type(at + RECORD_WORDS), self._type(at + RECORD_WORDS + 1)
        return Array(
            element, index, self._words[at + RECORD_WORDS + 2], name=self._lookup(self._words[at]), id=id
        )

    def _fwd(self, at: int, info: int, id: int) -> Fwd:
        self._zero_third(at)
        return Fwd(self._lookup(self._words[at]), kind_flag=info >= FLAG, id=id)

    def _decl_tag(self, at: int, info: int, id: int) -> DeclTag:
        component = _signed(self._words[at + RECORD_WORDS])
        if component < -1:
            raise BadRecord(f"component {component} of a tag", "-1 or an index")
        name = self._lookup(self._words[at])
        return DeclTag(name, self._type(at + 2), component, kind_flag=info >= FLAG, id=id)

    def _composite(self, kind: type[_C], at: int, info: int, id: int) -> _C:
        names, types, offsets = self._elements(at, info)
        text = map(self._lookup, names)
        if info >= FLAG:
            places = [offset & 0xFFFFFF for offset in offsets]
            sizes = [offset >> 24 for offset in offsets]
            members = tuple(map(Member, text, self._types(types), places, sizes))
        else:
            members = tuple(map(Member, text, self._types(types), offsets))
        return kind(
            self._lookup(self._words[at]), self._words[at + 2], members, kind_flag=info >= FLAG, id=id
        )

    def _enumeration(self, kind: type[_E], at: int, info: int, id: int) -> _E:
        names, low, *high = self._elements(at, info)
        values: Sequence[int] = low
        if high:
            values = [a | b << 32 for a, b in zip(low, high[0], strict=True)]
        if info >= FLAG:
            values = [_signed(value, 64 if high else 32) for value in values]
        enumerators = tuple(map(Enumerator, map(self._lookup, names), values))
        return kind(
            self._lookup(self._words[at]), self._words[at + 2], enumerators, kind_flag=info >= FLAG, id=id
        )

    def _proto(self, at: int, info: int, id: int) -> FuncProto:
        names, types = self._elements(at, info)
        params = tuple(map(Param, map(self._lookup, names), self._types(types)))
        return FuncProto(self._type(at + 2), params, name=self._lookup(self._words[at]), id=id)

    def _datasec(self, at: int, info: int, id: int) -> Datasec:
        types, offsets, sizes = self._elements(at, info)
        variables = tuple(map(SectionVar, self._types(types), offsets, sizes))
        return Datasec(self._lookup(self._words[at]), self._words[at + 2], variables, id=id)

    def _unknown(self, at: int, info: int, id: int, end: int) -> Unknown:
        rest = tuple(self._words[at + RECORD_WORDS : end])
        name = self._lookup(self._words[at])
        third = self._words[at + 2]
        return Unknown(
            info_kind(info), info_vlen(info), third, rest, name=name, kind_flag=info >= FLAG, id=id
        )


_LINKAGE = tuple(Linkage)
_SHAPES = {kind: (spec.words(0), len(spec.element)) for kind, spec in KINDS.items()}
"""Words before the elements and words of an element, by kind."""


def names(words: array[int], at: int) -> list[int]:
    """Offsets of the names in the record at `at`, in wire order. Of unknown kinds, the first."""
    info = words[at + 1]
    spec = KINDS.get(info_kind(info))
    if spec is None or Word.NAME not in spec.element:
        return [words[at]]
    width = len(spec.element)
    start, end = at + spec.words(0), at + spec.words(info_vlen(info))
    return [words[at], *words[start + spec.element.index(Word.NAME) : end : width]]


def references(words: array[int], at: int) -> list[int]:
    """Type ids that the record at `at` names, in wire order, void included. Unknown kinds have none."""
    info = words[at + 1]
    spec = KINDS.get(info_kind(info))
    if spec is None:
        return []
    found = [words[at + 2]] if spec.third is Word.TYPE else []
    fixed = at + RECORD_WORDS
    found += [words[fixed + i] for i, word in enumerate(spec.fixed) if word is Word.TYPE]
    width = len(spec.element)
    start, end = at + spec.words(0), at + spec.words(info_vlen(info))
    for column, word in enumerate(spec.element):
        if word is Word.TYPE:
            found += words[start + column : end : width]
    return found
