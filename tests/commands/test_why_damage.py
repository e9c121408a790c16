"""`pybtf why` on odd or damaged files: every question ends with an answer or one message."""

from __future__ import annotations

from pathlib import Path

import pytest

import pybtf
from pybtf.cli.main import main
from tests.builders import bad
from tests.builders.synthetic import load
from tests.conftest import ROOT

bad.load()


@pytest.mark.parametrize("name", sorted(load()))
def test_odd_files(tmp_path: Path, name: str) -> None:
    """Asks everything about every file of tests/builders/cases_*.py that can be encoded: nothing is raised."""
    case = load()[name]
    path = tmp_path / "input"
    case.write(path)
    try:
        pybtf.encode(path, features=case.features, jobs=1, **case.options)
    except pybtf.PybtfError as error:
        with pytest.raises(type(error)):
            pybtf.why(path, "f", features=case.features, jobs=1, **case.options)
        return
    found = pybtf.why(path, "*", "struct point", "int", features=case.features, jobs=1, **case.options)
    assert all(each.verdict for each in found)


@pytest.mark.parametrize("name", bad.BAD)
def test_damaged_files(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One message, status 1, and the file as it was."""
    path = tmp_path / "input"
    path.write_bytes(bad.BAD[name].build())
    before = path.read_bytes()
    assert main(["why", "-j1", "f", "*", str(path)]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("pybtf: error: ")
    assert captured.err.count("\n") == 1
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", bad.ODD)
def test_odd_damage(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It ends, with an answer or a message."""
    path = tmp_path / "input"
    path.write_bytes(bad.ODD[name]())
    assert main(["why", "-j1", "f", "*", "struct *", "int", str(path)]) in (0, 1)
    captured = capfd.readouterr()
    assert "Traceback" not in captured.err
    assert captured.out or captured.err.count("\n") == 1


def test_code_of_a_relocatable_file_is_in_its_sections() -> None:
    """It has no address yet. Sections are where the encoder puts them, which nobody else can see."""
    path = ROOT / "fixtures" / "bin" / "24_clones.gcc-O2-5-obj.elf"
    found = {each.name: str(each.evidence) for each in pybtf.why(path, "*", jobs=1)}
    assert "'address': '.text+0x60'" in found["sink"]
    assert "'address': '.text.unlikely+0x0'" in found["fail"]
