"""`pybtf diff`: options that do not go together, and the messages about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pybtf.cli.main import main
from tests.commands.test_diff import FOLDER, NEW, OLD

BOTH = [OLD, NEW]
OBJECT = ["--object", "x.o"]
FOLDERS = [str(FOLDER), str(FOLDER)]
SIDES = "--base is that of both sides; --old-base and --new-base go without it"
SOURCES = "--old-provenance and --new-provenance are about one file each, not a folder"
ALONE = "--object is about relocations; of the other options it goes with --json and --fail-on"

USAGE = [
    ([], "missing arguments 'OLD NEW'; see pybtf diff --help"),
    ([OLD], "missing argument 'NEW'; see pybtf diff --help"),
    ([OLD, NEW, OLD], "one OLD and one NEW at a time"),
    (["--stat", "--markdown", *BOTH], "--stat, --markdown and --json do not go together"),
    (["--stat", "--json", *BOTH], "--stat, --markdown and --json do not go together"),
    (["--markdown", "--json", *BOTH], "--stat, --markdown and --json do not go together"),
    (["--base", OLD, "--old-base", OLD, *BOTH], SIDES),
    (["--base", OLD, "--new-base", OLD, *BOTH], SIDES),
    (["-", "-"], "standard input can be read only once"),
    (["--base", "-", *BOTH], "standard input can be read only once"),
    (["--old-base", "-", "-", NEW], "standard input can be read only once"),
    (["--new-base", "-", OLD, "-"], "standard input can be read only once"),
    (["--features", "all", *BOTH], "--features goes with --dwarf"),
    (["-q", *BOTH], "--quiet goes with --fail-on: it prints only what fails"),
    ([*OBJECT, "--only", "structs", *BOTH], ALONE),
    ([*OBJECT, "--name", "sock", *BOTH], ALONE),
    ([*OBJECT, "--ignore", "list", *BOTH], ALONE),
    ([*OBJECT, "--stat", *BOTH], ALONE),
    ([*OBJECT, "--reach", *BOTH], ALONE),
    ([*OBJECT, "--markdown", *BOTH], ALONE),
    ([*OBJECT, "--dwarf", *BOTH], ALONE),
    ([*OBJECT, "--old-provenance", "x.sqlite", *BOTH], ALONE),
    ([*OBJECT, "--new-provenance", "x.sqlite", *BOTH], ALONE),
    ([*OBJECT, "-q", "--fail-on", "any", *BOTH], ALONE),
    ([*OBJECT, "--fail-on", "layout", *BOTH], "with --object, --fail-on takes relocation and any"),
    ([*OBJECT, "--fail-on", "any,layout", *BOTH], "with --object, --fail-on takes relocation and any"),
    (["--fail-on", "relocation", *BOTH], "--fail-on relocation goes with --object"),
    (["--only", "struct", *BOTH], "--only: unknown value 'struct' (did you mean 'structs'?)"),
    (["--fail-on", "frob", *BOTH], "--fail-on: unknown value 'frob'; expected one of layout, size, signature, value"),
    (["--name", "frob x", *BOTH], "'frob x': unknown word 'frob'; expected one of added, removed, changed, struct"),
    (["--name", "struct a b", *BOTH], "'struct a b' is not a pattern: a name, with the kind in front if it matters"),
    (["--dwarf", *FOLDERS], "--dwarf takes two files"),
    (["--old-provenance", "x", *FOLDERS], SOURCES),
    (["--new-provenance", "x", *FOLDERS], SOURCES),
    (["--old-base", "-", *FOLDERS], "of folders, the bases cannot be standard input"),
    (["--new-base", "-", *FOLDERS], "of folders, the bases cannot be standard input"),
]


@pytest.mark.parametrize(("arguments", "said"), USAGE)
def test_what_does_not_go_together(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"pybtf: error: {said}")
    assert captured.err.count("\n") == 1


def test_a_pattern_has_an_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The wrong file may have a line of any length. A regular expression of it would take hours: 260 s for 80,000
    characters, 58 s for half as many.
    """
    patterns = tmp_path / "known"
    patterns.write_text("[" * 1000 + "\nsock\n")
    assert main(["diff", "--ignore", str(patterns), OLD, OLD]) == 0
    capsys.readouterr()
    patterns.write_text("sock\n" + "[" * 1_000_000)
    assert main(["diff", "--ignore", str(patterns), OLD, NEW]) == 2
    said = capsys.readouterr().err
    assert f"{patterns}: line 2: '[[" in said
    assert "[...[" in said
    assert "is not a pattern: 1,000,000 characters; expected at most 1,000. An asterisk stands for" in said
    assert len(said) < 1000
