"""100 random programs of gcc and clang, O0 to O3, DWARF 4 and 5, each with six lists of features.

Their seeds are fixed, and they are committed compiled (tools/golden/random_golden.py), so neither a compiler nor the
reference is needed. The full comparison of thousands is tools/compare/differential.py.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.errors import InputError
from tests.builders.archives import unpack

HOME = Path(__file__).parents[2] / "fixtures" / "random"
PROGRAMS: dict[str, Any] = json.loads((HOME / "golden.json").read_text())["programs"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the ELF files."""
    return unpack(HOME / "programs.tar.xz", tmp_path_factory.mktemp("random"))


def answer(path: Path, features: str, jobs: int) -> str | None:
    """The digest of pybtf's output; None if it refuses the file."""
    try:
        return hashlib.sha256(pybtf.encode(path, features=features, jobs=jobs).data).hexdigest()
    except InputError:
        return None


@pytest.mark.parametrize("number", PROGRAMS)
def test_same_bytes_as_the_reference(programs: Path, number: str) -> None:
    program = PROGRAMS[number]
    path = programs / f"{number}.elf"
    wrong = [
        f"-j{jobs} {features}"
        for features, digest in program["golden"].items()
        for jobs in {1, program["jobs"]}
        if answer(path, features, jobs) != digest
    ]
    assert not wrong, f"{program['build']}: see tools/compare/differential.py --varied --seeds {number}"


def test_the_programs_are_varied() -> None:
    """They cover every compiler, level, version of DWARF and form, by both generators; few are refused."""
    words = Counter(word for program in PROGRAMS.values() for word in program["build"].split())
    assert len(PROGRAMS) == 100
    wanted = ("own", "csmith", "gcc", "clang", "O0", "O1", "O2", "O3", "4", "5", "object", "relocatable", "linked")
    assert all(words[word] >= 20 for word in wanted), words
    digests = [digest for program in PROGRAMS.values() for digest in program["golden"].values()]
    assert len(digests) >= 590
    assert digests.count(None) <= len(digests) // 20
