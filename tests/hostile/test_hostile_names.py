"""Names of megabytes, and names that share their bytes: what is said stays short, and time and memory stay bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from pybtf.cli.main import main
from tests.builders import synthetic
from tests.builders.dwarfwriter import Raw, Unit
from tests.builders.kernelish import INT, kernel


def test_a_long_name_of_a_unit_in_a_message(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """All of it was in the message."""
    wrong = synthetic.named("typedef", "t", ("type", "ref4", Raw(0x00FFFFFF)))
    root = synthetic.named("compile_unit", "u\x1b" * 100_000, ("language", "data1", 12), children=[INT, wrong])
    path = tmp_path / "x.elf"
    path.write_bytes(kernel([Unit(root)]).data)
    assert main(("encode", "--detached", "-", str(path))) == 1
    said = capfd.readouterr().err
    assert r"(u\x1bu\x1b" in said
    assert r"u\x1b...u\x1b" in said
    assert len(said) < 2000
