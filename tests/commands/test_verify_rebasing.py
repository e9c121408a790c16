"""`pybtf verify --fix --base`: which types of another base match those of a module, and bases that cannot be used."""

from __future__ import annotations

import pytest

from pybtf.btf import BTF
from pybtf.btf.types import FuncProto, Int, Member, Param, Ptr, Struct, Type, Typedef
from pybtf.btf.writer import BtfBuilder
from pybtf.errors import InputError
from pybtf.verify.rebasing import DEPTH, rebase
from tests.commands.test_verify_fix import WORD, made


def module(base: BTF, *types: Type) -> BTF:
    builder = BtfBuilder(base)
    builder.extend(list(types))
    return BTF.from_bytes(builder.tobytes(), base)


def test_what_is_no_module_and_what_is_no_base() -> None:
    base = made([WORD])
    own = module(base, Ptr(1))
    with pytest.raises(InputError, match="BTF that is not split from a base"):
        rebase(base, base)
    with pytest.raises(InputError, match="BTF that is split itself, or of the other byte order"):
        rebase(own, own)
    builder = BtfBuilder()
    builder.add(WORD)
    with pytest.raises(InputError, match="BTF that is split itself, or of the other byte order"):
        rebase(own, BTF.from_bytes(builder.tobytes(False)))
    assert rebase(own, base)[1] == 1


def test_prototypes_have_parameters_and_a_type() -> None:
    def base(returns: int, *params: Param) -> BTF:
        return made([WORD, Int("long", 8, 64), FuncProto(returns, params), Ptr(3)])

    own = module(base(1, Param("a", 2)), Ptr(4))
    assert rebase(own, base(1, Param("a", 2)))[1] == 1
    for other in (base(2, Param("a", 2)), base(1, Param("b", 2)), base(1, Param("a", 1)), base(1)):
        with pytest.raises(InputError, match=r"PTR \[4\] is not there"):
            rebase(own, other)


def test_numbers_have_a_size() -> None:
    """It matters if they are part of something. Of two, the right one is taken."""
    own = module(made([WORD]), Struct("mine", 4, (Member("x", 1, 0),)))
    with pytest.raises(InputError, match="INT int is another there"):
        rebase(own, made([Int("int", 8, 64)]))
    new = made([Int("int", 8, 64), WORD])
    (mine,) = BTF.from_bytes(rebase(own, new)[0], new)
    assert isinstance(mine, Struct)
    assert mine.members[0].type == 2
    pointer = module(made([WORD]), Ptr(1))
    assert rebase(pointer, made([Int("int", 8, 64)]))[1] == 1


def test_what_a_typedef_stands_for_is_embedded() -> None:
    """Even if the module does not refer to it. A pointer after a typedef ends that."""

    def base(size: int, pointer: bool) -> BTF:
        return made([WORD, Struct("inner", size, ()), Typedef("inner_t", 4 if pointer else 2), Ptr(2)])

    for pointer in (False, True):
        own = module(base(8, pointer), Struct("mine", 16, (Member("x", 3, 0),)))
        assert rebase(own, base(8, pointer))[1] == 1
        if pointer:
            assert rebase(own, base(16, pointer))[1] == 1
        else:
            with pytest.raises(InputError, match="STRUCT inner is another there"):
                rebase(own, base(16, pointer))


@pytest.mark.parametrize(("pointers", "deep"), [(DEPTH, False), (DEPTH + 1, True)])
def test_types_without_a_name_in_a_row(pointers: int, deep: bool) -> None:
    base = made([WORD, *(Ptr(number) for number in range(1, pointers + 1))])
    own = module(base, Ptr(pointers + 1))
    if deep:
        with pytest.raises(InputError, match=f"more than {DEPTH} types without a name in a row"):
            rebase(own, base)
    else:
        assert rebase(own, base)[1] == 1
