"""Register analysis, compared with what the reference was seen to do.

Each row of `OBSERVED` is a function for x86-64: per parameter its type and location. pahole 1.32 encoded it four
times: as compiled by GCC with a plain symbol (kept unless a parameter is unexpected), by GCC with only a `.isra.0`
symbol (kept unless one is unexpected or optimized), by clang with a plain symbol, and by clang with DW_CC_nocall and
true_signature. The first three are "y" for kept and "n" for dropped, the fourth is the list of names in the prototype,
or None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tests.probe.rules_probe import ProbeUnit, probe_location

X86_64, ARM64, ARM, S390, RISCV, I386 = 62, 183, 40, 22, 243, 3
STRUCT, BASE, TYPEDEF, CONST, VOLATILE, UNION = 0x13, 0x24, 0x16, 0x26, 0x35, 0x17

# long, int, pair {long first; int second}, packed {char; long}, then types that lead to these
TYPES = [
    (BASE, 0, 1, 8, 0, 0),
    (BASE, 0, 2, 4, 0, 0),
    (STRUCT, 0, 3, 16, 0, 2),
    (BASE, 0, 4, 16, 0, 0),
    (BASE, 0, 5, 24, 0, 0),
    (STRUCT, 0, 6, 9, 2, 2),
    (TYPEDEF, 3, 7, 0, 0, 0),
    (CONST, 7, 0, 0, 0, 0),
    (VOLATILE, 3, 0, 0, 0, 0),
    (UNION, 0, 10, 16, 0, 0),
    (STRUCT, 0, 0, 9, 2, 2),
    (TYPEDEF, 6, 12, 0, 0, 0),
    (TYPEDEF, 14, 13, 0, 0, 0),
    (TYPEDEF, 13, 14, 0, 0, 0),
    (BASE, 0, 15, 1, 0, 0),
]
MEMBERS = [
    (100, 1, 0, 0, 0, 0, 0),
    (101, 2, 64, 8, 0, 0, 0),
    (102, 15, 0, 0, 0, 0, 0),
    (103, 1, 8, 1, 0, 0, 0),
]
KINDS = {"l": (1, 8), "pair": (3, 16), "quad": (4, 16), "trio": (5, 24)}

Location = bytes | str | tuple[bytes, ...] | None
Row = list[tuple[str, Location]]

R0, R1, R2, R3, R4, R5 = b"U", b"T", b"Q", b"R", b"X", b"Y"  # the six registers in order
REGISTERS: Row = [("l", R0), ("l", R1), ("l", R2), ("l", R3), ("l", R4), ("l", R5)]
A = [f"a{number}" for number in range(8)]

OBSERVED: list[tuple[Row, str, list[str] | None]] = [
    ([("l", R0), ("l", R1)], "yyy", A[:2]),
    ([("l", R1)], "nnn", None),
    ([("l", None), ("l", R1)], "yny", A[:2]),
    ([("l", None), ("l", R0)], "nnn", ["a1"]),
    ([("l", R0), ("l", None)], "yny", ["a0"]),
    ([("l", "const"), ("l", R0)], "nnn", ["a1"]),
    ([("l", "const"), ("l", R1)], "yny", A[:2]),
    ([("l", b"0\x9f"), ("l", R0)], "nnn", ["a1"]),
    ([("l", b"0\x9f"), ("l", R1)], "yny", None),
    ([("l", b"\x08\x05\x9f"), ("l", R1)], "yny", None),
    ([("l", b"\x91\x00"), ("l", R1)], "yny", None),
    ([("l", b"\x91\x00"), ("l", R0)], "nnn", None),
    ([("trio", b"\x91\x00"), ("l", R0)], "nny", A[:2]),
    ([("trio", b"\x91\x00"), ("l", R1)], "ynn", None),
    ([("trio", None), ("l", R0)], "nny", ["a1"]),
    ([("trio", R0), ("l", R1)], "yyn", A[:2]),
    ([("pair", b"U\x93\x08T\x93\x08"), ("l", R2)], "yyy", A[:2]),
    ([("pair", b"U\x93\x08T\x93\x08"), ("l", R1)], "yyy", A[:2]),
    ([("pair", b"U\x93\x08"), ("l", R1)], "yyy", ["a0__first", "a1"]),
    ([("pair", b"U\x93\x08"), ("l", R2)], "yyy", A[:2]),
    ([("pair", b"\x93\x08U\x93\x08"), ("l", R1)], "yyy", ["a0__second", "a1"]),
    ([("pair", b"\x93\x08U\x93\x08"), ("l", R2)], "yyy", A[:2]),
    ([("pair", b"\x93\x08U\x93\x08")], "yyy", ["a0__second"]),
    ([("pair", b"U\x93\x08")], "yyy", ["a0__first"]),
    ([("pair", b"U\x93\x04")], "yyy", ["a0__first"]),
    ([("pair", b"\x93\x04U\x93\x04")], "yyy", ["a0"]),
    ([("pair", b"U\x93\x04T\x93\x04")], "yyy", ["a0"]),
    ([("pair", b"T\x93\x08"), ("l", R0)], "yyy", ["a0__first", "a1"]),
    ([("pair", R1), ("l", R2)], "yyy", A[:2]),
    ([("pair", R0), ("l", R2)], "yyy", A[:2]),
    ([("pair", None), ("l", R0)], "yny", ["a1"]),
    ([("pair", None), ("l", R2)], "yny", A[:2]),
    ([("pair", None), ("l", R1)], "yny", ["a1"]),
    ([("quad", b"U\x93\x08T\x93\x08"), ("l", R2)], "yyy", A[:2]),
    ([("quad", b"U\x93\x08"), ("l", R1)], "nnn", None),
    ([*REGISTERS, ("l", b"\x91\x08")], "yyy", A[:7]),
    ([*REGISTERS, ("l", R0)], "yyy", A[:7]),
    ([*REGISTERS, ("l", b"1\x9f")], "yyy", A[:6]),
    ([*REGISTERS, ("l", None)], "yny", A[:6]),
    ([*REGISTERS[:5], ("pair", b"Y\x93\x08U\x93\x08")], "yyy", A[:6]),
    ([*REGISTERS[:5], ("pair", R4)], "yyy", A[:6]),
    ([("l", b"p\x00"), ("l", R1)], "yny", None),
    ([("l", b"\x90\x05")], "yny", None),
    ([("l", (b"p\x00", b"\xa3\x01T\x9f"))], "nnn", None),
    ([("l", (R0, b"\xa3\x01T\x9f"))], "yyy", ["a0"]),
    ([("pair", (b"U\x93\x08", b"\x93\x08T\x93\x08"))], "yyy", ["a0"]),
]


def facts(kind: str, location: Location) -> dict[str, object]:
    """What the location of a parameter says, as fields of Param."""
    ref, size = KINDS[kind]
    fields: dict[str, object] = {"ref": ref, "size": size, "has_const": location == "const"}
    if location is None or location == "const":
        return fields
    if isinstance(location, tuple):
        entries = b"".join(bytes([4, n, n + 1, len(expr)]) + expr for n, expr in enumerate(location))
        found = probe_location("list", 0, size=size, loclists=entries + b"\0")
    else:
        assert isinstance(location, bytes)
        found = probe_location("block", location, size=size)
    reg, const_at_entry, stack_at_entry, first_word, second_word = found
    fields |= {"has_loc": True, "reg": -1 if reg is None else reg, "const_at_entry": const_at_entry}
    return fields | {"stack_at_entry": stack_at_entry, "first_word": first_word, "second_word": second_word}


def analyse(
    params: Sequence[Mapping[str, object]], machine: int = X86_64, **options: bool
) -> tuple[bool, bool, bool, list[str]]:
    unit = ProbeUnit(TYPES, MEMBERS, params, clang=options.pop("clang", False))
    result: tuple[bool, bool, bool, list[str]] = unit.analyse(machine, **options)
    return result


@pytest.mark.parametrize(("row", "observed", "names"), OBSERVED)
def test_functions(row: Row, observed: str, names: list[str] | None) -> None:
    params = [facts(kind, location) for kind, location in row]
    optimized, unexpected, _, _ = analyse(params)
    _, by_clang, _, _ = analyse(params, clang=True)
    kept = "ny"[not unexpected] + "ny"[not unexpected and not optimized] + "ny"[not by_clang]
    assert kept == observed
    _, unexpected, _, verdicts = analyse(params, clang=True, changed=True, true_signature=True)
    suffixes = {"": "", "100": "__first", "101": "__second"}
    found = [f"a{n}{suffixes[v.partition('=')[2]]}" for n, v in enumerate(verdicts) if "o" not in v]
    assert (None if unexpected else found) == names


def registers(machine: int, clang: bool) -> list[list[int]]:
    """For each of the first eight parameters, the registers in which it is expected."""
    return [
        [reg for reg in range(32) if not analyse([{}] * index + [{"reg": reg}], machine, clang=clang)[1]]
        for index in range(8)
    ]


ANY = list(range(32))
# Observed by rewriting e_machine of one file to each value below 265.
MACHINES = {
    X86_64: ([[5], [4], [1], [2], [8], [9], ANY, ANY], [[5], [4], [1], [2], [8], [9], ANY, ANY]),
    ARM64: ([[n] for n in range(8)], [[n] for n in range(8)]),
    ARM: ([[n] for n in range(8)], [[n] for n in range(8)]),
    S390: ([[2], [3], [4], [5], [6], ANY, ANY, ANY], [[2], [3], [4], [5], [6], ANY, ANY, ANY]),
    RISCV: ([ANY] * 8, [[]] * 8),
    20: ([ANY] * 8, [[]] * 8),
    21: ([ANY] * 8, [[]] * 8),
    8: ([ANY] * 8, [[]] * 8),
    45: ([ANY] * 8, [[]] * 8),
    2: ([ANY] * 8, [[]] * 6 + [ANY] * 2),
    43: ([ANY] * 8, [[]] * 6 + [ANY] * 2),
    I386: ([ANY] * 8, [ANY] * 8),
    18: ([ANY] * 8, [ANY] * 8),
    258: ([ANY] * 8, [ANY] * 8),
}


@pytest.mark.parametrize("machine", MACHINES)
def test_registers_of_machines(machine: int) -> None:
    by_gcc, by_clang = MACHINES[machine]
    assert registers(machine, False) == by_gcc
    assert registers(machine, True) == by_clang


@pytest.mark.parametrize(
    ("ref", "exempt"),
    # Only a structure_type, and only through typedef and const; a cycle of typedefs ends.
    [
        (3, True),
        (7, True),
        (8, True),
        (9, False),
        (10, False),
        (1, False),
        (0, False),
        (13, False),
        (99999, False),
    ],
)
def test_a_struct_exempts_the_function(ref: int, exempt: bool) -> None:
    params = [{"reg": 4}, {"ref": ref, "size": 8}]
    assert analyse(params)[1] is not exempt


@pytest.mark.parametrize(
    ("ref", "uncertain"), [(6, True), (3, False), (11, False), (12, False), (0, False), (99999, False)]
)
def test_packed_structs_on_the_stack(ref: int, uncertain: bool) -> None:
    # Only if the parameter's type itself is a named struct, and only after the registers.
    assert analyse([{}] * 6 + [{"ref": ref}])[2] is uncertain
    assert analyse([{}] * 5 + [{"ref": ref}])[2] is False
    assert analyse([{"ref": ref}], I386)[2] is uncertain


def test_many_parameters() -> None:
    optimized, unexpected, uncertain, verdicts = analyse([{"size": 65535, "in_memory": False}] * 70000)
    assert (optimized, unexpected, uncertain, set(verdicts)) == (True, False, False, {""})


# Observed: which member replaces a parameter if only the first word is described. Per member: name,
# type, bit offset, byte offset, flags (1 static, 2 inheritance, 8 data_bit_offset).
CANDIDATES: list[tuple[list[tuple[int, int, int, int, int]], int | None]] = [
    ([(1, 2, 0, 0, 8), (2, 1, 0, 0, 0)], 1),
    ([(1, 2, 4, 0, 8), (2, 1, 64, 8, 0)], None),
    ([(1, 2, 64, 0, 8), (2, 1, 64, 8, 0)], None),
    ([(0, 2, 0, 0, 0), (2, 1, 0, 0, 0)], None),
    ([(1, 0, 0, 0, 0), (2, 1, 0, 0, 0)], None),
    ([(1, 2, 0, 0, 1), (2, 1, 0, 0, 0)], 2),
    ([(1, 2, 0, 0, 2), (2, 1, 0, 0, 0)], 2),
    ([(1, 2, 0, 0, 0), (2, 1, 0, 0, 0)], 1),
    ([(1, 2, 32, 4, 0), (2, 1, 72, 9, 0)], None),
]


@pytest.mark.parametrize(("members", "name"), CANDIDATES)
def test_members_that_stand_for_a_parameter(members: list[tuple[int, int, int, int, int]], name: int | None) -> None:
    types = [(BASE, 0, 1, 8, 0, 0), (BASE, 0, 2, 4, 0, 0), (STRUCT, 0, 3, 16, 0, len(members))]
    rows = [(name, kind, bit, byte, 0, 0, flags) for name, kind, bit, byte, flags in members]
    param = facts("pair", b"U\x93\x08")
    unit = ProbeUnit(types, rows, [param], clang=True)
    verdicts = unit.analyse(X86_64, changed=True, true_signature=True)[3]
    assert verdicts == ["" if name is None else f"={name}"]
    assert unit.ref(0) == (3 if name is None else members[[row[0] for row in members].index(name)][1])
