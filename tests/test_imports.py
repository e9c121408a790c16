"""Start-up cost as a test: which modules `pybtf --version`, `pybtf --help` and `import pybtf` may import.

A list of modules says the same on every machine, however busy. The milliseconds are the benchmark's business.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

# Beyond what the interpreter itself has imported before the first line of a program.
QUICK = {"pybtf", "pybtf._version", "pybtf.cli", "pybtf.cli.main", "__future__", "gc"}


def imported_by(code: str) -> set[str]:
    """Modules in `sys.modules` after `code`, without those of a bare interpreter."""
    show = "import sys; before = set(sys.modules); {}\nprint(*(set(sys.modules) - before), file=sys.stderr)"
    run = subprocess.run(
        [sys.executable, "-c", show.format(code)], capture_output=True, text=True, check=True
    )
    return set(run.stderr.split())


def test_import_pybtf() -> None:
    assert imported_by("import pybtf; pybtf.__version__") == {"pybtf", "pybtf._version"}


def test_version() -> None:
    assert imported_by("from pybtf.cli.main import main; main(['--version'])") <= QUICK


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["encode", "--help"], ["completion", "-h"]])
def test_help(arguments: list[str]) -> None:
    code = f"from pybtf.cli.main import main; main({arguments!r})"
    assert imported_by(code) <= QUICK | {"pybtf.cli.manual"}


def test_the_command_line_imports_no_core_before_it_encodes() -> None:
    """What `pybtf encode` needs to find a mistake in its options: click, and nothing that reads ELF."""
    modules = imported_by("from pybtf.cli.main import main; main(['encode', '--features', 'foo', 'x'])")
    assert "click" in modules
    roots = {name.split(".")[0] for name in modules}
    assert not roots & {"elftools", "xxhash", "hashlib", "concurrent", "multiprocessing", "asyncio"}
    assert not any(name.startswith(("pybtf.core", "pybtf.elf", "pybtf.btf")) for name in modules)
