"""Command lines of kernel builds since 5.2, replayed with `pybtf-pahole`: the bytes are those of pahole 1.32.

The lines, the files and the reference's answers are in fixtures/gates; tools/golden/gates.py makes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pybtf.features import Features
from pybtf.pahole.main import main
from pybtf.pahole.request import Request
from tools.golden import gates

GENERATIONS = gates.generations()
ANSWERS: list[dict[str, Any]] = json.loads(gates.MANIFEST.read_text())["entries"]
NO_EFFECT = ("reproducible_build", "encode_force", "layout")
VARIABLES = ("PAHOLE_LANG_EXCLUDE", "MAKEFLAGS", "POSIXLY_CORRECT", "PYBTF_PAHOLE_VERSION", "LLVM_OBJCOPY")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> gates.Run:
    """Runs a line in this process. As in a build, it must print nothing if nothing is wrong."""

    def runner(arguments: list[str], variables: Mapping[str, str], folder: Path) -> None:
        monkeypatch.chdir(folder)
        for name in VARIABLES:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        status = main(arguments)
        assert (status, *capfd.readouterr()) == (0, "", "")

    return runner


@pytest.mark.parametrize("target", gates.TARGETS)
@pytest.mark.parametrize(
    "number", range(len(GENERATIONS)), ids=[f"{each['kernels']}: {each['version']}" for each in GENERATIONS]
)
def test_lines(run: gates.Run, tmp_path: Path, number: int, target: str) -> None:
    expected = {
        answer["step"]: answer["data"]
        for answer in ANSWERS
        if (answer["generation"], answer["target"]) == (number, target)
    }
    results = gates.replay(GENERATIONS[number], target, run, tmp_path)
    assert {
        step: {section: gates.named(data) for section, data in result.items()} for step, result in results.items()
    } == expected
    files = {path.name for path in tmp_path.iterdir()}
    lines = [gates.Line(GENERATIONS[number][step]) for step in results]
    assert files == {"vmlinux"} | {line.file for line in lines} | {line.detached for line in lines} - {None}


def test_every_answer_is_replayed() -> None:
    steps = [
        (target, number, step)
        for target in gates.TARGETS
        for number, generation in enumerate(GENERATIONS)
        for step in gates.STEPS
        if step in generation
    ]
    assert [(answer["target"], answer["generation"], answer["step"]) for answer in ANSWERS] == steps
    golden = {name for answer in ANSWERS for name in answer["data"].values()}
    assert golden == {path.name for path in gates.GOLDEN.iterdir()}
    assert all(gates.named((gates.GOLDEN / name).read_bytes()) == name for name in golden)


@pytest.mark.parametrize("step", gates.STEPS)
@pytest.mark.parametrize("target", gates.TARGETS)
def test_lines_that_ask_for_something_else_get_something_else(step: str, target: str) -> None:
    """Otherwise the inputs have nothing that a flag affects, and the flag is not tested."""
    asked: dict[tuple[Features, str], set[str]] = {}
    for answer in ANSWERS:
        if (answer["step"], answer["target"]) != (step, target):
            continue
        request = Request(gates.Line(GENERATIONS[answer["generation"]][step]).words()[1])
        meaning = {name: on for name, on in vars(request.features()).items() if name not in NO_EFFECT}
        asked.setdefault((Features(**meaning), request.lang_exclude), set()).add(json.dumps(answer["data"]))
    if step != "module":  # otherwise it depends on the base, too
        assert all(len(answers) == 1 for answers in asked.values())
    assert len(set.union(*asked.values())) >= len(asked)
