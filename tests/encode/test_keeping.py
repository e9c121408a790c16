"""Dropping repeats per unit changes nothing: with all types kept, the bytes are the same.

Dropping repeats relies on claims about the reference's de-duplication. Here it is compared with the same de-duplication
of everything, so no reference is needed: on the compiled fixtures, and on programs made of the same few names with
conflicting definitions (conflicts.py; `tools/compare/keeping.py` tries thousands of them).
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import pybtf
from tests.builders import narrow, near, wild
from tests.builders.conflicts import Expr, Item, Unit, program, used_directly, with_uses
from tests.builders.conflictswriter import image
from tests.builders.dwarfwriter import Die, die
from tests.builders.everything import differences, told
from tests.builders.kernelish import INT, kernel, unit
from tests.builders.synthetic import named

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "fixtures" / "bin").glob("*.elf"))
BLOCK = 100


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_compiled(path: Path) -> None:
    assert differences(path) == []


@pytest.mark.parametrize("block", range(20))
def test_conflicting_names(block: int, tmp_path: Path) -> None:
    path = tmp_path / "program"
    wrong = {}
    for seed in range(BLOCK * block, BLOCK * (block + 1)):
        path.write_bytes(image(program(seed)))
        found = differences(path, (1, 4) if seed % 10 == 0 else (1,))
        if found:
            wrong[seed] = found
    assert wrong == {}


@pytest.mark.parametrize("block", range(5))
def test_very_few_names(block: int, tmp_path: Path) -> None:
    path = tmp_path / "program"
    wrong = {}
    for seed in range(BLOCK * block, BLOCK * (block + 1)):
        path.write_bytes(image(narrow.program(seed)))
        found = differences(path)
        if found:
            wrong[seed] = found
    assert wrong == {}


@pytest.mark.parametrize("block", range(10))
def test_neighbours_of_programs_that_showed_a_rule(block: int, tmp_path: Path) -> None:
    path = tmp_path / "program"
    wrong = {}
    for seed in range(BLOCK * block, BLOCK * (block + 1)):
        path.write_bytes(image(near.program(seed)))
        found = differences(path)
        if found:
            wrong[seed] = found
    assert wrong == {}


@pytest.mark.parametrize("block", range(5))
def test_neighbours_of_programs_with_wild_types(block: int, tmp_path: Path) -> None:
    path = tmp_path / "program"
    wrong = {}
    for seed in range(BLOCK * block, BLOCK * (block + 1)):
        path.write_bytes(image(wild.program(seed)))
        found = differences(path)
        if found:
            wrong[seed] = found
    assert wrong == {}


@pytest.mark.parametrize("name", near.MEETING)
def test_what_an_undecided_type_meets(name: str, tmp_path: Path) -> None:
    path = tmp_path / "program"
    units: list[Unit] = getattr(near, name)()
    path.write_bytes(image(units))
    assert differences(path, (1, 4)) == []
    assert 2 <= pybtf.encode(path).report.repeats.units_whole <= len(units)


def test_names_that_are_resolved_anyway_are_not_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(image(near.resolved_anyway()))
    assert differences(path) == []
    assert pybtf.encode(path).report.repeats.units_whole == 3


@pytest.mark.parametrize("name", ["defined_besides", "met_by_way_of_two"])
def test_neighbours_of_others_that_meet(name: str, tmp_path: Path) -> None:
    path = tmp_path / "program"
    for seed in range(200):
        path.write_bytes(image(near.neighbour(getattr(near, name)(), random.Random(seed))))
        assert (seed, differences(path)) == (seed, [])


def test_units_with_captured_types_are_not_kept_whole(tmp_path: Path) -> None:
    """However many units declare the type that distinguishes their `t` from the odd one, no more of them are kept."""
    path = tmp_path / "program"
    whole = []
    for n in (1, 20):
        path.write_bytes(image(near.captured(n)))
        assert differences(path, (1, 4)) == []
        whole.append(pybtf.encode(path).report.repeats.units_whole)
    assert whole == [3, 3]


#: Further programs: those that showed what a rule is for, and the next ones, which need one more rule.
SHOWN = (2010, 2115, 2127, 2163, 2246, 3006, 3414, 3794, 3943, 3966, 4011, 5935, 6108, 8704, 11190, 16506, 18042, 44969)
SHOWN_BY_USES = (2544, 7449)
SHOWN_NEAR = (8153197,)
SHOWN_BY_SLOTS = (8433760, 8438746)  # classes that mention several names, in more than two ways


@pytest.mark.parametrize("seed", SHOWN)
@pytest.mark.parametrize("kind", ["use", "variable", "function"])
def test_programs_that_showed_a_rule(seed: int, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "program"
    units = program(seed)
    path.write_bytes(image(units if kind == "use" else used_directly(units, kind)))
    assert differences(path, (1, 4)) == []


@pytest.mark.parametrize("seed", SHOWN_BY_USES)
def test_uses_that_showed_a_rule(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(image(with_uses(program(seed), seed)))
    assert differences(path, (1, 4)) == []


@pytest.mark.parametrize("seed", SHOWN_BY_SLOTS)
def test_slots_that_showed_a_rule(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(image(program(seed)))
    assert differences(path, (1, 4)) == []


@pytest.mark.parametrize("seed", SHOWN_NEAR)
def test_neighbours_that_showed_a_rule(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(image(near.program(seed)))
    assert differences(path, (1, 4)) == []


@pytest.mark.parametrize("block", range(5))
def test_what_uses_conflicting_names(block: int, tmp_path: Path) -> None:
    """Types that variables and functions refer to must not be mistaken for others."""
    path = tmp_path / "program"
    wrong = {}
    for seed in range(BLOCK * block, BLOCK * (block + 1)):
        path.write_bytes(image(with_uses(program(seed), seed)))
        found = differences(path)
        if found:
            wrong[seed] = found
    assert wrong == {}


def depth(expr: Any) -> int:
    """How deep structs, unions and prototypes without names nest."""
    inner = max(map(depth, expr), default=0) if isinstance(expr, tuple) else 0
    return inner + (isinstance(expr, tuple) and expr[:1] in (("struct",), ("union",), ("proto",)))


def test_the_programs_are_made_of_what_conflicts() -> None:
    """Each construct is in more than a few of the programs. Otherwise their agreement would mean little."""
    constructs = ("fresh", "rec", "array", "union", "proto", "declare", "volatile", "restrict", "typedef")
    wanted = [f"'{name}'" for name in constructs] + ["'enum', 8", "'enum', 4, ()", ", 3)"]
    programs = [program(seed) for seed in range(400)]
    texts = [repr(units) for units in programs]
    found = {what: sum(what in text for text in texts) for what in wanted}
    found["nested"] = sum(any(depth(item) > 16 for unit in units for item in unit) for units in programs)
    assert min(found.values()) > 10, found


def structs(at: str, **contents: str | None) -> Any:
    """A unit of structs that point to each other: NAME="x y" has these members, NAME=None is a declaration."""
    children: list[Die | bytes] = [INT._replace(label=f"{at}int")]
    for name, targets in contents.items():
        children.append(
            die("pointer_type", ("byte_size", "data1", 8), ("type", "ref4", at + name), label=f"{at}*{name}")
        )
        if targets is None:
            children.append(named("structure_type", name, ("declaration", "flag", 1), label=at + name))
            continue
        members = [
            named("member", other, ("type", "ref4", at + other), ("data_member_location", "data1", 8 * n))
            for n, other in enumerate(targets.split())
        ]
        children.append(named("structure_type", name, ("byte_size", "data1", 32), children=members, label=at + name))
    return unit(children)


def test_the_same_members_at_other_places(tmp_path: Path) -> None:
    """The second `x` is in the same place as the first one, and almost the same."""
    path = tmp_path / "program"
    units = []
    for at, places in ("1", (0, 4)), ("2", (4, 0)):
        members = [
            named("member", name, ("type", "ref4", f"{at}int"), ("data_member_location", "data1", place))
            for name, place in zip("ab", places, strict=True)
        ]
        x = named("structure_type", "x", ("byte_size", "data1", 8), children=members)
        units.append(unit([INT._replace(label=f"{at}int"), x]))
    path.write_bytes(kernel(units).data)
    found = pybtf.BTF.from_bytes(pybtf.encode(path).data)
    assert [t.name for t in found if t.kind.name == "STRUCT"] == ["x", "x"]


def test_a_declaration_is_resolved_by_what_is_certain(tmp_path: Path) -> None:
    """`x` is private in the last unit, `y` is not; `c` mentions both: only `e` can resolve the declaration of `x`."""
    path = tmp_path / "program"
    units = [
        structs("0 ", x=None, y="", c="*x *y", e="*x"),
        structs("1 ", x="", y="int", c="*x *y"),
        structs("2 ", x="", e="*x"),
        structs("3 ", x="int int"),
    ]
    path.write_bytes(kernel(units).data)
    assert differences(path) == []


def test_a_declaration_that_nothing_resolves(tmp_path: Path) -> None:
    """Pointers to the declaration and to the definition of `x` are two types: no comparison reaches both."""
    path = tmp_path / "program"
    units = [structs("0 ", x="int"), structs("1 ", x=None), structs("2 ", x="")]
    path.write_bytes(kernel(units).data)
    assert differences(path) == []


def test_the_unit_with_the_declaration_is_kept(tmp_path: Path) -> None:
    """The first pointer to `x` is to the definition. If that of the first `c` were dropped, it could not meet another.
    """
    path = tmp_path / "program"
    units = [structs("0 ", x=""), structs("1 ", x=None, c="*x"), structs("2 ", x="", c="*x"), structs("3 ", x="int")]
    path.write_bytes(kernel(units).data)
    assert differences(path) == []


def test_a_witness_that_is_uncertain_itself(tmp_path: Path) -> None:
    """`x` is private in one unit. Only `c` could bring both of its meanings together, but `y` itself is contested."""
    path = tmp_path / "program"
    units = [
        structs("0 ", x=None, y="", c="*x *y"),
        structs("1 ", x=""),
        structs("2 ", x="", y="int", c="*x *y"),
        structs("3 ", x="int int"),
    ]
    path.write_bytes(kernel(units).data)
    assert differences(path) == []


C2: Any = ("struct", 16, (("m0", ("name", "struct", "c", 0), 0, 0), ("m1", ("name", "struct", "c", 0), 8, 0)))


def test_a_decided_type_goes_with_one_that_is_not(tmp_path: Path) -> None:
    """The last nameless struct defines `c`, but is reached by the array of the unit before, which declares it."""
    path = tmp_path / "program"
    usual = ("struct", "c", *C2[1:])
    odd = ("struct", "c", 16, ())
    units: list[Unit] = [
        [usual, ("typedef", "t", C2)],
        [("typedef", "t", ("fresh", C2))],
        [odd, ("typedef", "t", C2)],
        [("typedef", "t", ("fresh", ("array", ("fresh", C2), 2)))],
        [("typedef", "t", ("array", C2, 2)), usual],
    ]
    path.write_bytes(image(units))
    assert differences(path) == []


def test_a_first_type_is_told_from_odd_ones_by_its_own_names(tmp_path: Path) -> None:
    """`t` of the last unit has `c` defined; what represents the struct that it refers to has it declared."""
    path = tmp_path / "program"
    inner = ("struct", 8, (("n", ("name", "struct", "c", 0), 0, 0),))
    outer = ("struct", 16, (("m0", inner, 0, 0), ("m1", ("name", "struct", "c", 0), 8, 0)))
    usual = ("struct", "c", 16, (("odd", inner, 0, 0),))
    units: list[Unit] = [
        [("typedef", "t", ("array", outer, 2))],
        [usual],
        [("struct", "c", 8, ()), ("typedef", "t", outer)],
        [usual, ("typedef", "t", outer)],
    ]
    path.write_bytes(image(units))
    assert differences(path) == []


def test_a_declaration_that_an_undecided_definition_resolves(tmp_path: Path) -> None:
    """`c` of the fifth unit has `a` declared: it merges with either `c`, and with it the declaration in `b`."""

    def to(*names: str) -> Any:
        return 16, tuple((f"m{n}", ("ptr", ("name", "struct", name, 0)), 8 * n, 0) for n, name in enumerate(names))

    b: Any = ("struct", "b", *to("c", "c"))
    c: Any = ("struct", "c", *to("a", "c"))
    usual: Any = ("struct", "a", 8, ())
    path = tmp_path / "program"
    path.write_bytes(image([[c], [b], [usual, c], [("struct", "a", 16, ()), c], [b, c], [usual, b, c]]))
    assert differences(path) == []


def struct(name: str, *types: Expr) -> Item:
    return "struct", name, 8 * max(len(types), 1), tuple((f"m{n}", type, 8 * n, 0) for n, type in enumerate(types))


def to(name: str, n: int = 0) -> Expr:
    """A pointer to struct number `n` of the unit."""
    return "ptr", ("name", "struct", name, n)


def to_array(of: Expr, n: int = 2) -> Expr:
    return "ptr", ("array", of, n)


def test_a_type_that_reaches_an_undecided_one_by_its_name(tmp_path: Path) -> None:
    """`c` of the fourth unit merges with either `c`, and that unit has the first `d`, which reaches it by its name."""
    path = tmp_path / "program"
    a, c, d = struct("a", to("a")), struct("c", to("a"), to("b")), struct("d", to("a"), to("c"), to("b"))
    path.write_bytes(image([[c, a], [c], [("struct", "a", 16, ()), c], [c, d], [d, c, a]]))
    assert differences(path) == []


CHAR, LONG = ("base", "char"), ("base", "long")
#: `a` is declared in one unit and defined in another before anything odd comes, and so resolved; then comes another.
RESOLVED: list[Unit] = [[struct("e", to("a"))], [struct("e", to("a")), struct("a")]]
OTHER_A = struct("a", LONG)


def test_an_undecided_type_before_a_decided_one(tmp_path: Path) -> None:
    """The second `c` has `a` declared and merges with the first. The third does not, so it cannot be dropped as a
    repeat of it.
    """
    path = tmp_path / "program"
    c = struct("c", to("a"))
    path.write_bytes(image([*RESOLVED, [c, OTHER_A], [c], [c, struct("a")]]))
    assert differences(path) == []


def test_a_pointer_to_an_undecided_type_stands_for_no_other(tmp_path: Path) -> None:
    """The first pointer to `c` is to an undecided one, which merges with the odd `c`; the other is to the usual one.

    The six structs between them make the table of candidates grow, so that the odd `c` comes first in its chain.
    """
    path = tmp_path / "program"
    c = struct("c", to("a"))
    use = ("use", to("c"))
    between = [struct(f"f{n}") for n in range(6)]
    units = [*RESOLVED, [c, OTHER_A], [c, struct("a")], [*between, c, use], [c, struct("a"), use]]
    path.write_bytes(image(units))
    assert differences(path) == []


def test_the_unit_by_which_a_declaration_is_resolved_is_not_kept_whole(tmp_path: Path) -> None:
    """The last `c` is undecided, and defines the `k` that the others declare. But `d` resolves it in the same unit."""
    path = tmp_path / "program"
    c, d, k = struct("c", to("a"), to("k")), struct("d", to("k")), struct("k")
    units = [*RESOLVED, [c, d, struct("a")], [c, OTHER_A], [c, k, d], [c, k, d], [struct("k", LONG)]]
    path.write_bytes(image(units))
    assert differences(path, (1, 4)) == []
    assert pybtf.encode(path).report.repeats.units_whole == 2


def test_what_may_be_taken_for_an_odd_type_resolves_no_declaration(tmp_path: Path) -> None:
    """`c` with `k` declared is the usual one; that of the fifth unit, which defines `k`, merges with the odd `c`, whose
    `k` is defined as well. So the declaration of `k` is still unresolved when the last unit but one redefines it.
    """
    path = tmp_path / "program"
    c, d, k = struct("c", to("a"), to("k")), struct("d", to("k")), struct("k")
    between = [struct(f"f{n}") for n in range(3)]
    units = [*RESOLVED, [k, OTHER_A, c], [struct("a"), c, d], [*between, k, c], [struct("k", LONG), d], [k, d]]
    path.write_bytes(image(units))
    assert differences(path) == []


def test_definitions_that_differ_in_elements_of_arrays_tell_nothing_apart(tmp_path: Path) -> None:
    """The two `c` become one, because the array of the first unit is met in `n`, where the other has its own."""
    path = tmp_path / "program"
    c, n = struct("c", to("n"), to("a")), struct("n", to_array(CHAR))
    path.write_bytes(image([[n, struct("a", to_array(CHAR)), c], [c, n, struct("a", to_array(LONG))]]))
    assert differences(path) == []


@pytest.mark.parametrize("same", [False, True])
def test_a_pair_of_arrays_among_others(same: bool, tmp_path: Path) -> None:
    """The same, with twenty pairs of structs after it that differ in elements of arrays and are never taken for one.
    `same`: one of the arrays is the array of chars.
    """
    path = tmp_path / "program"
    c, n = struct("c", to("n"), to("a")), struct("n", to_array(CHAR))
    one = [struct(f"p{k}", to_array(CHAR if same else to("x"))) for k in range(20)]
    other = [struct(f"p{k}", to_array(to(f"y{k}"))) for k in range(20)]
    path.write_bytes(image([[n, struct("a", to_array(CHAR)), c], [c, n, struct("a", to_array(LONG))], one, other]))
    assert differences(path) == []


def test_a_definition_is_lost_to_one_of_other_elements(tmp_path: Path) -> None:
    """The second `b` merges with the first, by way of `c`. The third does not, so it cannot be dropped as a repeat."""
    path = tmp_path / "program"
    c, n = struct("c", to("n"), to("b")), struct("n", to_array(CHAR))
    usual, odd = struct("b", to_array(LONG)), struct("b", to_array(CHAR))
    path.write_bytes(image([[odd, n, c], [c, n, usual], [usual]]))
    assert differences(path) == []


def test_a_nameless_struct_is_lost_to_one_of_other_elements(tmp_path: Path) -> None:
    """The same without a name: only the structs around it could show that the two may be compared."""

    def nameless(*types: Expr) -> Expr:
        return "struct", *struct("", *types)[2:]

    path = tmp_path / "program"
    n, usual = struct("n", to_array(CHAR)), nameless(to_array(LONG))
    first, second = nameless(to("n"), nameless(to_array(CHAR))), nameless(to("n"), usual)
    path.write_bytes(image([[("typedef", "t", first), n], [("typedef", "t", second), n], [("use", usual)]]))
    assert differences(path) == []


def test_arrays_that_would_become_one(tmp_path: Path) -> None:
    """The array of the first `b` is not that of the first `a`, but becomes it if it is dropped. Then it is met before
    the last `a`, whose elements differ.
    """
    path = tmp_path / "program"
    x, b = struct("x", to("b"), to("a")), struct("b", to_array(CHAR))
    path.write_bytes(image([[x, struct("a", to_array(CHAR))], [b], [x, b], [x, struct("a", to_array(LONG)), b]]))
    assert differences(path) == []


def test_an_array_is_taken_for_one_that_others_are_taken_for(tmp_path: Path) -> None:
    """Each of `a` and `b` has something that hides the other's difference: an array that is being compared, or an array
    in which the array that differs is hidden by `m`. No unit has both of the arrays in which either differs first.
    """

    def outer(inner: Expr) -> Expr:
        return to_array(("struct", 16, (("m0", to("a"), 0, 0), ("m1", inner, 8, 0))), 4)

    path = tmp_path / "program"
    m = struct("m", to_array(CHAR))
    inner, other = to_array(to_array(CHAR), 3), to_array(to_array(LONG), 3)
    units = [
        [struct("b", to("m"), outer(inner)), struct("a", outer(inner), inner), m],
        [struct("b", to("m"), outer(to_array(LONG, 3))), struct("a", to_array(LONG, 4), other), m],
    ]
    path.write_bytes(image(units))
    assert differences(path) == []


def test_many_pairs_of_arrays_do_not_keep_everything(tmp_path: Path) -> None:
    """45,000 pairs of the 300 `s` differ in elements of arrays. No unit has both arrays of any pair. Searching all
    types for each pair would use up the allowed steps, and the units after them would be kept whole, too.
    """
    path = tmp_path / "program"
    odd = [[struct("s", to_array(to(f"t{n}"))), struct(f"t{n}", to("s"))] for n in range(300)]
    header = [struct(f"h{n}", to(f"h{n // 2}"), CHAR) for n in range(60)]
    path.write_bytes(image([*odd, *[header] * 40]))
    assert pybtf.encode(path).report.repeats.units_whole == 299
    assert differences(path) == []


def test_odd_types_that_define_different_names_otherwise(tmp_path: Path) -> None:
    """The `c` of the last unit has `y` declared, and merges with that of the third, which has `x` declared. It differs
    from that of the second, which has both declared.
    """
    path = tmp_path / "program"
    a, c, x, y = struct("a"), struct("c", to("x"), to("y")), struct("x", to("a")), struct("y", to("a"))
    path.write_bytes(image([[a, x, y, c], [OTHER_A, x, y, c], [y, c, struct("a", to("b"))], [a, x, c]]))
    assert differences(path) == []


def test_a_typedef_tells_odd_types_from_usual_ones(tmp_path: Path) -> None:
    """So `c` is separate, and the last unit, which refers to it, is not kept whole."""
    path = tmp_path / "program"
    a, t = struct("a"), ("typedef", "t", to("a"))
    c = struct("c", ("typedef", "t"))
    path.write_bytes(image([[a, t, c], [OTHER_A, t, c], [a, t, c, ("use", to("c"))]]))
    assert pybtf.encode(path).report.repeats.units_whole == 1
    assert differences(path) == []


@pytest.mark.parametrize("of_odd", [False, True])
def test_a_declaration_that_an_undecided_and_an_odd_type_resolve(of_odd: bool, tmp_path: Path) -> None:
    """Of the last and the first `c`, one has `k` declared, the other has it defined; the usual `c` is like the last."""
    path = tmp_path / "program"
    c, k = struct("c", to("a"), to("k")), struct("k")
    between = [struct(f"f{n}") for n in range(6)]
    odd, usual, last = [c, OTHER_A], [c, struct("a")], [*between, c]
    units = [*RESOLVED, odd, [*usual, k], [*last, k]] if of_odd else [*RESOLVED, [*odd, k], usual, last]
    path.write_bytes(image([*units, [struct("k", LONG)]]))
    assert differences(path) == []


def test_prototypes_that_mention_more_names_than_a_word_has_bits(tmp_path: Path) -> None:
    """Of the first two units, one defines the first of 33 names, and one the last: the prototypes are two types."""
    path = tmp_path / "program"
    names = [f"s{n}" for n in range(33)]
    use = ("use", ("ptr", ("proto", ("void",), tuple(("p", to(name)) for name in names))))
    usual, odd = [struct(name) for name in names], [struct(name, LONG) for name in names]
    path.write_bytes(image([[usual[0], use], [usual[-1], use], odd, usual, usual]))
    assert differences(path) == []
    found = pybtf.BTF.from_bytes(pybtf.encode(path).data)
    assert sum(t.kind.name == "FUNC_PROTO" for t in found) == 2


def test_prototypes_that_mention_two_names_in_three_ways(tmp_path: Path) -> None:
    """The third unit defines neither, so it is like neither of the two before. The last units bring nothing new."""
    path = tmp_path / "program"
    a, b = struct("a"), struct("b")
    use = ("use", ("ptr", ("proto", to("a"), (("p", to("b")),))))
    ways: list[Unit] = [[a, use], [b, use], [use]]
    path.write_bytes(image([*ways, [OTHER_A, struct("b", LONG)], [a, b], [a, b], *ways]))
    assert differences(path) == []
    found = pybtf.BTF.from_bytes(pybtf.encode(path).data)
    assert sum(t.kind.name == "FUNC_PROTO" for t in found) == 3


def test_a_type_is_decided_by_one_that_is_decided_after_it(tmp_path: Path) -> None:
    """`d` of the last unit comes first. It differs from the odd one in its `c`, and that in its `a`."""
    path = tmp_path / "program"
    a, c, d = struct("a"), struct("c", to("a")), struct("d", to("c"))
    path.write_bytes(image([*RESOLVED, [d, c, a], [d, c, OTHER_A], [d, c], [d, c, a, ("use", to("d"))]]))
    assert pybtf.encode(path).report.repeats.units_whole == 1
    assert differences(path) == []


def test_a_typedef_of_an_undecided_type(tmp_path: Path) -> None:
    """`t` is the first of its class. It is of the `c` that the unit's `c` merges with: the odd one, because the six
    structs make the table of candidates grow.
    """
    path = tmp_path / "program"
    a, c, t = struct("a"), struct("c", to("a")), ("typedef", "t", ("name", "struct", "c", 0))
    between = [struct(f"f{n}") for n in range(6)]
    path.write_bytes(image([*RESOLVED, [c, a], [c, OTHER_A], [*between, c, t]]))
    assert differences(path) == []


def test_a_decided_type_goes_with_an_undecided_one_by_way_of_odd_ones(tmp_path: Path) -> None:
    """The `d` of the last unit but one is compared with the odd one before it, and its `c` with an undecided `c`. So
    that `c` merges with the odd one, and does not represent the last.
    """
    path = tmp_path / "program"
    a, c, d = struct("a"), struct("c", to("a")), struct("d", to("c"))
    usual = [struct("d", LONG)]
    path.write_bytes(image([*RESOLVED, usual, usual, usual, [c, OTHER_A], [d, c], [d, c, a], [c, a]]))
    assert differences(path) == []


@pytest.mark.parametrize("places", [(0,), (1,), (3,), (0, 1, 2, 3)])
def test_units_that_are_left_out(places: tuple[int, ...], tmp_path: Path) -> None:
    """Such a unit has nothing in the class list, wherever it is; the names of the other units conflict."""
    path = tmp_path / "program"
    units = [structs("0 ", x="int", c="*x"), structs("1 ", x=None, c="*x"), structs("2 ", x="")]
    for place in reversed(places):
        of_rust = structs(f"{place}r ", x="int int", y="*x")
        others = [each for each in of_rust.root.attributes if each[0] != "language"]
        root = of_rust.root._replace(attributes=(*others, ("language", "data1", 0x1C)))
        units.insert(place, of_rust._replace(root=root))
    path.write_bytes(kernel(units).data)
    with told(without=["reduction"]):
        wanted = pybtf.encode(path, lang_exclude="rust").data
    for jobs in (1, 3):
        made = pybtf.encode(path, lang_exclude="rust", jobs=jobs)
        assert made.data == wanted
        assert made.report.repeats.conflicts == 1
