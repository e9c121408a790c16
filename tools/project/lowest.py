"""Runs the tests that involve other packages, with the oldest versions that pyproject.toml allows.

    python -m tools.project.lowest [TESTS...]

pip puts these versions into build/lowest, where Python looks first. Exit status: pytest's, or 77 if they cannot be
fetched.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib

from tools.judge.reference import CHECKOUT

TESTS = [
    "tests/dwarf/test_alternate.py", "tests/dwarf/test_skeletons.py", "tests/dwarf/test_split_dwarf.py",
    *(f"tests/commands/test_{name}.py" for name in (
        "arguments", "cli", "completion", "show_lines", "why_command", "why_damage", "why_evidence", "why_split_code",
    )),
]  # fmt: skip
FOLDER = CHECKOUT / "build" / "lowest"
UNREACHABLE = 77


def lowest(requirement: str) -> str:
    """`name>=1.2,<2` as `name==1.2`."""
    found = re.fullmatch(r"([\w-]+)>=([\d.]+),<[\d.]+", requirement)
    if found is None:
        sys.exit(f"lowest: {requirement} does not read NAME>=VERSION,<VERSION")
    return f"{found[1]}=={found[2]}"


def main() -> int:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    wanted = [lowest(requirement) for requirement in project["dependencies"]]
    shutil.rmtree(FOLDER, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    if subprocess.run([*pip, "--target", FOLDER, *wanted], check=False).returncode:
        print(f"lowest: {', '.join(wanted)} could not be fetched", file=sys.stderr)
        return UNREACHABLE
    print(f"with {', '.join(wanted)}", flush=True)
    env = {**os.environ, "PYTHONPATH": str(FOLDER)}
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(sys.argv[1:] or TESTS)]
    return subprocess.run(pytest, cwd=CHECKOUT, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
