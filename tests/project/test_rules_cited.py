"""Comments cite only what docs/rules.md has, and each of its quirks is marked where the code follows it."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT

SOURCES = sorted(path for path in (ROOT / "src").rglob("*.p*") if path.suffix in (".py", ".pxd", ".pyi"))
RULES = (ROOT / "docs" / "rules.md").read_text()
CHECKLIST = RULES.split("## 14. Quirks")[1].split("## Appendix A")[0]
QUIRKS = {int(number) for number in re.findall(r"^(\d+)\. ", CHECKLIST, re.M)}
MARK = re.compile(r"\bQ(\d+)\b")
SECTION = re.compile(r"docs/(rules|rules-builds)\.md,[\s#]+(\d+(?:\.\d+)*)")
OTHERWISE = re.compile(r"\brules,? (?:section )?\d|\brules(?:-builds)?\.md,?[\s#]+(?:sections?|§)|[qQ]uirk|\[Q\]")

NOT_FOLLOWED = {
    3: "docs/differences.md: status 1 and a message, where pahole ends with status 0",
    9: "what pahole 1.31 did",
    25: "docs/differences.md: references to type units are resolved",
}


def marks() -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for path in SOURCES:
        for number in MARK.findall(path.read_text()):
            found.setdefault(int(number), []).append(path.name)
    return found


def test_the_checklist_is_read_whole() -> None:
    assert sorted(QUIRKS) == list(range(1, len(QUIRKS) + 1))
    assert len(QUIRKS) > 30


def test_quirks_that_are_marked_exist() -> None:
    assert {number: where for number, where in marks().items() if number not in QUIRKS} == {}


def test_each_quirk_is_marked_where_it_is_followed() -> None:
    assert QUIRKS - marks().keys() == NOT_FOLLOWED.keys()


@pytest.mark.parametrize("document", ["rules", "rules-builds"])
def test_sections_that_are_cited_exist(document: str) -> None:
    text = (ROOT / "docs" / f"{document}.md").read_text()
    there = set(re.findall(r"^#+ (\d+(?:\.\d+)*)\.? ", text, re.M))
    cited = {number for path in SOURCES for name, number in SECTION.findall(path.read_text()) if name == document}
    assert cited <= there
    assert cited or document == "rules-builds"


def test_rules_are_cited_in_one_way() -> None:
    cited = {path.name: OTHERWISE.findall(path.read_text()) for path in SOURCES}
    assert {name: found for name, found in cited.items() if found} == {}
