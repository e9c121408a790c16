"""`Builder`: making BTF, type by type or from whole BTFs.

`add_*` check what they are given as libbpf's `btf__add_*` do: names where a kind needs one, sizes that kinds can have,
offsets that fit. References are not looked up: they may point to types that come later, such as `next_id`. `add` and
`extend` take types of the model as they are, as long as all of it can be written.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from pybtf.arguments import check_text, number_of, other_kind, parts_of
from pybtf.btf.kinds import IntEncoding, Kind, Linkage
from pybtf.btf.reader import BTF
from pybtf.btf.strings import BadStringOffset, encode_name
from pybtf.btf.types import (
    Array,
    Const,
    Datasec,
    DeclTag,
    Enum,
    Enum64,
    Enumerator,
    Float,
    Func,
    FuncProto,
    Fwd,
    Int,
    Member,
    Param,
    Ptr,
    Restrict,
    SectionVar,
    Struct,
    Typedef,
    TypeTag,
    Union,
    Var,
    Volatile,
)
from pybtf.btf.writer import BtfBuilder
from pybtf.core.btf.join_types import names_of, renumber
from pybtf.core.btf.sort_types import own_names, sort_types
from pybtf.errors import InputError, Place, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

BTF_KIND = "a pybtf.BTF, as from BTF.from_file"
MAX_ID = 0x7FFFFFFF
MAX_OVERLAP = 16
"""How many times as long as the strings the names in them may be, where some begin in the middle of others."""

NO_ROOM = memoryview(array("I", [0, 0])).cast("B").cast("I", (2, 1))


class Builder(BtfBuilder):
    """BTF in the making; with a `base`, split BTF, whose ids and strings go on where the base's end.

    Each `add_*` returns the id of the new type. It raises UsageError, and adds nothing, for a name that is missing or
    cannot be stored, a size that the kind cannot have, and whatever does not fit its field.
    """

    def __init__(self, base: BTF | None = None, *, name: str = "Builder") -> None:
        """`name` stands for the BTF in messages. Raises UsageError for a base that is split itself."""
        if base is not None and not isinstance(base, BTF):
            raise other_kind("base", base, BTF_KIND)
        check_text(name, "name")
        if base is not None and base.base is not None:
            raise UsageError("a base that is split itself")
        super().__init__(base)
        self.base = base
        self.name = name

    @classmethod
    def of(cls, btf: BTF, *, name: str = "Builder") -> Builder:
        """Start with a BTF as it is, on its base if it has one: the same ids and strings, also those that nothing uses.

        A longer header and a layout section are not kept. Raises UsageError as the constructor.
        """
        if not isinstance(btf, BTF):
            raise other_kind("btf", btf, BTF_KIND)
        made = cls(btf.base, name=name)
        made._words = array("I", btf.words)
        made.next_id = btf.end_id
        made._strings = bytearray(btf.strings.data)
        for offset, text in btf.strings:
            made._offsets.setdefault(encode_name(text), offset)
        return made

    def __len__(self) -> int:
        """Number of own types."""
        return self.next_id - self.first_id

    # One kind after the other.

    def add_int(self, name: str, size: int, encoding: IntEncoding | int = 0) -> int:
        """An integer of 1, 2, 4, 8 or 16 bytes."""
        size = number_of(size, "size")
        if size not in (1, 2, 4, 8, 16):
            raise UsageError(f"an integer of {size} bytes; there are 1, 2, 4, 8 and 16")
        encoding = number_of(encoding, "encoding", "an IntEncoding")
        if not 0 <= encoding <= 7:
            raise UsageError(f"encoding {encoding} of an integer; there are signed 1, char 2 and bool 4")
        return self.add(Int(_named("an integer", name), size, 8 * size, IntEncoding(encoding)))

    def add_float(self, name: str, size: int) -> int:
        """A floating-point number of 2, 4, 8, 12 or 16 bytes."""
        size = number_of(size, "size")
        if size not in (2, 4, 8, 12, 16):
            raise UsageError(f"a floating-point number of {size} bytes; there are 2, 4, 8, 12 and 16")
        return self.add(Float(_named("a floating-point number", name), size))

    def add_ptr(self, type: int) -> int:
        """A pointer to the type with this id; 0 is void."""
        return self.add(Ptr(_id(type)))

    def add_volatile(self, type: int) -> int:
        """The type with this id, `volatile`."""
        return self.add(Volatile(_id(type)))

    def add_const(self, type: int) -> int:
        """The type with this id, `const`."""
        return self.add(Const(_id(type)))

    def add_restrict(self, type: int) -> int:
        """The type with this id, `restrict`."""
        return self.add(Restrict(_id(type)))

    def add_typedef(self, name: str, type: int) -> int:
        """Another name for the type with this id."""
        return self.add(Typedef(_named("a typedef", name), _id(type)))

    def add_type_tag(self, name: str, type: int, *, attribute: bool = False) -> int:
        """A tag on a type; `attribute`: the name is an attribute of the compiler."""
        return self.add(TypeTag(_named("a tag", name), _id(type), kind_flag=attribute))

    def add_decl_tag(self, name: str, type: int, component: int = -1, *, attribute: bool = False) -> int:
        """A tag on a declaration, or on its member or parameter number `component`."""
        component = number_of(component, "component")
        if component < -1:
            raise UsageError(f"component {component} of a tag; it is -1 or an index")
        return self.add(DeclTag(_named("a tag", name), _id(type), component, kind_flag=attribute))

    def add_array(self, type: int, nelems: int, index_type: int) -> int:
        """An array of `nelems` elements; `type` and `index_type` are ids."""
        return self.add(Array(_id(type), _id(index_type), nelems))

    def add_struct(self, name: str, size: int, members: Iterable[Member] = ()) -> int:
        """A struct of `size` bytes. A member whose place is not a multiple of 8 bits must be a bit-field."""
        return self.add(Struct(name, size, _members(members)))

    def add_union(self, name: str, size: int, members: Iterable[Member] = ()) -> int:
        """A union of `size` bytes, whose members are all at 0."""
        found = _members(members)
        for member in found:
            if member.bit_offset:
                raise UsageError(f"member {member.name!r} of a union at bit {member.bit_offset}; it is at 0")
        return self.add(Union(name, size, found))

    def add_enum(self, name: str, size: int, values: Iterable[Enumerator] = ()) -> int:
        """An enumeration with values of 32 bits; they are signed if one is negative."""
        found = _values(size, values)
        return self.add(Enum(name, size, found, kind_flag=any(each.value < 0 for each in found)))

    def add_enum64(self, name: str, size: int, values: Iterable[Enumerator] = (), *, signed: bool = False) -> int:
        """An enumeration with values of 64 bits."""
        found = _values(size, values)
        return self.add(Enum64(name, size, found, kind_flag=signed))

    def add_fwd(self, name: str, kind: Kind = Kind.STRUCT) -> int:
        """A struct, union or enumeration that is declared; of the last, BTF has it that it has no values."""
        if kind is Kind.ENUM:
            return self.add_enum(_named("a declaration", name), 4)
        if kind not in (Kind.STRUCT, Kind.UNION):
            raise UsageError(f"a declaration of {_kind_name(kind)}; there are those of STRUCT, UNION and ENUM")
        return self.add(Fwd(_named("a declaration", name), kind_flag=kind is Kind.UNION))

    def add_func(self, name: str, type: int, linkage: Linkage | int = Linkage.STATIC) -> int:
        """A function; `type` is its prototype."""
        return self.add(Func(_named("a function", name), _id(type), _linkage(linkage)))

    def add_func_proto(self, return_type: int, params: Iterable[Param] = ()) -> int:
        """A prototype. A last parameter without a name, of type 0, is `...`."""
        found = parts_of(params, Param, "params")
        for param in found:
            _id(param.type)
        return self.add(FuncProto(_id(return_type), found))

    def add_var(self, name: str, type: int, linkage: Linkage | int = Linkage.STATIC) -> int:
        """A variable; its type is an id."""
        return self.add(Var(_named("a variable", name), _id(type), _linkage(linkage)))

    def add_datasec(self, name: str, size: int, variables: Iterable[SectionVar] = ()) -> int:
        """The variables of a section, each the id of a VAR with its place."""
        found = parts_of(variables, SectionVar, "variables")
        for variable in found:
            _id(variable.type)
        return self.add(Datasec(_named("a section", name), size, found))

    # Whole BTFs

    def append(self, other: BTF) -> int:
        """Append all types of a BTF to the own ones, with new ids and strings of this one.

        Returns the id of the first of them. Split BTF must have the same base as this. Raises UsageError if it has
        another, InputError if it is damaged.
        """
        if not isinstance(other, BTF):
            raise other_kind("what is appended", other, BTF_KIND)
        if other.base is not None and (self.base is None or other.base.data != self.base.data):
            raise UsageError(f"{other.place}: split BTF, of another base")
        first = self.next_id
        words = array("I", other.words)
        text, start = other.strings.data, other.strings.start
        names = {}
        room = MAX_OVERLAP * len(text) + 65536
        for offset in names_of(words, bytearray(len(text)), start):
            at = offset - start
            raw = text[at : text.index(0, at)]
            room -= len(raw)
            if room < 0:
                raise _overlap(other, "Each name becomes a string of its own.")
            names[offset] = self.raw_string(raw)
        _check(other, renumber(words, names, start, other.first_id, other.end_id, first - other.first_id))
        self._words.extend(words)
        self.next_id += len(other)
        return first

    def dedup(self) -> None:
        """Leave one of each type that occurs several times, as libbpf's `btf__dedup` does. Ids change.

        Strings stay, whether they are used or not. Raises InputError if the types cannot be de-duplicated.
        """
        from pybtf.core.dedup.dedup import dedup_btf

        base = self.base.data if self.base is not None else None
        base_name = self.base.place.file if self.base is not None else "base BTF"
        self._take(dedup_btf(self.tobytes(), base, name=self.name, base_name=base_name))

    def sort(self) -> array[int]:
        """Put the types into the order that kernels since 7.0 want: first those without a name, then by its bytes.

        Types of one name keep their order, whatever their kinds. Members, parameters and the variables of a section
        keep theirs, and strings their places. Of split BTF the own types are sorted. The rule is that of the kernel's
        `resolve_btfids`. Returns the new ids: at `i` that of type `first_id + i`. Raises InputError, and changes
        nothing, if a type is damaged or of a kind that is not known.
        """
        made = self.to_btf()
        ranks = self._name_ranks(made)
        room = memoryview(bytearray(8 * len(ranks))).cast("I", (2, len(ranks))) if ranks else NO_ROOM
        words, ids = array("I", bytes(4 * len(self._words))), array("I", bytes(4 * len(self)))
        _check(made, sort_types(self._words, ranks, room, words, ids, self.first_id))
        self._words = words
        return ids

    def _name_ranks(self, made: BTF) -> dict[int, int]:
        """The place of each name of a type among all of them, by offset."""
        names: dict[bytes, list[int]] = {}
        room = MAX_OVERLAP * made.strings.end + 65536
        for offset in own_names(self._words):
            try:
                raw = encode_name(made.strings.lookup(offset))
            except BadStringOffset:
                continue
            names.setdefault(raw, []).append(offset)
            room -= len(raw)
            if room < 0:
                raise _overlap(made)
        return {offset: rank for rank, raw in enumerate(sorted(names)) for offset in names[raw]}

    def distill(self, byte_order: Literal["little", "big"] = "little") -> tuple[bytes, bytes]:
        """Of split BTF: the same on a minimal base of its own, and that base, with which it fits other kernels.

        As libbpf's `btf__distill_base`. Raises UsageError without a base, InputError if a type of the base is referred
        to that cannot be found by its name.
        """
        from pybtf.core.encode.distill_btf import distill_btf

        if self.base is None:
            raise UsageError("only split BTF can be distilled; this has no base")
        return distill_btf(self.to_bytes(byte_order), self.base.data, name=self.name, base_name=self.base.place.file)

    def _take(self, data: bytes) -> None:
        """Go on with this BTF, whose strings are the own ones."""
        made = BTF(data, self.base, Place(self.name))
        self._words = array("I", made.words)
        self.next_id = made.end_id

    def to_bytes(self, byte_order: Literal["little", "big"] = "little", *, layout: bool = False) -> bytes:
        """The BTF so far; `layout`: with a layout section, as the feature `layout` has it."""
        if byte_order not in ("little", "big"):
            raise UsageError(f"byte order {byte_order!r}; there are 'little' and 'big'")
        return self.tobytes(byte_order == "little", layout=layout)

    def to_btf(self) -> BTF:
        """The BTF so far, opened for reading."""
        return BTF(self.tobytes(), self.base, Place(self.name))


def _overlap(btf: BTF, hint: str = "") -> InputError:
    return InputError(btf.place, "names that begin inside others", "some megabytes of names", hint)


def _check(btf: BTF, bad: int) -> None:
    """Raises InputError if the record with this number, counted from 1, is bad; 0: none is."""
    if bad:
        bad += btf.first_id - 1
        btf.type(bad)  # says what is wrong with it
        raise InputError(btf.place, f"type {bad} is of a kind that is not known", "known kinds")


def _kind_name(kind: Kind) -> str:
    return kind.name if isinstance(kind, Kind) else repr(kind)


def _named(what: str, name: str) -> str:
    if not name:
        raise UsageError(f"{what} without a name")
    return name


def _id(id: int) -> int:
    id = number_of(id, "what is referred to", "the id of a type")
    if not 0 <= id <= MAX_ID:
        raise UsageError(f"type id {id}; ids go from 0 to {MAX_ID}")
    return id


def _linkage(linkage: Linkage | int) -> Linkage:
    if linkage not in tuple(Linkage):
        raise UsageError(f"linkage {linkage}; there are static 0, global 1 and extern 2")
    return Linkage(linkage)


def _members(members: Iterable[Member]) -> tuple[Member, ...]:
    found = parts_of(members, Member, "members")
    for member in found:
        _id(member.type)
        number_of(member.bit_offset, f"offset of {member.name}")
        if member.bit_offset % 8 and not member.bitfield_size:
            raise UsageError(f"member {member.name!r} at bit {member.bit_offset}, which is not a bit-field")
    return found


def _values(size: int, values: Iterable[Enumerator]) -> tuple[Enumerator, ...]:
    if number_of(size, "size") not in (1, 2, 4, 8):
        raise UsageError(f"an enumeration of {size} bytes; there are 1, 2, 4 and 8")
    found = parts_of(values, Enumerator, "values")
    for each in found:
        _named("an enumerator", each.name)
        number_of(each.value, f"value of {each.name}")
    return found
