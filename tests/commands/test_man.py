"""The manual pages: up to date, complete, and troff that means what it should."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

import click
import pytest

from pybtf.cli.app import group
from pybtf.cli.main import COMMANDS
from pybtf.pahole.table import OPTIONS
from tools.project import man

PAGES = ("pybtf.1", "pybtf-pahole.1")


def shown(name: str, groff: str) -> str:
    """A page as a reader sees it, with one line per paragraph. Groff must not complain."""
    done = subprocess.run(
        [groff, "-ww", "-man", "-Tascii", "-P-cbou", "-rLL=1000n", str(man.FOLDER / name)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_those_of_the_help_texts(name: str) -> None:
    assert (man.FOLDER / name).read_text() == man.pages()[name], "make man"


@pytest.mark.parametrize("name", PAGES)
def test_sections(name: str, require: Callable[[str], str]) -> None:
    headings = [line for line in shown(name, require("groff")).splitlines() if re.match("[A-Z]", line)][1:]
    expected = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"]
    if name == "pybtf-pahole.1":
        expected.remove("EXAMPLES")
    assert headings == expected


def test_every_command_is_in_the_synopsis(require: Callable[[str], str]) -> None:
    synopsis = shown("pybtf.1", require("groff")).split("\nSYNOPSIS\n")[1].split("\nDESCRIPTION\n")[0]
    assert list(dict.fromkeys(line.split()[1] for line in synopsis.splitlines() if line)) == [*COMMANDS]


def options_of(text: str) -> set[str]:
    """The options that have an entry: lines that begin with one, seven columns in."""
    entries = re.findall(r"^ {7}(-\S.*)$", text, re.MULTILINE)
    return {option for entry in entries for option in re.findall(r"(?<![\w-])--?[\w?-]+", entry.split("   ")[0])}


@pytest.mark.parametrize("name", [*COMMANDS])
def test_every_option_of_a_command_has_an_entry(name: str, require: Callable[[str], str]) -> None:
    command = group().get_command(click.Context(group()), name)
    assert command is not None
    known = {option for param in command.params for option in [*param.opts, *param.secondary_opts]}
    known = {option for option in known if option.startswith("-")}
    options = shown("pybtf.1", require("groff")).split("\nOPTIONS\n")[1].split("\nEXAMPLES\n")[0]
    part = re.split(r"^   pybtf ", options, flags=re.MULTILINE)[[*COMMANDS].index(name) + 1]
    assert options_of(part) == known | {"-h", "--help"}


def test_every_option_of_pahole_that_does_something_has_an_entry(require: Callable[[str], str]) -> None:
    without = ("foreign", "unsupported", "nothing", "not_encoded", "hash_bits")
    known = {f"--{option.name}" for option in OPTIONS if option.effect not in without}
    found = {option for option in options_of(shown("pybtf-pahole.1", require("groff"))) if option.startswith("--")}
    assert found == known - {"--usage", "--devel_version"} | {"--check"}


def test_what_troff_would_take_for_a_command(require: Callable[[str], str]) -> None:
    """A line may begin with a period or a quote; a backslash, a hyphen and a tilde stay what they are."""
    words = [".BTF", "'quoted'", "C:\\new", "a-b", "~/x", "^"] * 8
    page = man.page("pybtf", man.parse(f"Usage: x\n\n{' '.join(words)}\n\nExit status: 0.\n"), {})
    done = subprocess.run(
        [require("groff"), "-ww", "-man", "-Tascii", "-P-cbou"], input=page, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.split("DESCRIPTION")[1].split("OPTIONS")[0].split() == words


def test_bold_words_may_go_over_the_end_of_a_line() -> None:
    for before in range(30, 50):
        text = " ".join(man.lines("x " * before + "`pybtf show NAME FILE` has"))
        assert text == "x " * before + r"\fBpybtf show NAME FILE\fR has"
