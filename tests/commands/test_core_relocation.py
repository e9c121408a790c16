"""CO-RE relocations, one at a time, in BTF built in memory: which types of a kernel match one of a program.

bpftool gives the same answers (`bpftool -d gen min_core_btf`) if it accepts such BTF.
"""

from __future__ import annotations

import struct

import pytest

from pybtf import BTF, InputError
from pybtf.btf.core_relocation import Relocator, Target
from pybtf.btf.ext import BtfExt, Relocation, RelocationKind
from pybtf.btf.kinds import IntEncoding
from pybtf.btf.min_core import MinCore
from pybtf.btf.types import (
    Array,
    Enum,
    Enum64,
    Enumerator,
    Float,
    FuncProto,
    Fwd,
    Int,
    Member,
    Param,
    Ptr,
    Struct,
    Type,
    Typedef,
    Union,
)
from pybtf.btf.writer import BtfBuilder

K = RelocationKind
INT, SIGNED = Int("int", 4, 32), Int("int", 4, 32, IntEncoding.SIGNED)


def made(*types: Type, little: bool = True) -> BTF:
    builder = BtfBuilder()
    builder.extend(types)
    return BTF.from_bytes(builder.tobytes(little), name="made")


def resolved(local: BTF, target: BTF, kind: K, access: str = "0", type: int = 1) -> int | None:
    return Relocator(local, Target(target)).resolve(Relocation("x", 0, type, access, kind)).value


def typed(*types: Type) -> BTF:
    """The given types after a typedef `t` of the last one."""
    return made(Typedef("t", 1 + len(types)), *types)


def holding(*types: Type) -> BTF:
    """The given types after a struct `s` with a member `a` of the last one."""
    return made(Struct("s", 64, (Member("a", 1 + len(types), 0),)), *types)


VALUE = (Enumerator("A", 1),)
Case = tuple[list[Type], list[Type], int]
FIELDS: dict[str, Case] = {
    "integers of other sizes": ([INT], [Int("long", 8, 64)], 1),
    "a struct and a union": ([Struct("x", 4)], [Union("y", 8)], 1),
    "enums of one name": ([Enum("e___2", 4, VALUE)], [Enum64("e", 8, VALUE)], 1),
    "enums of other names": ([Enum("e", 4, VALUE)], [Enum("f", 4, VALUE)], 0),
    "an enum without a name": ([Enum("", 4, VALUE)], [Enum("f", 4, VALUE)], 1),
    "another without a name": ([Enum("e", 4, VALUE)], [Enum("", 4, VALUE)], 1),
    "floating point": ([Float("float", 4)], [Float("double", 8)], 1),
    "a pointer and a number": ([Ptr(0)], [Int("long", 8, 64)], 0),
    "pointers": ([INT, Ptr(2)], [Ptr(0)], 1),
}


@pytest.mark.parametrize("case", FIELDS)
def test_members_that_may_stand_for_each_other(case: str) -> None:
    local, target, exists = FIELDS[case]
    assert resolved(holding(*local), holding(*target), K.FIELD_EXISTS, "0:0") == exists


def test_a_member_of_the_name_that_does_not_fit_ends_the_search() -> None:
    inner = Struct("", 4, (Member("a", 4, 0),))
    target = made(Struct("s", 16, (Member("a", 2, 0), Member("", 3, 64))), Ptr(0), inner, INT)
    assert resolved(holding(INT), target, K.FIELD_EXISTS, "0:0") == 0


EXISTING: dict[str, Case] = {
    "prototypes": ([INT, FuncProto(2, (Param("a", 2),))], [INT, FuncProto(2, (Param("b", 2),))], 1),
    "other parameters": ([INT, FuncProto(2, (Param("a", 2),))], [INT, Ptr(0), FuncProto(2, (Param("a", 3),))], 0),
    "another result": ([INT, FuncProto(2)], [INT, Ptr(0), FuncProto(3)], 0),
    "more parameters": ([INT, FuncProto(2)], [INT, FuncProto(2, (Param("a", 2),))], 0),
    "an integer with an offset": ([INT], [Int("int", 4, 3, offset=2)], 0),
    "enums of other sizes": ([Enum("e", 4, VALUE)], [Enum64("f", 8, VALUE)], 1),
}


@pytest.mark.parametrize("case", EXISTING)
def test_types_that_exist(case: str) -> None:
    local, target, exists = EXISTING[case]
    assert resolved(typed(*local), typed(*target), K.TYPE_EXISTS) == exists


X, XX = Struct("x", 4), Struct("x", 8)
MATCHING: dict[str, Case] = {
    "a number of another sign": ([SIGNED], [INT], 0),
    "a number of another size": ([INT], [Int("int", 8, 64)], 0),
    "arrays of other lengths": ([INT, Array(2, 2, 3)], [INT, Array(2, 2, 4)], 0),
    "enums of other sizes": ([Enum("e", 4, VALUE)], [Enum64("e", 8, VALUE)], 0),
    "enums with more": ([Enum("e", 4, VALUE)], [Enum("e", 4, (*VALUE, Enumerator("B", 2)))], 1),
    "enums with fewer": ([Enum("e", 4, (*VALUE, Enumerator("B", 2)))], [Enum("e", 4, VALUE)], 0),
    "a flavour": ([Struct("x___2", 4)], [X], 1),
    "another name": ([X], [Struct("y", 4)], 0),
    "what is behind a pointer has a kind": ([X, Ptr(2)], [Union("x", 4), Ptr(2)], 0),
    "what is behind a pointer may be declared": ([X, Ptr(2)], [Fwd("x"), Ptr(2)], 1),
    "and not as a union": ([X, Ptr(2)], [Fwd("x", kind_flag=True), Ptr(2)], 0),
    "what is not behind one may not": ([X], [Fwd("x")], 0),
    "members behind a pointer": (
        [INT, Struct("x", 4, (Member("m", 2, 0),)), Ptr(3)], [X, Ptr(2)], 1,
    ),
    "members of what is passed behind a pointer": (
        [INT, Struct("x", 4, (Member("m", 2, 0),)), FuncProto(2, (Param("a", 3),)), Ptr(4)],
        [INT, X, FuncProto(2, (Param("a", 3),)), Ptr(4)], 1,
    ),
    "members of what is passed": (
        [INT, Struct("x", 4, (Member("m", 2, 0),)), FuncProto(2, (Param("a", 3),))],
        [INT, X, FuncProto(2, (Param("a", 3),))], 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MATCHING)
def test_types_that_match(case: str) -> None:
    local, target, matches = MATCHING[case]
    assert resolved(typed(*local), typed(*target), K.TYPE_MATCHES) == matches


def test_a_member_matches_one_of_those_of_its_name() -> None:
    """There are several nameless members."""
    one, other = Struct("", 4, (Member("a", 4, 0),)), Union("", 4, (Member("b", 4, 0),))
    target = made(Struct("s", 8, (Member("", 2, 0), Member("", 3, 32))), one, other, INT)
    for inner in (one, other):
        local = made(Struct("s", 4, (Member("", 2, 0),)), inner, INT, INT)
        assert resolved(local, target, K.TYPE_MATCHES) == 1


@pytest.mark.parametrize(("count", "found"), [(31, 1), (32, 0)])
@pytest.mark.parametrize("kind", [K.TYPE_EXISTS, K.TYPE_MATCHES])
def test_how_many_pointers_are_followed(kind: K, count: int, found: int) -> None:
    """bpftool refuses the program if there are more."""
    btf = typed(INT, *(Ptr(2 + n) for n in range(count)))
    assert resolved(btf, btf, kind) == found


# Facts


@pytest.mark.parametrize(("little", "left"), [(True, 64 - 3 - 4), (False, 64 - 32 + 3)])
def test_shifts_of_a_bit_field(little: bool, left: int) -> None:
    """As clang uses them: `x << left >> right`, for 4 bytes that were loaded into 8."""
    btf = made(Struct("s", 4, (Member("a", 2, 3, 4),), kind_flag=True), INT, little=little)
    assert resolved(btf, btf, K.FIELD_LSHIFT_U64, "0:0") == left
    assert resolved(btf, btf, K.FIELD_RSHIFT_U64, "0:0") == 60


@pytest.mark.parametrize(
    ("bit", "bits", "offset", "size"), [(28, 4, 0, 4), (28, 5, 0, 8), (32, 32, 4, 4), (40, 8, 4, 4), (63, 1, 4, 4)]
)
def test_what_is_loaded_for_a_bit_field(bit: int, bits: int, offset: int, size: int) -> None:
    btf = made(Struct("s", 16, (Member("a", 2, bit, bits),), kind_flag=True), INT)
    assert resolved(btf, btf, K.FIELD_BYTE_OFFSET, "0:0") == offset
    assert resolved(btf, btf, K.FIELD_BYTE_SIZE, "0:0") == size


def test_signs() -> None:
    for type, signed in (
        (INT, 0), (SIGNED, 1), (Enum("e", 4, VALUE), 0), (Enum("e", 4, VALUE, kind_flag=True), 1), (Ptr(0), 0),
    ):  # fmt: skip
        assert resolved(holding(type), holding(type), K.FIELD_SIGNED, "0:0") == signed


def test_an_enumerator_exists_whatever_its_value() -> None:
    local = made(Enum("e", 4, (Enumerator("A", 1),)))
    for value in (0, 7):
        target = made(Enum("e", 4, (Enumerator("A___x", value),)))
        assert resolved(local, target, K.ENUMVAL_EXISTS) == 1
        assert resolved(local, target, K.ENUMVAL_VALUE) == value
    assert resolved(local, made(Enum("e", 4, ())), K.ENUMVAL_EXISTS) == 0
    assert resolved(local, made(Enum("e", 4, ())), K.ENUMVAL_VALUE) is None
    assert resolved(local, made(Enum64("e", 8, (Enumerator("A", 1 << 40),))), K.ENUMVAL_VALUE) == 1 << 40


def test_what_is_nothing_where_nothing_is_found() -> None:
    local, nothing = made(Struct("s", 4, (Member("a", 2, 0),)), INT), made(INT)
    for kind in (K.TYPE_EXISTS, K.TYPE_SIZE, K.TYPE_ID_TARGET, K.TYPE_MATCHES):
        assert resolved(local, nothing, kind) == 0
    for kind in (K.FIELD_BYTE_OFFSET, K.FIELD_BYTE_SIZE, K.FIELD_SIGNED):
        assert resolved(local, nothing, kind, "0:0") is None


# Ways


def flexible(*behind: Member, count: int = 0) -> BTF:
    return made(Struct("s", 16, (Member("a", 2, 0), *behind)), Array(3, 3, count), INT)


def test_elements_behind_the_end_are_those_of_the_last_member() -> None:
    last, followed, whole = flexible(), flexible(Member("b", 3, 64)), flexible(count=2)
    assert resolved(last, last, K.FIELD_BYTE_OFFSET, "0:0:5") == 20
    assert resolved(last, followed, K.FIELD_EXISTS, "0:0:5") == 0
    assert resolved(last, whole, K.FIELD_EXISTS, "0:0:1") == 1
    assert resolved(last, whole, K.FIELD_EXISTS, "0:0:2") == 0
    for local, access in ((followed, "0:0:5"), (whole, "0:0:2")):
        with pytest.raises(InputError, match="no member or element"):
            resolved(local, last, K.FIELD_EXISTS, access)


def test_an_array_in_the_last_member_has_its_elements_only() -> None:
    def rows(count: int) -> BTF:
        return made(Struct("s", 16, (Member("a", 2, 0),)), Array(3, 4, 2), Array(4, 4, count), INT)

    assert resolved(rows(3), rows(0), K.FIELD_EXISTS, "0:0:1:2") == 0
    with pytest.raises(InputError, match="no member or element 2"):
        resolved(rows(0), rows(3), K.FIELD_EXISTS, "0:0:1:2")


def test_the_longest_way() -> None:
    local = made(Struct("s", 4, (Member("a", 1, 0),)))
    for steps, said in ((63, "no"), (64, "more than 64 steps")):
        access = "0" + ":0" * steps
        if said == "no":
            assert resolved(local, local, K.FIELD_EXISTS, access) == 1
        else:
            with pytest.raises(InputError, match=said):
                resolved(local, local, K.FIELD_EXISTS, access)


def test_what_was_no_candidate_once_is_none_later() -> None:
    """As in libbpf: the second `s` has no member `a`, so it is no longer asked for `b`, which it has."""
    local = made(Struct("s", 8, (Member("a", 2, 0), Member("b", 2, 32))), INT)
    target = made(INT, Struct("s", 8, (Member("a", 1, 0), Member("b", 1, 32))), Struct("s", 8, (Member("b", 1, 0),)))
    alone = Relocator(local, Target(target))
    with pytest.raises(InputError, match="disagree"):
        alone.resolve(Relocation("x", 0, 1, "0:1", K.FIELD_BYTE_OFFSET))
    after = Relocator(local, Target(target))
    assert after.resolve(Relocation("x", 0, 1, "0:0", K.FIELD_BYTE_OFFSET)).value == 0
    assert after.resolve(Relocation("x", 8, 1, "0:1", K.FIELD_BYTE_OFFSET)).value == 4


def test_a_flavour_in_the_base_of_a_module() -> None:
    base = made(INT, Struct("s___old", 4, (Member("a", 1, 0),)))
    builder = BtfBuilder(base)
    builder.add(Ptr(2))
    split = BTF.from_bytes(builder.tobytes(), base)
    assert resolved(holding(INT), split, K.FIELD_EXISTS, "0:0") == 1


# What is kept of a kernel


def kept(btf: BTF, local: BTF, *rows: tuple[int, str, K]) -> list[Type]:
    builder = BtfBuilder()
    builder.extend(local)
    words = [(0, type, builder.string(access), kind) for type, access, kind in rows]
    data = struct.pack("<HBBIIIIIII", 0xEB9F, 1, 0, 32, 0, 0, 0, 0, 0, 12 + 16 * len(rows))
    data += struct.pack("<III", 16, 0, len(rows)) + b"".join(struct.pack("<4I", *row) for row in words)
    whole = BTF.from_bytes(builder.tobytes())
    needs = MinCore(btf)
    needs.add(whole, BtfExt.from_bytes(data, whole))
    return list(BTF.from_bytes(needs.to_bytes()))


def members(types: list[Type], name: str) -> list[str]:
    (found,) = [each for each in types if isinstance(each, Struct) and each.name == name]
    return [member.name for member in found.members]


def test_members_behind_a_pointer_are_kept_if_they_are_needed_otherwise() -> None:
    """One is met first through a pointer, then as a member; another is what a prototype behind a pointer takes."""
    x = Struct("x", 4, (Member("m", 1, 0),))
    y = Struct("y", 4, (Member("m", 1, 0),))
    s = Struct("s", 24, (Member("x", 2, 128), Member("p", 4, 0), Member("f", 6, 64)))
    proto, z = FuncProto(0, (Param("y", 7),)), Struct("z", 8, (Member("p", 9, 0),))
    btf = made(INT, x, s, Ptr(2), proto, Ptr(5), y, z, Ptr(7))
    types = kept(btf, btf, (3, "0", K.TYPE_MATCHES))
    assert (members(types, "x"), members(types, "y")) == (["m"], ["m"])
    assert members(kept(btf, btf, (8, "0", K.TYPE_MATCHES)), "y") == []


def test_each_kind_of_relocation_keeps_its_own() -> None:
    btf = made(INT, Struct("s", 8, (Member("a", 1, 0), Member("b", 3, 32))), Array(1, 1, 1))
    assert kept(btf, btf, (2, "0", K.TYPE_EXISTS)) == [Struct("s", 8)]
    assert members(kept(btf, btf, (2, "0", K.TYPE_EXISTS), (2, "0", K.TYPE_MATCHES)), "s") == ["a", "b"]
    assert members(kept(btf, btf, (2, "0:0", K.FIELD_EXISTS), (2, "0:1:0", K.FIELD_EXISTS)), "s") == ["a", "b"]
