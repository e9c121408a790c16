"""Files that documents and comments name must exist: when a file moves, its mentions must change, too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

FILE = re.compile(r"(?<![\w/.*{-])((?:[\w*.-]+/)*[\w*-]+\.(?:py|pxd|pyi))\b(?![\w/(])")
SYMBOL_IN_FILE = re.compile(r"`(\w+)` (?:in|of) `((?:[\w.-]+/)*[\w-]+\.(?:py|pxd))`")
FOLDERS = (ROOT, ROOT / "src", ROOT / "src" / "pybtf", ROOT / "src" / "pybtf" / "core")
HISTORY = {"performance-history.md"}  # uses the names of earlier times
EXAMPLES = {"NAME.py", "test_NAME.py", "test_*.py", "x.py", "x.pxd"}
MEMBERS = {"f.py", "now.py"}  # a structure in equivalence.py
MADE = {"mutant.pxd"}  # made by tools/mutations, in a copy of the tree
TREES = [ROOT / name for name in ("src", "tests", "tools")]
NAMES = {path.name for tree in TREES for path in tree.rglob("*.p*")} | {path.name for path in ROOT.glob("*.py")}


def exists(name: str, beside: Path) -> bool:
    if "/" not in name and "*" not in name:
        return name in NAMES
    return any(any(folder.glob(name)) for folder in (*FOLDERS, beside))


def missing(path: Path) -> list[str]:
    named = {name for name in FILE.findall(path.read_text()) if Path(name).name not in EXAMPLES | MEMBERS | MADE}
    return sorted(name for name in named if not exists(name, path.parent))


DOCUMENTS = [path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in HISTORY] + [ROOT / "README.md"]
CODE = [path for tree in ("src", "tools") for path in (ROOT / tree).rglob("*.p*")]
SOURCES = sorted(path for path in CODE if path.suffix in (".py", ".pxd"))


def test_the_pattern_sees_files() -> None:
    found = FILE.findall("in core/dwarf/walk.py, `x.pxd`; a.py.c, tests/*/cases_*.py, https://a.b/c.py/d")
    assert found == ["core/dwarf/walk.py", "x.pxd", "a.py", "tests/*/cases_*.py"]
    assert not exists("core/dwarf/no_such.py", ROOT)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_a_document_names(path: Path) -> None:
    assert missing(path) == []


def test_files_that_comments_name() -> None:
    assert {str(path.relative_to(ROOT)): names for path in SOURCES if (names := missing(path))} == {}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_names_that_a_document_finds_in_a_file(path: Path) -> None:
    for symbol, file in SYMBOL_IN_FILE.findall(path.read_text()):
        found = [folder / file for folder in FOLDERS if (folder / file).is_file()]
        assert any(re.search(rf"\b{symbol}\b", each.read_text()) for each in found), (symbol, file)
