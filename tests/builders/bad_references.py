"""References in DWARF that lead outside, or form cycles where there can be none. See `bad.py`."""

from __future__ import annotations

from typing import Any

from tests.builders.bad import bad, of, three_units, typedef
from tests.builders.bad_dwarf import SECOND
from tests.builders.dwarfwriter import Raw, die
from tests.builders.kernelish import unit


@bad(".debug_info", unit=0, die=True)
def reference_past_the_unit() -> bytes:
    return of(typedef("t", ("type", "ref4", Raw(0x00FFFFFF))))


@bad(".debug_info", unit=SECOND, die=True)
def reference_into_the_next_unit() -> bytes:
    return three_units(unit([typedef("t", ("type", "ref4", Raw(0x70)))]))


@bad(".debug_info", unit=0, die=True)
def reference_near_2_64() -> bytes:
    return of(typedef("t", ("type", "ref8", Raw((1 << 64) - 8))))


@bad(".debug_info", unit=0, die=True)
def reference_udata_huge() -> bytes:
    return of(typedef("t", ("type", "ref_udata", Raw((1 << 63) + 5))))


@bad(".debug_info", unit=0, die=True)
def reference_address_past_the_section() -> bytes:
    return of(typedef("t", ("type", "ref_addr", Raw(0x7FFFFFFF))))


@bad(".debug_info", unit=0, die=True)
def origin_past_the_unit() -> bytes:
    return of(die("subprogram", ("abstract_origin", "ref4", Raw(0x00FFFFFF))))


@bad(".debug_info", unit=0, die=True)
def specification_past_the_unit() -> bytes:
    return of(die("variable", ("specification", "ref4", Raw(0x00FFFFFF))))


@bad(".debug_info", unit=0, die=True)
def origin_is_a_type() -> bytes:
    return of(die("subprogram", ("abstract_origin", "ref4", "int")))


# -- cycles ------------------------------------------------------------------------------------------


@bad(".debug_info", unit=0, die=True)
def cycle_of_one_origin() -> bytes:
    return of(die("subprogram", ("abstract_origin", "ref4", "a"), label="a"))


@bad(".debug_info", unit=0, die=True)
def cycle_of_origins() -> bytes:
    return of(
        die("subprogram", ("abstract_origin", "ref4", "b"), label="a"),
        die("subprogram", ("abstract_origin", "ref4", "a"), label="b"),
    )


@bad(".debug_info", unit=0, die=True)
def cycle_of_specifications() -> bytes:
    return of(
        die("subprogram", ("specification", "ref4", "b"), label="a"),
        die("subprogram", ("specification", "ref4", "a"), label="b"),
    )


@bad(".debug_info", unit=0, die=True)
def cycle_of_origin_and_specification() -> bytes:
    return of(
        die("subprogram", ("specification", "ref4", "b"), label="a"),
        die("subprogram", ("abstract_origin", "ref4", "a"), label="b"),
    )


def looping_parameter(label: str, other: str) -> Any:
    return die("formal_parameter", ("abstract_origin", "ref4", other), label=label)


@bad(".debug_info", unit=0, die=True)
def cycle_of_parameters() -> bytes:
    return of(
        die(
            "subprogram",
            ("name", "string", "f"),
            children=[looping_parameter("x", "y"), looping_parameter("y", "x")],
        )
    )


@bad(".debug_info", unit=0, die=True)
def cycle_of_one_parameter() -> bytes:
    return of(die("subprogram", ("name", "string", "f"), children=[looping_parameter("x", "x")]))


@bad(".debug_info", unit=0, die=True)
def cycle_of_variables() -> bytes:
    return of(
        die("variable", ("specification", "ref4", "b"), label="a"),
        die("variable", ("specification", "ref4", "a"), label="b"),
    )


@bad(".debug_info", unit=0, die=True)
def cycle_of_structures() -> bytes:
    return of(
        die("structure_type", ("specification", "ref4", "b"), label="a"),
        die("structure_type", ("specification", "ref4", "a"), label="b"),
    )
