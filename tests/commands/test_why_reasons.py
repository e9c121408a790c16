"""The reasons of `pybtf why`: the core, the report, the documents and the answers use the same words."""

from __future__ import annotations

import re

import pytest

from pybtf.core.codes import COUNT_NAMES, TRACE_NAMES
from pybtf.errors import UsageError
from pybtf.explain.functions import _SPECIFIC
from pybtf.explain.reasons import (
    ADVICE,
    COMPLETE,
    DECLARED_CODE,
    FLOATING,
    FUNCTION_TRACES,
    FUNCTIONS,
    HEADER,
    IN_BTF,
    MANGLED,
    PREFIXED,
    RETURNED,
    TYPES,
    VARIABLE_TRACES,
    VARIABLES,
    check_reason,
)
from pybtf.report import FUNCTION_REASONS, VARIABLE_REASONS
from tests.conftest import ROOT


def test_every_reason_of_the_report_is_known() -> None:
    assert FUNCTION_REASONS.items() <= FUNCTIONS.items()
    assert VARIABLE_REASONS.items() <= VARIABLES.items()
    assert set(FUNCTION_TRACES.values()) <= FUNCTIONS.keys()
    assert set(VARIABLE_TRACES.values()) <= VARIABLES.keys()
    assert {*FUNCTION_TRACES, *VARIABLE_TRACES} <= set(TRACE_NAMES.values())
    assert len(set(TRACE_NAMES.values())) == len(TRACE_NAMES) == len(COUNT_NAMES) + 3
    known = {("function", each) for each in FUNCTIONS} | {("variable", each) for each in VARIABLES}
    causes = {("function", RETURNED), ("function", FLOATING), ("function", HEADER), ("function", PREFIXED)}
    causes |= {("function", MANGLED), ("function", COMPLETE), ("function", DECLARED_CODE), ("variable", COMPLETE)}
    assert set(ADVICE) <= known | causes | {("type", "not_encoded")}


def test_every_reason_is_described() -> None:
    text = (ROOT / "docs" / "why.md").read_text().split("\n## Reasons\n")[1].split("\n## ")[0]
    functions, variables, types = (
        dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", part, re.MULTILINE)) for part in text.split("\nOf ")[1:4]
    )
    assert functions == FUNCTIONS
    assert variables.items() <= VARIABLES.items()
    assert VARIABLES.keys() - variables == {"ambiguous_symbol"}  # about BTF of compilers, which `why` does not cover
    assert types.items() >= TYPES.items()
    assert _SPECIFIC.keys() | {"padding"} == FUNCTIONS.keys() | {IN_BTF}


def test_reasons_that_can_be_listed() -> None:
    assert check_reason("inconsistent") == ("function", "inconsistent")
    assert check_reason("section") == ("variable", "section")
    assert check_reason("variable:no_symbol") == ("variable", "no_symbol")
    assert check_reason("in_btf") == ("function", IN_BTF)
    for text in ("inconsistant", "type:section", "function:section", ""):
        with pytest.raises(UsageError):
            check_reason(text)
    with pytest.raises(UsageError, match=r"did you mean 'section'.*; expected one of unexp.*, .*, generated, "):
        check_reason("sections")
    with pytest.raises(UsageError, match=r"did you mean 'in_btf'.*, in_btf$"):
        check_reason("inbtf")
    with pytest.raises(UsageError, match="'function:section': unknown reason 'section'; expected"):
        check_reason("function:section")
