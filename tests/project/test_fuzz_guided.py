"""`tools/fuzz/guided.py` finds what chance does not, and what it makes cases of stays what it is."""

from __future__ import annotations

import argparse
import itertools
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.builders import changed, near, wild
from tests.builders.conflictswriter import image
from tests.conftest import ROOT
from tools.fuzz import edges, elf_changes, guided, guided_btf, guided_files, guided_programs
from tools.fuzz.subjects import Subject

#: Ends the process if it is given four bytes, of which each must be right before the next is looked at.
FAULT = """
#include <stdlib.h>

int look(const unsigned char *data)
{
    if (data[0] == 'f')
        if (data[1] == 'a')
            if (data[2] == 'l')
                if (data[3] == 'l')
                    abort();
    return data[0] & 1;
}
"""

MODULE = """
import ctypes, random, sys, time
from pathlib import Path
from tools.fuzz import edges, guided
from tools.fuzz.subjects import Subject

def change(rng, data, others):
    made = bytearray(data)
    made[rng.randrange(4)] = rng.randrange(96, 128)
    return bytes(made)

def run(data, path):
    return "odd" if library.look(data) else "even"

def subject():
    return Subject("tried", ".bin", {}, False, lambda rng: iter([bytes(4)]), change, run)

if __name__ == "__main__":
    library = ctypes.CDLL(sys.argv[1])
    edges.FOLDER = Path(sys.argv[2])
    this = subject()
    seen = edges.seen_of(this.name, Path(sys.argv[1]))
    passed = edges.Edges(edges.counter(), Path(sys.argv[1]), "look", seen)
    at = edges.FOLDER / "tried-0.bin"
    worker = guided.Worker(this, passed, guided.corpus_of(this), at, random.Random("seed"))
    worker.seed()
    worker.run(time.monotonic() + float(sys.argv[3]))
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="compiles a library")
def test_a_fault_that_needs_four_right_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """By chance, one of a million cases has it."""
    source, library, module = tmp_path / "fault.c", tmp_path / "fault.so", tmp_path / "tried_guided.py"
    source.write_text(FAULT)
    module.write_text(MODULE)
    command = ["gcc", "-O0", "-shared", "-fPIC", "-fsanitize-coverage=trace-pc", "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    monkeypatch.setattr(edges, "FOLDER", tmp_path)
    monkeypatch.setattr(guided, "KEPT", tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LD_PRELOAD": str(edges.counter())}
    monkeypatch.setattr(guided, "environment", lambda *_: environment)
    command = [sys.executable, str(module), str(library), str(tmp_path), "30"]
    monkeypatch.setattr(guided, "commands", lambda *_: iter([command, command]))
    monkeypatch.syspath_prepend(str(tmp_path))
    import tried_guided  # type: ignore[import-not-found]

    this: Subject = tried_guided.subject()
    guided.corpus_of(this).mkdir()
    known: Counter[str] = Counter()
    guided.watch(this, argparse.Namespace(), 0, known)
    sys.modules.pop("tried_guided")
    assert list(known.values()) == [2]  # the second worker goes on where the first one ended
    (kept,) = tmp_path.glob("guided-tried-*.bin")
    assert kept.read_bytes() == b"fall"
    assert f"--subject tried --case {kept}\n" in capfd.readouterr().out
    cases = {path.read_bytes()[:3] for path in guided.corpus_of(this).iterdir()}
    assert b"fal" in cases
    assert len(cases) < 20


def test_what_distinguishes_findings() -> None:
    one = b"==7==ERROR: x\nSUMMARY: AddressSanitizer: heap-buffer-overflow a.c:12:3 in f\n==7==ABORTING\n"
    assert guided.look(one, -6) == guided.look(one.replace(b"7", b"8"), -6)
    assert guided.look(one, -6) != guided.look(one.replace(b" f", b" g"), -6)
    assert guided.look(b"", -27) == "status -27: "
    said = b"  raise error\npybtf.errors.InternalError: type 5\n"
    assert guided.look(said, 1) == "status 1: pybtf.errors.InternalError: type "


def test_a_section_with_another_content() -> None:
    path = ROOT / "fixtures" / "bin" / "03_units.gcc-O0-5-obj.elf"
    data = path.read_bytes()
    for content in (b"short", bytes(range(256)) * 8):
        layout = elf_changes.Layout(data)
        section = layout.named(b".debug_info")
        assert section is not None
        made = layout.replaced(data, section, content)
        again = elf_changes.Layout(made)
        found = again.named(b".debug_info")
        assert found is not None
        assert made[found.start : found.end] == content
        assert len(again.sections) == len(layout.sections)


@pytest.mark.parametrize("this", [guided_files.FILES, guided_btf.BTF], ids=["files", "btf"])
def test_changes_of_changes(this: Subject) -> None:
    """Whatever a change makes can be changed again, also what is hardly a file any more. The numbers decide alone."""
    made = []
    for _ in range(2):
        rng = random.Random(1)
        cases = list(itertools.islice(this.seeds(rng), 40))
        for _ in range(1000):
            at = rng.randrange(len(cases))
            cases[at] = this.change(rng, cases[at], cases)
        made.append(cases)
    assert made[0] == made[1]


def test_changed_programs(tmp_path: Path) -> None:
    """They can be written, read again, and encoded with the reduction as without."""
    rng = random.Random(1)
    programs = [near.met(), near.captured(), *wild.events()]
    cases = [guided_programs.text(units) for units in programs]
    assert list(map(guided_programs.read, cases)) == programs
    for n in range(60):
        units = changed.changed(guided_programs.read(cases[n]), rng.choice(programs), rng)
        image(units)
        cases.append(guided_programs.change(rng, cases[n], cases))
        assert guided_programs.run(cases[-1], tmp_path / "case.json") == "equal"
