"""Too many open files: every message says which limit to raise."""

from __future__ import annotations

import errno
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pybtf.elf.atomic import not_written
from pybtf.unreadable import unreadable
from tests.conftest import ROOT, environment

OBJECT = ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf"
ADVICE = "too many open files; raise the limit (ulimit -n)"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_what_cannot_be_opened(number: int) -> None:
    error = OSError(number, "Too many open files")
    assert str(unreadable("x.o", error, "an ELF file")) == f"x.o: cannot be read: {ADVICE}"
    assert not_written("x.o", error) == f"x.o: cannot be written: {ADVICE}."


@pytest.mark.parametrize("words", [("object",), ("cc", "--", "true", "-c", "-o")])
def test_objects(words: tuple[str, ...], tmp_path: Path) -> None:
    said = until_it_works("pybtf", *words, object=tmp_path / "x.o")
    assert any(f"x.o: cannot be written: {ADVICE}" in text for text in said)
    assert all("Traceback" in text or ADVICE in text for text in said)


def test_in_a_build(tmp_path: Path) -> None:
    said = [text for text in until_it_works("pybtf.pahole", "-J", object=tmp_path / "x.o") if "Traceback" not in text]
    assert said
    assert all(ADVICE in text for text in said)


def until_it_works(program: str, *words: str, object: Path) -> list[str]:
    """What is said with few files. How many are open when it matters depends on what started this."""
    said: list[str] = []
    for limit in range(4, 20):
        shutil.copy(OBJECT, object)
        done = subprocess.run(
            [sys.executable, "-m", program, *words, str(object)], capture_output=True, text=True, env=environment(),
            check=False, timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),  # noqa: B023
        )  # fmt: skip
        if done.returncode == 0:
            return said
        said.append(done.stderr)
    raise AssertionError(said)
