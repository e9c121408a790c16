"""What makes random input for comparisons makes what can be encoded, and the same of the same number."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import pybtf
from tests.conftest import Require
from tools.generate import gen_functions


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the functions are those of x86-64")
@pytest.mark.parametrize("number", [0, 1, 7])
def test_random_functions(number: int, tmp_path: Path, require: Require) -> None:
    require("gcc")
    require("ld")
    program = gen_functions.program(number)
    assert program.units == gen_functions.program(number).units
    file = tmp_path / "program"
    program.make(tmp_path, file)
    found = [pybtf.encode(file, features="+true_signature", jobs=jobs) for jobs in (1, 3)]
    assert found[0].data == found[1].data
    assert found[0].report.functions.kept > 5
    assert len([reason for reason, n in found[0].report.functions.left_out.items() if n]) > 2
