"""The reader of plain command lines, compared with click: if it answers, it says what click would have passed on."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pybtf.cli import arguments, manual
from pybtf.cli.app import group
from pybtf.cli.click_command import click_command
from pybtf.cli.main import COMMANDS, home, main
from tests.conftest import ROOT

Refused = Callable[..., str]

WITH_TABLE = [name for name, metavar in COMMANDS.items() if metavar]


def table(name: str) -> tuple[arguments.Option, ...]:
    options: tuple[arguments.Option, ...] = home(name)[0].OPTIONS
    return options


def read(line: list[str], name: str = "encode") -> dict[str, Any] | None:
    return arguments.read(line, table(name), COMMANDS[name])


def by_click(line: list[str], name: str = "encode") -> dict[str, Any]:
    """The arguments with which click would call the command. Raises what click raises."""
    parent = group().make_context("pybtf", [name])
    with click_command(name).make_context(name, list(line), parent=parent) as context:
        return context.params


VALUES = ["x", "-", "2", "1024", "1025", "0", "02", " 2", "1_0", "٣", "all", "", "=", "-x", "--base", "a=b", "/"]


def words(name: str) -> st.SearchStrategy[str]:
    spellings = [f"--{option.name}" for option in table(name)]
    spellings += [f"-{option.letter}" for option in table(name) if option.letter]
    return st.one_of(
        st.sampled_from(spellings),
        st.sampled_from(VALUES),
        st.builds("{}={}".format, st.sampled_from(spellings), st.sampled_from(VALUES)),
        st.builds("{}{}".format, st.sampled_from(["-j", "-q", "-v", "-qj", "-jq"]), st.sampled_from(VALUES)),
        st.sampled_from(["--", "--no-progress", "--no-progress=1", "--feat", "-h", "--help", "-J", "--no-quiet"]),
        st.text("-j=qa2\0", max_size=4),
    )


@pytest.mark.parametrize("name", ["encode", "cc", "diff", "reproduce"])  # have options of every kind but CHOICE
@settings(max_examples=300, deadline=None)  # on a busy machine any example may take long
@given(data=st.data())
def test_reads_as_click_does(name: str, data: st.DataObject) -> None:
    line = data.draw(st.lists(words(name), max_size=6))
    parameters = read(line, name)
    if parameters is not None:
        assert parameters == by_click(line, name)


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["m.ko"],
        ["-q", "-j1", "--base", "vmlinux.btf", "--features", "all", "--detached", "m.btf", "m.ko"],
        ["--jobs=2", "--features=var", "--features", "+float", "--detached-dir=out", "a", "b", "--combine"],
        ["--detached", "-", "--progress", "--no-progress", "-v", "--timings", "--report", "r.json", "x"],
        ["-j", "3", "--lang", "c", "--lang-exclude=rust", "--from-list", "l", "--progress"],
        ["--base", "one", "--base", "two", "x"],
    ],
)
def test_plain_lines_are_read(line: list[str]) -> None:
    parameters = read(line)
    assert parameters is not None
    assert parameters == by_click(line)


@pytest.mark.parametrize(
    "line",
    [
        ["--help"], ["x", "-h"], ["--"], ["-"], ["-qv", "x"], ["--feature", "x"], ["-j0"], ["-j", "1025"], ["-j=1"],
        ["-j"], ["--quiet=1"], ["--no-progress=1"], ["--base"], ["--base", ""], ["--base", "-x"], ["--features", "-x"],
        [""], ["a\0b"],
    ],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_click(line: list[str]) -> None:
    assert read(line) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1), ("02", 2), ("1024", 1024), *((text, None) for text in (
            "0", "1025", "1_0", "\u0661", "\u0663", " 2", "2 ", "+2", "2.0", "0x2", "9" * 5000, "x"
        )),
    ],
)  # fmt: skip
def test_jobs_have_one_grammar(text: str, number: int | None) -> None:
    """The same with click and without."""
    line = ["-j", text, "x"]
    if number is not None:
        parameters = read(line)
        assert parameters is not None
        assert parameters["jobs"] == by_click(line)["jobs"] == number
        return
    assert read(line) is None
    with pytest.raises(click.UsageError, match="-j expects the number of workers, 1 to 1024, not"):
        by_click(line)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("encode --report --detached x y", "option '--report' requires an argument; '--detached' is an option "
         "(--report=--detached takes it as the argument); see pybtf encode --help"),
        ("dump x -o --format=raw", "option '-o' requires an argument; '--format=raw' is an option "
         "(--output=--format=raw takes it as the argument); see pybtf dump --help"),
        ("show -c -h", "option '-c' requires an argument; '-h' is an option "
         "(--cacheline=-h takes it as the argument); see pybtf show --help"),
        ("encode x --detached --no-progress", "option '--detached' requires an argument; '--no-progress' is an option "
         "(--detached=--no-progress takes it as the argument); see pybtf encode --help"),
        ("cc --store -- gcc -c x.c", "option '--store' requires an argument; see pybtf cc --help"),
    ],
)  # fmt: skip
def test_an_option_is_not_the_value_of_the_one_before(line: str, said: str, refused: Refused) -> None:
    assert refused(main, *line.split(), status=2) == f"pybtf: error: {said}\n"


@pytest.mark.parametrize("names", [["page"], ["tcp_*", "enum pid_type"]])
def test_names_beside_the_file_are_those_of_roots(names: list[str], tmp_path: Path, refused: Refused) -> None:
    file = tmp_path / "x.btf"
    file.touch()
    roots = " ".join(f"--root {name}" if name.isalpha() else f"--root '{name}'" for name in names)
    said = f"one FILE at a time; a type is named by --root: pybtf dump {roots} {file}\n"
    for files in ([*names, str(file)], [str(file), *names]):
        assert refused(main, "dump", *files, status=2) == f"pybtf: error: {said}"


def test_an_option_may_be_a_value_after_an_equals_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = str(ROOT / "fixtures" / "golden" / "00_kernel_like.gcc-O2-5-exe.usual.btf")
    monkeypatch.chdir(tmp_path)
    assert main(["dump", "-o", "--json", sample]) == 2
    assert not Path("--json").exists()
    assert main(["dump", "--output=--json", sample]) == 0
    assert Path("--json").stat().st_size


def test_nobody_asks_whether_a_file_may_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening the file will show it."""
    file = tmp_path / "x"
    file.touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    for line in ([str(file)], ["--detached", str(file), "y"]):
        assert read(line) == by_click(line)


@pytest.mark.parametrize("name", WITH_TABLE)
def test_the_table_has_the_parameters_of_the_command(name: str) -> None:
    module, function = home(name)
    if name == "show":  # which makes one object of them
        taken = [each.name for each in fields(module.Asked)]
    else:
        taken = list(inspect.signature(getattr(module, function)).parameters)
    assert sorted(taken) == sorted(["files", *(option.parameter for option in table(name))])


def test_every_command_has_a_page() -> None:
    """The pages have the same order."""
    assert list(manual.COMMANDS) == list(COMMANDS)


@pytest.mark.parametrize("name", WITH_TABLE)
def test_the_words_of_a_choice_are_those_that_the_command_takes(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Without click, the command itself complains about another word."""
    for option in table(name):
        if option.kind == arguments.CHOICE:
            assert main([name, f"--{option.name}", "nonsense", "x"]) == 2
            words = option.metavar.replace("|", ", ")
            assert capfd.readouterr().err.endswith(f": unknown value 'nonsense'; expected one of {words}\n")
