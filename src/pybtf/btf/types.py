"""The model: one frozen class per kind, as read from BTF and as given to `BtfBuilder`.

References are type ids, 0 being void. Names are text; bytes that are not UTF-8 are kept as surrogate escapes,
so every name can be written back unchanged. An anonymous thing has the empty name.

Every type also has `id` (its place in the BTF it was read from; 0 in types made by hand; ignored by `==`) and
`kind_flag` (bit 31 of the info word, whose meaning depends on the kind).

Making two dozen dataclasses takes tens of milliseconds, more than opening a kernel's BTF. So what the many
small parts of types are (members, parameters, ...) are named tuples, kinds that add no field to their base
are plain subclasses, and the reader imports this module when the first type is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from pybtf.btf.kinds import IntEncoding, Kind, Linkage

UNSIGNED = IntEncoding(0)


@dataclass(frozen=True, slots=True)
class Type:
    """Base of all types. `str()` gives the short form `[id] KIND 'name'`; `describe()` gives all of it."""

    kind: ClassVar[Kind]

    name: str = field(default="", kw_only=True)
    kind_flag: bool = field(default=False, kw_only=True)
    id: int = field(default=0, kw_only=True, compare=False)

    def __str__(self) -> str:
        return f"[{self.id}] {self.kind.name} {self.name!r}"


class Void(Type):
    """Type id 0."""

    __slots__ = ()
    kind = Kind.VOID


@dataclass(frozen=True, slots=True)
class Int(Type):
    """An integer. `size` in bytes; `bits` and `offset` (in bits) tell which of them hold the value."""

    kind = Kind.INT
    name: str
    size: int
    bits: int
    encoding: IntEncoding = UNSIGNED
    offset: int = 0

    @property
    def signed(self) -> bool:
        return bool(self.encoding & IntEncoding.SIGNED)


@dataclass(frozen=True, slots=True)
class Float(Type):
    """A floating-point number of `size` bytes."""

    kind = Kind.FLOAT
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Ref(Type):
    """Base of the kinds that say something about one other type, `type`."""

    type: int


class Ptr(Ref):
    """Pointer to `type`."""

    __slots__ = ()
    kind = Kind.PTR


class Volatile(Ref):
    __slots__ = ()
    kind = Kind.VOLATILE


class Const(Ref):
    __slots__ = ()
    kind = Kind.CONST


class Restrict(Ref):
    __slots__ = ()
    kind = Kind.RESTRICT


@dataclass(frozen=True, slots=True)
class NamedRef(Ref):
    """Base of the references that have a name and nothing else."""

    name: str


class Typedef(NamedRef):
    """`name` stands for `type`."""

    __slots__ = ()
    kind = Kind.TYPEDEF


class TypeTag(NamedRef):
    """`type` with the tag `name`; `kind_flag`: the name is an attribute of the compiler."""

    __slots__ = ()
    kind = Kind.TYPE_TAG


@dataclass(frozen=True, slots=True)
class DeclTag(Ref):
    """The tag `name` on the declaration `type`, or its member or parameter `component` (-1: itself)."""

    kind = Kind.DECL_TAG
    name: str
    component: int = -1


@dataclass(frozen=True, slots=True)
class Symbol(Ref):
    """Base of `Func` and `Var`."""

    name: str
    linkage: Linkage = Linkage.STATIC


class Func(Symbol):
    """A function; `type` is its FUNC_PROTO."""

    __slots__ = ()
    kind = Kind.FUNC


class Var(Symbol):
    """A variable of `type`."""

    __slots__ = ()
    kind = Kind.VAR


@dataclass(frozen=True, slots=True)
class Array(Type):
    """`nelems` elements of `type`, counted by numbers of `index_type`."""

    kind = Kind.ARRAY
    type: int
    index_type: int
    nelems: int


class Member(NamedTuple):
    """Of a struct or union. `bit_offset` from its start; `bitfield_size` in bits, 0: not a bitfield."""

    name: str
    type: int
    bit_offset: int
    bitfield_size: int = 0


@dataclass(frozen=True, slots=True)
class Composite(Type):
    """Base of `Struct` and `Union`. `kind_flag`: offsets are stored together with bitfield sizes.

    The builder sets the flag by itself when a member is a bitfield.
    """

    name: str
    size: int
    members: tuple[Member, ...] = ()


class Struct(Composite):
    __slots__ = ()
    kind = Kind.STRUCT


class Union(Composite):
    __slots__ = ()
    kind = Kind.UNION


@dataclass(frozen=True, slots=True)
class Fwd(Type):
    """A struct, or with `kind_flag` a union, that is declared and not defined."""

    kind = Kind.FWD
    name: str

    @property
    def is_union(self) -> bool:
        return self.kind_flag


class Enumerator(NamedTuple):
    """A name and its value; `value` is negative only in an enumeration that is `signed`."""

    name: str
    value: int


@dataclass(frozen=True, slots=True)
class Enumeration(Type):
    """Base of `Enum` (values of 32 bits) and `Enum64`. `kind_flag`: the values are signed."""

    name: str
    size: int
    values: tuple[Enumerator, ...] = ()

    @property
    def signed(self) -> bool:
        return self.kind_flag


class Enum(Enumeration):
    __slots__ = ()
    kind = Kind.ENUM


class Enum64(Enumeration):
    __slots__ = ()
    kind = Kind.ENUM64


class Param(NamedTuple):
    """Of a prototype. No name and type 0 at the end: `...`."""

    name: str
    type: int


@dataclass(frozen=True, slots=True)
class FuncProto(Type):
    """A prototype; `return_type` 0 is void."""

    kind = Kind.FUNC_PROTO
    return_type: int
    params: tuple[Param, ...] = ()

    @property
    def variadic(self) -> bool:
        return bool(self.params) and not self.params[-1].type and not self.params[-1].name


class SectionVar(NamedTuple):
    """A place in a section: VAR `type`, `offset` and `size` in bytes."""

    type: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Datasec(Type):
    """The variables of the ELF section `name`, which is `size` bytes long."""

    kind = Kind.DATASEC
    name: str
    size: int
    variables: tuple[SectionVar, ...] = ()


@dataclass(frozen=True, slots=True)
class Unknown(Type):
    """A kind newer than this program, whose length a layout section tells. Nothing in it is interpreted."""

    number: int
    vlen: int
    third: int
    words: tuple[int, ...]
    kind = Kind.VOID

    def __str__(self) -> str:
        return f"[{self.id}] kind {self.number} {self.name!r}"
