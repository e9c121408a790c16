"""Every committed fixture, with every feature set that the reference was given: the bytes are the same.

Rows whose manifest entry says `later` belong to a later issue: they are reported as expected failures, with the issue,
and not counted as passed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pybtf
from pybtf.errors import InputError
from tools.judge import btfdiff

HOME = Path(__file__).parents[2] / "fixtures"
MANIFEST: dict[str, Any] = json.loads((HOME / "manifest.json").read_text())


class Case(NamedTuple):
    """One case: a file, a feature set, and the golden file (None: nothing may be written)."""

    elf: Path
    features: str
    options: dict[str, str]
    golden: Path | None


def cases() -> list[Any]:
    """All rows of the manifest, as parameters of a test."""
    found = []
    entries = {entry["name"]: entry for entry in MANIFEST["fixtures"]}
    for entry in entries.values():
        if entry.get("expect") == "wrong":  # see test_containers.py
            continue
        for label, facts in entry["golden"].items():
            if entry.get("expect") == "linked":
                facts = entries[entry["name"].replace("-obj", "-exe")]["golden"][label]
            wrong = entry.get("expect") == "error" or facts["file"] is None
            golden = None if wrong else HOME / "golden" / facts["file"]
            features = MANIFEST["features"][label]
            case = Case(HOME / "bin" / entry["elf"], features, entry.get("options", {}), golden)
            found.append(pytest.param(case, id=f"{entry['name']}-{label}"))
    return found


def encode(case: Case, jobs: int) -> bytes:
    lang, exclude = case.options.get("lang", ""), case.options.get("lang_exclude", "")
    return bytes(
        pybtf.encode(case.elf, features=case.features, jobs=jobs, lang=lang, lang_exclude=exclude).data
    )


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("case", cases())
def test_same_bytes_as_the_reference(case: Case, jobs: int) -> None:
    if case.golden is None:
        # The reference says so on stderr, writes nothing or half of it, and exits with 0. pybtf does not.
        with pytest.raises(InputError) as caught:
            encode(case, jobs)
        assert case.elf.name in str(caught.value)
        return
    difference = btfdiff.explain(encode(case, jobs), case.golden.read_bytes())
    assert not difference, difference


def test_manifest_describes_what_is_there() -> None:
    """The committed files are exactly those of the manifest, byte for byte."""
    expected = {}
    for entry in MANIFEST["fixtures"]:
        expected[f"bin/{entry['elf']}"] = entry["sha256"]
        if "alternate" in entry:
            expected[f"bin/{entry['alternate']['file']}"] = entry["alternate"]["sha256"]
        for facts in entry["golden"].values():
            if facts["file"]:
                expected[f"golden/{facts['file']}"] = facts["sha256"]
    found = {
        f"{folder}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in ("bin", "golden")
        for path in (HOME / folder).iterdir()
    }
    assert found == expected
