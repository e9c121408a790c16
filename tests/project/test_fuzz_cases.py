"""`tools/fuzz/cases.py`: a case that ends a worker is reported and kept, and the others are still done."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import corruption, synthetic
from tests.conftest import ROOT
from tools.fuzz import cases, fuzz, fuzz_dump, fuzz_verify

MODULE = """
import os, sys
from tools.fuzz import cases

def run(chooser, data, sources):
    if data[0] % 16 == 7:
        os.abort()
    if data[0] % 16 == 8:
        raise ValueError(data)
    yield "done"

FUZZER = cases.Fuzzer("tried", lambda chooser: [b"abcd" * 8], lambda chooser, sources: chooser.randbytes(4), run)

if __name__ == "__main__":
    sys.exit(cases.main(FUZZER, "tried_fuzzer", None))
"""


def test_what_ends_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tried_fuzzer.py").write_text(MODULE)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    monkeypatch.setattr(fuzz, "environment", lambda: {**os.environ, "PYTHONPATH": path, "ASAN_OPTIONS": ""})
    monkeypatch.setattr(cases, "KEPT", tmp_path / "kept")
    monkeypatch.syspath_prepend(str(tmp_path))
    cases.KEPT.mkdir()
    import tried_fuzzer  # type: ignore[import-not-found]

    fuzzer = tried_fuzzer.FUZZER
    inputs = [fuzzer.make(fuzzer.chooser("s", number), []) for number in range(60)]
    bad = [number for number, data in enumerate(inputs) if data[0] % 16 in (7, 8)]
    assert {inputs[number][0] % 16 for number in bad} == {7, 8}
    options = argparse.Namespace(seed="s", first=0, count=60, workers=1, seconds=60.0, case=None)
    assert cases.watch(fuzzer, "tried_fuzzer", options, 0) == len(bad)
    said = capfd.readouterr()
    for number in bad:
        assert f"again: python -m tried_fuzzer --seed s --case {number}\n" in said.out
        assert (cases.KEPT / f"tried-s-{number}.btf").read_bytes() == inputs[number]
    assert said.err.count("ValueError: b") == sum(inputs[number][0] % 16 == 8 for number in bad)
    options.first, options.count = bad[-2], bad[-1]  # begins with one, ends before the other
    assert cases.watch(fuzzer, "tried_fuzzer", options, 0) == 1
    sys.modules.pop("tried_fuzzer")


@pytest.mark.parametrize("module", [fuzz_dump, fuzz_verify], ids=["dump", "verify"])
def test_cases_are_what_their_numbers_say(
    module: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fifty of each, in this process. The same number gives the same input and the same work."""
    fuzzer: cases.Fuzzer = module.FUZZER  # type: ignore[attr-defined]
    said = []
    for _ in range(2):
        assert cases.work(fuzzer, "seed", range(50), 60.0, tmp_path / "at") == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert said[0].startswith("50 cases: ")
    assert (tmp_path / "at").read_text().strip() == "49"


def test_any_file_of_the_corpus_can_be_damaged() -> None:
    """Even one whose number of sections is in section 0, or that has no sections."""
    for case in synthetic.load().values():
        data = case.build()
        places = corruption.regions(data)
        assert all(0 <= start < end for start, end in places)
        for number in range(20):
            corruption.mutate(data, places, f"corpus/{number}")


def test_fuzzers_need_no_test_tools() -> None:
    """`make races`, and runs by hand in a free-threaded Python: an environment that can encode need not have pytest."""
    program = "import sys; sys.modules.update(pytest=None, hypothesis=None); import tools.fuzz.fuzz, tools.fuzz.races"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
