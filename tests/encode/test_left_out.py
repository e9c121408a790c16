"""What is left out is counted under its reason: each case of `synthetic.py` has exactly the counts listed."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import pybtf
from tests.builders.dwarfwriter import die
from tests.builders.kernelish import INT, function, kernel, unit
from tests.builders.synthetic import X86, Options, load, named


def counts(data: bytes, folder: Path, **options: Unpack[Options]) -> pybtf.Report:
    path = folder / "input"
    path.write_bytes(data)
    return pybtf.encode(path, jobs=1, **options).report


def test_units(tmp_path: Path) -> None:
    units = counts(load()["unit_partial"].build(), tmp_path).units
    assert (units.kept, units.left_out) == (1, {"partial": 1})


def test_a_unit_that_ends_early(tmp_path: Path) -> None:
    report = counts(load()["annotation_empty"].build(), tmp_path)
    assert report.units.kept == 2
    assert len(report.warnings) == 1
    assert report.warnings[0].startswith("1 of the units are encoded in part only")
    assert not counts(load()["annotations_off"].build(), tmp_path).warnings


def test_variables(tmp_path: Path) -> None:
    located = ("location", "exprloc", [("addr", X86.percpu)])
    children = [
        INT,
        named("variable", "counter", ("type", "ref4", "int"), located),
        named("variable", "elsewhere", ("type", "ref4", "int"), ("location", "exprloc", [("addr", 64)])),
        named("variable", "only_declared", ("type", "ref4", "int"), ("declaration", "flag", 1)),
        named("variable", "gone", ("type", "ref4", "int")),
        named("variable", "in_register", ("type", "ref4", "int"), ("location", "exprloc", [("reg5",)])),
        named("variable", "no_type", ("location", "exprloc", [("addr", X86.percpu + 8)])),
        function(X86),
        die("lexical_block", children=[named("variable", "local", ("type", "ref4", "int"))]),
    ]
    variables = counts(kernel([unit(children)]).data, tmp_path).variables
    assert variables.kept == 1
    assert variables.left_out == {"section": 1, "declaration": 1, "no_address": 2, "void_type": 1}
