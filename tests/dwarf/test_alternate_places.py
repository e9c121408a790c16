"""What `pybtf why` and provenance say about DIEs that dwz has moved to an alternate file."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from pybtf.elf.image import ElfImage
from pybtf.explain.asking import Answer, kernel_options, why
from pybtf.explain.detail import encode_in_detail
from tests.conftest import ROOT

ALTERNATES = sorted((ROOT / "fixtures" / "bin").glob("59_dwz_alternate*.elf"))
SOURCES = ROOT / "fixtures" / "src"


@pytest.mark.parametrize("path", ALTERNATES, ids=lambda path: path.stem)
def test_why_shows_what_the_alternate_file_has(path: Path) -> None:
    """Names and types of parameters that dwz has moved there, as the source has them (fixtures/src/24_clones.c)."""
    found = {each.name: each for each in why(path, "by_member", "with_constant", "elsewhere")}
    text = json.dumps([each.to_dict() for each in found.values()])
    assert "(anonymous)" not in text
    if found["elsewhere"].evidence is not None:  # clang leaves it out
        assert found["elsewhere"].evidence["declaration"] == "int elsewhere"
    evidence = found["by_member"].evidence
    assert evidence is not None
    if found["by_member"].reason == "reordered":
        assert evidence["instances"][0]["in_the_source"] == "int by_member(struct pair *p, int unused)"
    else:
        assert evidence["prototype"] == "int by_member(struct pair *p, int unused)"


@pytest.mark.parametrize("path", ALTERNATES, ids=lambda path: path.stem)
def test_lines_of_what_the_alternate_file_has(path: Path) -> None:
    """The alternate file has its own line tables. The source has the name on that line."""
    _, database = encode_in_detail(str(path), kernel_options(), names=False, places=True)
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(database)
        rows = connection.execute(
            "SELECT type.name, file.name, line, die FROM type JOIN file ON type.file = file.id"
            " WHERE line AND type.name NOT NULL"
            " UNION SELECT function.name, file.name, line, die FROM function JOIN file ON function.file = file.id"
        ).fetchall()
    for name, file, line, _ in rows:
        text = (SOURCES / Path(file).name).read_text().splitlines()[line - 1]
        assert name in text.lower() or "NAME" in text, (name, file, line)  # some are macros
    info = own_info(path)
    shared = {name for name, _, _, die in rows if die >= info}
    assert len(shared) >= 4
    places = [place for each in why(path, "struct pair", "struct thing", "struct counters") for place in of(each)]
    assert any(int(each["die"], 16) >= info for each in places)
    for each in places:
        text = (SOURCES / Path(each["file"]).name).read_text().splitlines()[each["line"] - 1]
        assert text.startswith("struct ")


def of(each: Answer) -> list[dict[str, Any]]:
    assert each.evidence is not None
    found: list[dict[str, Any]] = each.evidence["places"]
    assert found, each
    return found


def own_info(path: Path) -> int:
    """The size of the file's own .debug_info: offsets from there on are in the alternate file."""
    with ElfImage.open(path) as image:
        section = image.debug_section(".debug_info")
        assert section is not None
        return len(image.data(section))
