"""Skipped tests are reported: a run that skips what it should test proves less than it claims."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

TESTS = """
import pytest

def test_one():
    pytest.skip("no time")

@pytest.mark.skipif(True, reason="no room")
def test_other():
    pass

def test_good():
    pass
"""


@pytest.mark.parametrize(("bound", "status"), [(None, 0), ("2", 0), ("1", 1)])
def test_skipped_tests_are_told(bound: str | None, status: int, tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    told = tmp_path / "told"
    told.write_text("of another run\n")
    variables = {"PYBTF_SKIPPED": str(told)} | ({"PYBTF_SKIPS": bound} if bound else {})
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYBTF_SKIPS", "PYBTF_SKIPPED")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.conftest"]
    done = subprocess.run(
        [*command, "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=ROOT, env=inherited | variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout
    lines = ["test_some.py::test_one: no time", "test_some.py::test_other: no room"]
    assert told.read_text().splitlines() == ["of another run", *lines]
    assert ("2 tests are skipped, which are more than 1" in done.stdout) == (status == 1)
