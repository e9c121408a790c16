"""The listed mistakes (docs/development.md): each still applies to the code, in exactly one place."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT, environment
from tools.mutations.switch import Mutation
from tools.mutations.tree import edits_of


def test_each_applies() -> None:
    command = [sys.executable, "-m", "tools.mutations.mutations", "--check"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment(), check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("old", "new"), [("w.again += cur_tell(&w.r.c) - start", "pass"), ("return 0", "0"), ("cur_tell(&w.r.c)", "x = 1")]
)
def test_declarations_have_expressions_only(old: str, new: str) -> None:
    """A statement there would not compile, and `--check` would not notice that."""
    file = "src/pybtf/core/dwarf/read_again.pxd"
    with pytest.raises(SystemExit, match="expressions only"):
        edits_of([Mutation("x", file, old, new, why="")])
