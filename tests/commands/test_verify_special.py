"""`pybtf verify`: fields that kernels know by the name of their type, by version, as btf_parse_fields treats them."""

from __future__ import annotations

import errno

import pytest

from pybtf.verify.judge import USER, judge
from pybtf.verify.rules import RULES
from tools.golden.minimal_btf import ARRAY, CONST, DECL_TAG, INT, PTR, RESTRICT, TYPE_TAG, TYPEDEF, VOLATILE, Maker

E2BIG, EEXIST, EFAULT, EINVAL, ELOOP = errno.E2BIG, errno.EEXIST, errno.EFAULT, errno.EINVAL, errno.ELOOP


def answers(made: Maker, *versions: int) -> list[int]:
    return [judge(made.make(), USER, version, pointer=8).errno for version in versions]


def known(*names: str) -> Maker:
    """Type 2 is an INT of 64 bits, then these structs."""
    made = Maker().add(INT, "u64", 8, 64)
    for name in names:
        words = {"bpf_list_head": 2, "bpf_list_node": 3, "bpf_rb_root": 2, "bpf_rb_node": 4}.get(name)
        if words is None:
            made.struct(name, 4, ("val", 1, 0))
        else:
            made.struct(name, 8 * words, *((f"w{n}", 2, 64 * n) for n in range(words)))
    return made


def test_counters_are_known_since_6_4() -> None:
    askew = known("bpf_refcount").struct("s", 8, ("count", 3, 16))
    assert answers(askew, 603, 604) == [0, EFAULT]


def test_the_other_lock_is_known_since_6_15() -> None:
    both = known("bpf_spin_lock", "bpf_res_spin_lock").struct("s", 8, ("a", 3, 0), ("b", 4, 32))
    assert answers(both, 611, 615) == [0, EINVAL]


def pointers(tag: str, count: int = 1, *, volatile: bool = False) -> Maker:
    """A struct with a counter and an array of tagged pointers to a struct."""
    made = known("bpf_refcount").struct("object", 4, ("x", 1, 0)).add(TYPE_TAG, tag, 4).add(PTR, 0, 5)
    made.add(VOLATILE, 0, 6).add(ARRAY, 0, 0, 7 if volatile else 6, 1, count)
    return made.struct("s", 8 + 8 * count, ("count", 3, 0), ("p", 8, 64))


@pytest.mark.parametrize("volatile", [False, True])
def test_fields_are_eleven_at_most(volatile: bool) -> None:
    assert answers(pointers("kptr", 10, volatile=volatile), 612) == [0]
    assert answers(pointers("kptr", 11, volatile=volatile), 611, 612) == [0, E2BIG]


def test_tags_of_pointers() -> None:
    assert answers(pointers("uptr"), 612, 613) == [EINVAL, 0]
    assert answers(pointers("kptr_untrusted"), 612) == answers(pointers("percpu_kptr"), 612) == [0]
    assert answers(pointers("user"), 611, 612) == [0, EINVAL]


def test_pointers_count_by_themselves() -> None:
    """Even if the kernel recognises nothing else by its name."""
    made = Maker().struct("object", 4, ("x", 1, 0)).add(TYPE_TAG, "kptr", 2).add(PTR, 0, 3)
    made.struct("s", 96, *((f"p{n}", 4, 64 * n) for n in range(12)))
    assert answers(made, 611, 612) == [0, E2BIG]


def test_what_pointers_lead_to() -> None:
    """A struct, through any typedefs and qualifiers."""
    qualified = known("bpf_refcount").struct("object", 4, ("x", 1, 0)).add(TYPEDEF, "t", 4).add(CONST, 0, 5)
    qualified.add(VOLATILE, 0, 6).add(RESTRICT, 0, 7).add(TYPE_TAG, "kptr", 8).add(PTR, 0, 9)
    assert answers(qualified.struct("s", 16, ("count", 3, 0), ("p", 10, 64)), 612) == [0]
    number = known("bpf_refcount").add(TYPE_TAG, "kptr", 1).add(PTR, 0, 4)
    assert answers(number.struct("s", 16, ("count", 3, 0), ("p", 5, 64)), 611, 612) == [0, EINVAL]


def test_a_pointer_takes_eight_bytes() -> None:
    def made(at: int) -> Maker:
        types = known("bpf_refcount").struct("object", 4, ("x", 1, 0)).add(TYPE_TAG, "kptr", 4).add(PTR, 0, 5)
        return types.struct("s", 16, ("p", 6, 0), ("count", 3, 8 * at))

    assert [answers(made(at), 612) for at in (4, 8)] == [[EEXIST], [0]]


@pytest.mark.parametrize(("depth", "answer"), [(31, 0), (32, E2BIG)])
def test_how_deep_structs_are_looked_into(depth: int, answer: int) -> None:
    """Since 6.11."""
    made = known("bpf_refcount").struct("x", 4, ("a", 1, 0))
    for n in range(depth - 1):
        made.struct("x", 4, ("a", 4 + n, 0))
    assert answers(made.struct("s", 8, ("count", 3, 0), ("deep", 3 + depth, 32)), 610, 611) == [0, answer]


def test_bit_fields_beside_a_field() -> None:
    """Since 6.11, all members of such a struct begin with a byte. The record of a bit-field has its size, too."""
    for at in (32, 35):
        made = known("bpf_spin_lock").struct("s", 8, ("lock", 3, 0), ("bits", 1, 3 << 24 | at), flag=1)
        assert answers(made, 610, 611) == [0, EINVAL if at % 8 else 0]


def test_they_are_looked_at_if_nothing_else_is_wrong() -> None:
    """References must be right before a lock is looked for."""
    made = known("bpf_spin_lock").struct("s", 8, ("a", 3, 0), ("b", 3, 32))
    assert answers(made, 602) == [E2BIG]
    judged = judge(made.add(PTR, 0, 99).make(), USER, 602)
    assert [RULES[finding[0]].key for finding in judged.found] == ["REF_MISSING"]


def test_fields_next_to_each_other() -> None:
    made = known("bpf_spin_lock", "bpf_refcount")
    assert answers(made.struct("s", 8, ("lock", 3, 0), ("count", 4, 32)), 604) == [0]


def test_a_struct_in_two_containers_has_a_counter() -> None:
    """Otherwise it would be freed through one while it is in the other."""
    for counted, answer in ((True, 0), (False, EINVAL)):
        made = known("bpf_list_node", "bpf_rb_node", "bpf_refcount")
        members = [("l", 3, 0), ("r", 4, 192), ("count", 5, 448)]
        assert answers(made.struct("s", 64, *members[: 2 + counted]), 604) == [answer]


def test_only_pointers_and_roots_may_be_in_arrays() -> None:
    made = known("bpf_refcount", "bpf_spin_lock").add(ARRAY, 0, 0, 3, 1, 2)
    assert answers(made.struct("s", 12, ("lock", 4, 0), ("counts", 5, 32)), 610, 611) == [0, EINVAL]


def listed(node_at: int = 0) -> Maker:
    """A list of a struct that comes after the struct with the list."""
    made = known("bpf_list_head", "bpf_list_node", "bpf_spin_lock")
    made.struct("s", 24, ("head", 3, 0), ("lock", 5, 128)).add(DECL_TAG, "contains:item:node", 6, 0)
    return made.struct("item", 40, ("node", 4, 8 * node_at))


def test_a_node_lies_at_a_word() -> None:
    assert [answers(listed(at), 602) for at in (0, 8, 4)] == [[0], [0], [EINVAL]]


@pytest.mark.parametrize(("node", "answer"), [("bpf_rb_node", 0), ("bpf_list_node", EINVAL)])
def test_a_tree_has_nodes_of_its_own(node: str, answer: int) -> None:
    made = known("bpf_rb_root", node, "bpf_spin_lock")
    made.struct("s", 24, ("root", 3, 0), ("lock", 5, 128)).add(DECL_TAG, "contains:item:node", 6, 0)
    assert answers(made.struct("item", 32, ("node", 4, 0)), 602) == [answer]


@pytest.mark.parametrize(("held", "answer"), [(False, 0), (True, ELOOP)])
def test_what_is_held_may_hold_others_once(held: bool, answer: int) -> None:
    """A list of structs with lists is allowed, unless it is itself in a struct that another list holds."""
    made = known("bpf_list_head", "bpf_list_node", "bpf_spin_lock")
    node = (("node", 4, 192),) if held else ()
    made.struct("s", 48, ("head", 3, 0), ("lock", 5, 128), *node).add(DECL_TAG, "contains:item:node", 6, 0)
    made.struct("item", 48, ("node", 4, 0), ("head", 3, 192), ("lock", 5, 320))
    made.add(DECL_TAG, "contains:leaf:node", 8, 1).struct("leaf", 24, ("node", 4, 0))
    assert answers(made, 602) == [answer]
