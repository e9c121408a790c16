"""A thousand random corruptions of real objects: each is encoded or refused. None crashes, hangs or uses up memory.

The objects are committed and never change, so a seed in a report gives the same bytes everywhere:

    python tests/builders/corruption.py fixtures/corruption/FILE SEED NUMBER NUMBER 1 --write case.elf
"""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.builders import corruption
from tests.conftest import ROOT, environment

SEED = "pybtf-1"
#: Both compilers, DWARF 4 and 5, objects with relocations and linked files, kfuncs, location lists.
FILES = (
    "gcc-O2-dwarf5-exe-kfuncs.elf",
    "gcc-O2-dwarf4-obj.elf",
    "gcc-O2-dwarf4-exe.elf",
    "clang-O2-dwarf5-obj.elf",
)
EACH = 250
WORKERS = 2
#: Sanitizers need terabytes of address space and several times the memory.
LIMITED = "PYBTF_SANITIZED" not in os.environ


@pytest.mark.parametrize("name", FILES)
def test_corrupted(name: str) -> None:
    file = ROOT / "fixtures" / "corruption" / name
    with ThreadPoolExecutor(WORKERS) as pool:
        parts = list(
            pool.map(
                lambda first: corruption.watch(file, SEED, first, EACH, WORKERS, environment(), limited=LIMITED),
                range(WORKERS),
            )
        )
    problems = [problem for _, found in parts for problem in found]
    assert not problems, "\n".join(f"{name} {problem.seed}: {problem.what}" for problem in problems)
    refused = sum(counts["refused"] for counts, _ in parts)
    encoded = sum(counts["encoded"] for counts, _ in parts)
    assert refused + encoded == EACH
    # If nearly all had the same outcome, the damage would test nothing.
    assert refused > EACH // 10, (refused, encoded)
    assert encoded > EACH // 20, (refused, encoded)


def test_a_seed_gives_the_same_bytes_everywhere() -> None:
    data = bytes(range(256)) * 16
    places = [(0, 64), (64, 1024), (1024, 4096)]
    digest = hashlib.sha256()
    for number in range(100):
        digest.update(corruption.mutate(data, places, f"{SEED}/{number}"))
    assert digest.hexdigest() == "a3b2fff76d5e220fbe0e82c81dc4b0a53d5347a14a876223dc7cbb64c1c683f0"


def test_the_watcher_sees_a_death(tmp_path: Path) -> None:
    """Tests the harness itself: a worker that cannot even start is reported, and not taken for a success."""
    counts, problems = corruption.watch(tmp_path / "missing", SEED, 0, 10, 1, environment())
    assert counts == {"encoded": 0, "refused": 0}
    assert len(problems) == 1
    assert "FileNotFoundError" in problems[0].what
