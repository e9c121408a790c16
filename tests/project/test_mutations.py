"""The listed mistakes (docs/development.md): each is still in the code, in the one place that it names."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT, environment


def test_each_applies() -> None:
    command = [sys.executable, "-m", "tools.mutations.mutations", "--check"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment(), check=False)
    assert run.returncode == 0, run.stdout + run.stderr
