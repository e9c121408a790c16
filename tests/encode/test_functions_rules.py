"""Combining what units observed about functions, compared with what the reference was seen to do.

Both tables hold results of pahole 1.32 on assembled and linked x86-64 DWARF in which one unit has several DIEs of one
function `f`.
"""

from __future__ import annotations

import pytest

from tests.probe.rules_probe import ProbeClasses, probe_combine

# ---------------------------------------------------------------- prototypes

INT_KIND, PTR, ARRAY, STRUCT, TYPEDEF, VOLATILE, CONST, RESTRICT = 1, 2, 3, 4, 8, 9, 10, 11
PROTO, FLOAT_KIND, TYPE_TAG, KEY_STRUCT, KEY_UNION, KEY_ENUM, KEY_ENUM64 = 13, 16, 18, 32, 33, 35, 36
ENUM_KIND, UNION_KIND, FWD, DECL_TAG = 6, 5, 7, 17

Spec = tuple[object, ...]


class Classes:
    """Class records made from nested descriptions, each description once."""

    def __init__(self) -> None:
        self.records: list[tuple[int, ...]] = []
        self.ids: dict[tuple[object, ...], int] = {}
        self.names = {"": 0}

    def add(self, spec: Spec) -> int:
        """The class of a description: (kind, name, size or a description, words and descriptions...); () is void."""
        if not spec:
            return 0
        kind, name, third, *rest = spec
        words = [self.reference(word) for word in rest]
        if kind == PROTO:
            words = [word for parameter in words for word in (0, parameter)]
        number = self.names.setdefault(str(name), len(self.names))
        record = (int(str(kind)), number, self.reference(third), len(rest), *words)
        if record not in self.ids:
            self.records.append(record)
            self.ids[record] = len(self.records)
        return self.ids[record]

    def reference(self, word: object) -> int:
        return self.add(word) if isinstance(word, tuple) else int(str(word))


def const(of: Spec) -> Spec:
    return (CONST, "", of)


def volatile(of: Spec) -> Spec:
    return (VOLATILE, "", of)


def restrict(of: Spec) -> Spec:
    return (RESTRICT, "", of)


def pointer(of: Spec) -> Spec:
    return (PTR, "", of)


def typedef(name: str, of: Spec) -> Spec:
    return (TYPEDEF, name, of)


def array(count: int, of: Spec) -> Spec:
    return (ARRAY, "", of, count)


def proto(result: Spec, *parameters: Spec) -> Spec:
    return (PROTO, "", result, *parameters)


VOID: Spec = ()
INT, UINT = (INT_KIND, "int", 4, 1 << 24 | 32), (INT_KIND, "unsigned int", 4, 32)
UINT_NAMED_INT, LONG_NAMED_INT = (INT_KIND, "int", 4, 32), (INT_KIND, "int", 8, 1 << 24 | 64)
FLOAT, FLOAT8, INT_NAMED_FLOAT = (
    (FLOAT_KIND, "float", 4),
    (FLOAT_KIND, "float", 8),
    (INT_KIND, "float", 4, 1 << 24 | 32),
)
# Keys name structs, declared or defined, and enumerations.
S = S_DECLARED = S8 = (KEY_STRUCT, "s", 0)
T = (KEY_STRUCT, "t", 0)
UNION_S = UNION_S_DECLARED = (KEY_UNION, "s", 0)
ANONYMOUS, ANONYMOUS8 = (STRUCT, "", 4), (STRUCT, "", 8)
ENUM = ENUM_SMALL = (KEY_ENUM, "e", 0)
ENUM64, ENUM_G, ENUM_ANONYMOUS = (KEY_ENUM64, "e", 0), (KEY_ENUM, "g", 0), (ENUM_KIND, "", 4)

# Observed: the function is kept if two DIEs of it have a parameter of these types.
MATCHES: list[tuple[Spec, Spec, bool]] = [
    (INT, INT, True),
    (INT, UINT, False),
    (INT, UINT_NAMED_INT, False),
    (INT, LONG_NAMED_INT, False),
    (FLOAT, FLOAT, True),
    (FLOAT, FLOAT8, False),
    (FLOAT, INT_NAMED_FLOAT, False),
    (S, S_DECLARED, True),
    (S, S8, True),
    (S, T, False),
    (S, UNION_S, False),
    (S_DECLARED, UNION_S, False),
    (S_DECLARED, UNION_S_DECLARED, False),
    (S, UNION_S_DECLARED, False),
    (UNION_S, UNION_S_DECLARED, True),
    (ANONYMOUS, ANONYMOUS8, True),
    (ANONYMOUS, S, False),
    (ENUM, ENUM64, False),
    (ENUM, ENUM_SMALL, True),
    (ENUM, ENUM_G, False),
    (ENUM_ANONYMOUS, ENUM, False),
    (const(INT), INT, True),
    (INT, const(INT), True),
    (const(INT), const(UINT), False),
    (volatile(INT), INT, False),
    (volatile(INT), volatile(INT), True),
    (const(volatile(INT)), volatile(INT), True),
    (volatile(const(INT)), volatile(INT), True),
    (pointer(VOID), pointer(VOID), True),
    (pointer(VOID), pointer(const(VOID)), False),
    (pointer(const(VOID)), pointer(VOID), False),
    (pointer(const(VOID)), pointer(const(VOID)), True),
    (pointer(INT), pointer(VOID), False),
    (pointer(INT), pointer(const(INT)), True),
    (pointer(volatile(INT)), pointer(INT), False),
    (restrict(pointer(INT)), pointer(INT), False),
    (const(const(INT)), INT, True),
    (typedef("a", INT), typedef("a", UINT), True),
    (typedef("a", INT), typedef("b", INT), False),
    (typedef("a", INT), INT, False),
    (const(typedef("a", INT)), typedef("a", UINT), True),
    (pointer(array(2, INT)), pointer(array(2, INT)), True),
    (pointer(array(2, INT)), pointer(array(3, INT)), False),
    (pointer(array(2, INT)), pointer(array(2, UINT)), False),
    (pointer(array(2, INT)), pointer(array(2, const(INT))), True),
    (pointer(proto(INT, INT)), pointer(proto(INT, INT)), True),
    (pointer(proto(INT, INT)), pointer(proto(INT, UINT)), False),
    (pointer(proto(INT, INT)), pointer(proto(INT, const(INT))), True),
    (pointer(proto(INT, INT)), pointer(proto(VOID, INT)), False),
    (pointer(proto(INT, INT)), pointer(proto(INT, INT, INT)), False),
    (pointer(proto(INT, INT)), pointer(proto(INT, INT, VOID)), False),
    (pointer(proto(INT, INT, VOID)), pointer(proto(INT, INT, VOID)), True),
    (VOID, VOID, True),
    (VOID, INT, False),
    (const(VOID), VOID, False),
]


@pytest.mark.parametrize(("a", "b", "observed"), MATCHES)
def test_types_match(a: Spec, b: Spec, observed: bool) -> None:
    classes = Classes()
    first, second = classes.add(a), classes.add(b)
    one, other = classes.add(proto(VOID, INT, a)), classes.add(proto(VOID, INT, b))
    table = ProbeClasses(classes.records)
    assert table.match(first, second) is observed
    assert table.match(one, other) is observed
    states = [(0, 0x10, one, 0), (0, 0x10, other, 0)]
    emitted, _ = probe_combine([("f", [("f", 0x10)])], states, table)
    assert bool(emitted) is observed


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # Rules that the table does not show: tags of pointees, and records that no key names.
        (pointer((TYPE_TAG, "user", INT)), pointer((TYPE_TAG, "rcu", INT)), True),
        (pointer((TYPE_TAG, "user", INT)), pointer(INT), False),
        ((FWD, "s", 0), S, True),
        ((FWD | 1 << 31, "s", 0), S, False),
        ((FWD | 1 << 31, "s", 0), (UNION_KIND, "s", 8), True),
        ((STRUCT | 1 << 31, "s", 8), (STRUCT, "s", 4), True),
        ((DECL_TAG, "x", INT, 0), (DECL_TAG, "x", INT, 1), False),
    ],
)
def test_types_match_by_the_rules(a: Spec, b: Spec, expected: bool) -> None:
    classes = Classes()
    first, second = classes.add(a), classes.add(b)
    assert ProbeClasses(classes.records).match(first, second) is expected


def test_types_nested_without_end() -> None:
    depth = 100_000
    records: list[tuple[int, ...]] = [(INT_KIND, 1, 4, 1, 32), (INT_KIND, 2, 4, 1, 32)]
    records += [(PTR, 0, number + 1, 0) for number in range(2 * depth)]
    assert ProbeClasses(records).match(2 * depth + 1, 2 * depth + 2) is False
    records[:2] = [(TYPEDEF, 9, 2, 0), (TYPEDEF, 9, 0, 0)]
    assert ProbeClasses(records).match(2 * depth + 1, 2 * depth + 2) is True


def test_prototypes_that_fan_out() -> None:
    # Each level refers to the level below it twice, on either side: 2 ** 200 pairs if none were remembered.
    records: list[tuple[int, ...]] = [(TYPEDEF, 9, 0, 0), (TYPEDEF, 9, 1, 0)]
    for level in range(200):
        below = 2 * level + 1
        records += [(PROTO, 0, 0, 3, 0, below + side, 0, below + side, 0, 0) for side in (0, 1)]
    assert ProbeClasses(records).match(len(records) - 1, len(records)) is True


# ---------------------------------------------------------------- states

UNEXPECTED, INCONSISTENT, UNCERTAIN, REORDERED, OPTIMIZED, SIGNATURE_CHANGED = 1, 2, 4, 8, 16, 32
KINDS = {".": 0, "o": OPTIMIZED, "u": UNEXPECTED}
EMITTED, BY_UNEXPECTED, BY_INCONSISTENT, BY_UNCERTAIN, BY_REORDERED, BY_OPTIMIZED, BY_AMBIGUOUS = range(1, 8)

# Symbols of `f` (`a@b`: a at the address of b); states: at which symbol (x: elsewhere, -: no address), what is wrong
# with the only parameter (o: no location, u: another register), and whether it is long or int. Observed, as name and
# number of the state: with the features `default`; without consistent_func; with true_signature.
STATES: list[tuple[str, str, str | None, str | None, str | None]] = [
    ("f", "f . l", "f 0", "f 0", "f 0"),
    ("f", "f o l", "f 0", "f 0", "f 0"),
    ("f", "f u l", None, None, None),
    ("f.isra.0", "f.isra.0 . l", "f 0", "f 0", "f.isra.0 0"),
    ("f.isra.0", "f.isra.0 o l", None, None, "f.isra.0 0"),
    ("f.llvm.1", "f.llvm.1 o l", "f 0", "f 0", "f.llvm.1 0"),
    ("f", "f . l; f . i", None, "f 0", None),
    ("f", "f . l; - . i", None, "f 0", "f 0"),
    ("f", "- . i; f . l", None, "f 1", "f 1"),
    ("f", "- . l; - . l", "f 0", "f 0", "f 0"),
    ("f", "- o l; f . l", "f 1", "f 1", "f 1"),
    ("f", "x . l; f . l", "f 1", "f 1", "f 1"),
    ("f", "x . l; x o l", "f 0", "f 0", "f 0"),
    ("f", "x o l; f o l; f . l", "f 1", "f 1", "f 1"),
    ("f", "f . l; x u l", None, None, None),
    ("f", "f u l; f . i", None, None, None),
    ("f.isra.0", "f.isra.0 o l; f.isra.0 . l", "f 1", "f 1", "f.isra.0 0"),
    ("f.isra.0", "f.isra.0 o l; - . l", None, None, "f.isra.0 0"),
    ("f.isra.0", "f.isra.0 o l; x . l", None, None, "f.isra.0 0"),
    ("f.isra.0", "x o l; f.isra.0 o l", None, None, "f.isra.0 1"),
    ("f f.isra.0@f", "f o l", None, None, "f.isra.0 0"),
    ("f f.isra.0@f", "f o l; f . l", "f 1", "f 1", "f.isra.0 0"),
    ("f f.isra.0", "f . l; f.isra.0 o l", None, None, "f.isra.0 1"),
    ("f f.isra.0", "f . l; f.isra.0 u l", None, None, None),
    ("f f.isra.0", "f u l; f.isra.0 . l", None, None, None),
    ("f f.isra.0", "f.isra.0 . l; f u l", None, None, None),
    ("f f.isra.0", "f.isra.0 . i; f . l", None, None, "f.isra.0 0"),
    ("f f.isra.0", "- . l; f.isra.0 o l", None, None, "f.isra.0 1"),
    ("f.isra.0 f.constprop.0", "f.constprop.0 o l; f.isra.0 . l", None, None, "f.constprop.0 0"),
    ("f.constprop.0@f f", "f o l", None, None, "f.constprop.0 0"),
    ("f.llvm.1@f f f.isra.0@f", "f . l", "f 0", "f 0", "f.llvm.1 0"),
]


def places(symbols: str) -> dict[str, int]:
    """Addresses of symbols, and of `x`."""
    found = {"x": 0x1000, "-": 0}
    plain = [symbol for symbol in symbols.split() if "@" not in symbol]
    found |= {symbol: 0x1010 + 16 * number for number, symbol in enumerate(plain)}
    found |= {alias: found[target] for alias, _, target in (s.partition("@") for s in symbols.split()) if target}
    return found


@pytest.mark.parametrize(("symbols", "states", "default", "anyhow", "true"), STATES)
def test_states(symbols: str, states: str, default: str | None, anyhow: str | None, true: str | None) -> None:
    at = places(symbols)
    names = [symbol.partition("@")[0] for symbol in symbols.split()]
    entry = ("f", [(name, at[name]) for name in names], {"ambiguous": len({at[name] for name in names}) > 1})
    classes = Classes()
    protos = {"l": classes.add(proto(VOID, LONG_NAMED_INT)), "i": classes.add(proto(VOID, INT))}
    rows = [state.split() for state in states.split("; ")]
    observed = [(0, at[place], protos[kind], KINDS[matter]) for place, matter, kind in rows]
    table = ProbeClasses(classes.records)
    options = {"default": {}, "anyhow": {"consistent": False}, "true": {"true_signature": True}}
    found = {}
    for option, keywords in options.items():
        emitted, fates = probe_combine([entry], observed, table, **keywords)
        found[option] = f"{emitted[0][0]} {emitted[0][1]}" if emitted else None
        assert (fates == [EMITTED]) == bool(emitted)
    assert found == {"default": default, "anyhow": anyhow, "true": true}


def combine(states: list[tuple[int, int, int, int]]) -> tuple[list[tuple[str, int, bool, bool, int]], list[int]]:
    """States over three entries: `a` and `c` with one symbol each, `b` with only a clone."""
    a, b, c = ("a", [("a", 0x10)]), ("b", [("b.isra.0", 0x20)]), ("c", [("c", 0x30)], {"kfunc": 0x5000})
    classes = Classes()
    classes.add(proto(VOID, INT))
    return probe_combine([a, b, c], states, ProbeClasses(classes.records))


def test_order_is_that_of_names_and_fates_say_why() -> None:
    states = [(2, 0x30, 2, 0), (1, 0x20, 2, OPTIMIZED), (0, 0, 2, 0), (2, 0, 2, 0)]
    emitted, fates = combine(states)
    assert [(row[0], row[1]) for row in emitted] == [("a", 2), ("c", 0)]
    assert fates == [EMITTED, BY_OPTIMIZED, EMITTED]
    assert combine([])[1] == [0, 0, 0]


@pytest.mark.parametrize(
    ("flags", "fate"),
    [
        (UNEXPECTED | REORDERED, BY_UNEXPECTED),
        (UNCERTAIN | REORDERED, BY_UNCERTAIN),
        (REORDERED | OPTIMIZED, BY_REORDERED),
        (OPTIMIZED | SIGNATURE_CHANGED, BY_OPTIMIZED),
        (OPTIMIZED, EMITTED),
    ],
)
def test_fates(flags: int, fate: int) -> None:
    assert combine([(0, 0x10, 2, flags)])[1][0] == fate
    # What any state says counts for the run, except "optimized".
    shared = combine([(0, 0x10, 2, 0), (0, 0, 2, flags)])[1][0]
    assert shared == (EMITTED if fate == BY_OPTIMIZED else fate)


def test_ambiguous_entries() -> None:
    entries = [("f", [("f", 0x10), ("f", 0x20)], {"ambiguous": True})]
    emitted, fates = probe_combine(entries, [(0, 0x10, 0, 0)], ProbeClasses([]))
    assert (emitted, fates) == ([], [BY_AMBIGUOUS])
    emitted, fates = probe_combine(entries, [(0, 0x10, 0, 0)], ProbeClasses([]), true_signature=True)
    assert (emitted, fates) == ([], [BY_AMBIGUOUS])


def test_kfuncs() -> None:
    emitted, _ = combine([(0, 0x10, 2, 0), (2, 0x30, 2, 0)])
    assert [(row[0], row[3], row[4]) for row in emitted] == [("a", False, 0), ("c", True, 0x5000)]


def test_a_clone_under_its_full_name_gets_no_kfunc_tags() -> None:
    # Observed with true_signature and decl_tag_kfuncs: no bpf_kfunc tag on FUNC aa.llvm.3.
    entries = [("aa", [("aa.llvm.3", 0x10), ("aa", 0x20)], {"ambiguous": True, "kfunc": 1 << 12})]
    emitted, _ = probe_combine(entries, [(0, 0x10, 0, 0)], ProbeClasses([]), true_signature=True)
    assert [row[:4] for row in emitted] == [("aa.llvm.3", 0, True, False)]


def test_no_full_name_without_an_address() -> None:
    # Observed in a relocatable file: symbol aa.constprop.0 at 0, abstract instance without address.
    entries = [("aa", [("aa.constprop.0", 0)])]
    emitted, _ = probe_combine(entries, [(0, 0, 0, OPTIMIZED)], ProbeClasses([]), true_signature=True)
    assert [row[:3] for row in emitted] == [("aa", 0, False)]


def test_entries_of_one_name_split_into_runs() -> None:
    # Two input files have the same function: states with an address sort before those without, across entries.
    entries = [("f", [("f", 0x10)]), ("f", [("f", 0x10)])]
    states = [(0, 0x10, 0, 0), (0, 0, 0, 0), (1, 0x10, 0, 0), (1, 0, 0, UNEXPECTED)]
    emitted, fates = probe_combine(entries, states, ProbeClasses([]))
    assert [row[:2] for row in emitted] == [("f", 0), ("f", 2), ("f", 1)]
    assert fates == [EMITTED, EMITTED]


def test_many_states_and_symbols() -> None:
    symbols = [(f"f.llvm.{number}", 2 * number) for number in range(20_000)]
    states = [(0, 2 * number + 1, 0, 0) for number in range(40_000)]
    emitted, _ = probe_combine([("f", symbols)], states, ProbeClasses([]))
    assert [row[:2] for row in emitted] == [("f", 0)]
    emitted, _ = probe_combine([("f", symbols)], [*states, (0, 2 * 19_999, 0, 0)], ProbeClasses([]))
    assert [row[:2] for row in emitted] == [("f", 40_000)]
