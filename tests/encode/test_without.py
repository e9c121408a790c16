"""With each optimisation (OPTIONAL of core/codes.py) switched off, the bytes are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import pybtf
from pybtf.core.codes import OPTIONAL
from tests.builders.conflicts import program
from tests.builders.conflictswriter import image
from tests.builders.everything import encoded, told
from tests.conftest import ROOT
from tests.encode.test_split import MODULES, TARGETS, base_path, module

FILES = sorted((ROOT / "fixtures" / "bin").glob("*.elf"))


@pytest.mark.parametrize("name", OPTIONAL)
def test_compiled(name: str) -> None:
    assert [path.stem for path in FILES if encoded(path, without=[name]) != encoded(path)] == []


def test_nothing_of_it() -> None:
    assert [path.stem for path in FILES if encoded(path, without=list(OPTIONAL)) != encoded(path)] == []


@pytest.mark.parametrize("name", OPTIONAL)
def test_conflicting_names(name: str, tmp_path: Path) -> None:
    path = tmp_path / "program"
    for seed in range(60000, 60100):
        path.write_bytes(image(program(seed)))
        assert encoded(path, jobs=1 + seed % 3, without=[name]) == encoded(path), seed


@pytest.mark.parametrize("name", OPTIONAL)
def test_modules(name: str, tmp_path: Path) -> None:
    bases = {target: pybtf.Base.from_file(base_path(target)) for target in TARGETS}
    for target, each in MODULES:
        path, base = module(target, each), bases[target]
        assert encoded(path, base=base, without=[name]) == encoded(path, base=base), path
    path = tmp_path / "program"
    for seed in range(60000, 60020):
        path.write_bytes(image(program(seed)))
        base = pybtf.Base.from_bytes(encoded(path))
        path.write_bytes(image(program(seed + 1)))
        assert encoded(path, base=base, without=[name]) == encoded(path, base=base), seed


def test_repeats_are_kept() -> None:
    """The visible effect of one of them; test_restore.py checks another."""
    path = ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf"
    with told(without=["reduction"]):
        kept = pybtf.encode(path).report.repeats
    dropped = pybtf.encode(path).report.repeats
    assert dropped.types_compared < kept.types_compared
    assert dropped.types_before == kept.types_before


def test_a_name_that_is_none() -> None:
    with pytest.raises(KeyError):
        encoded(FILES[0], without=["nothing"])
