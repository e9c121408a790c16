"""The reader of plain command lines, against click: where it answers, it says what click would have passed on."""

from __future__ import annotations

import inspect
import os
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pybtf.cli import arguments, encode, manual
from pybtf.cli.app import COMMANDS, group
from pybtf.cli.encode_command import command
from pybtf.cli.main import PLAIN


def by_click(line: list[str]) -> dict[str, Any]:
    """What click would call `encode` with. Raises what click raises."""
    with command.make_context("encode", list(line), parent=group().make_context("pybtf", ["encode"])) as context:
        return context.params


SPELLINGS = [f"--{option.name}" for option in arguments.OPTIONS]
SPELLINGS += [f"-{option.letter}" for option in arguments.OPTIONS if option.letter]
VALUES = ["x", "-", "2", "1024", "1025", "0", "02", " 2", "1_0", "٣", "all", "", "=", "-x", "--base", "a=b", "/"]
WORDS = st.one_of(
    st.sampled_from(SPELLINGS),
    st.sampled_from(VALUES),
    st.builds("{}={}".format, st.sampled_from(SPELLINGS), st.sampled_from(VALUES)),
    st.builds("{}{}".format, st.sampled_from(["-j", "-q", "-v", "-qj", "-jq"]), st.sampled_from(VALUES)),
    st.sampled_from(["--", "--no-progress", "--no-progress=1", "--feat", "-h", "--help", "-J", "--no-quiet"]),
    st.text("-j=qa2\0", max_size=4),
)


@settings(max_examples=600, deadline=None)  # on a busy machine any example may take long
@given(st.lists(WORDS, max_size=6))
def test_reads_as_click_does(line: list[str]) -> None:
    parameters = arguments.read(line)
    if parameters is not None:
        assert parameters == by_click(line)


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
    parameters = arguments.read(line)
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
    assert arguments.read(line) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1), ("02", 2), ("1024", 1024), *((text, None) for text in (
            "0", "1025", "1_0", "\u0661", "\u0663", " 2", "2 ", "+2", "2.0", "0x2", "9" * 5000, "x"
        )),
    ],
)  # fmt: skip
def test_jobs_have_one_grammar(text: str, number: int | None) -> None:
    """With click and without."""
    line = ["-j", text, "x"]
    if number is not None:
        parameters = arguments.read(line)
        assert parameters is not None
        assert parameters["jobs"] == by_click(line)["jobs"] == number
        return
    assert arguments.read(line) is None
    with pytest.raises(click.UsageError, match="-j expects the number of workers, 1 to 1024, not"):
        by_click(line)


def test_nobody_asks_whether_a_file_may_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The open will tell."""
    file = tmp_path / "x"
    file.touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    for line in ([str(file)], ["--detached", str(file), "y"]):
        assert arguments.read(line) == by_click(line)


def test_the_table_has_the_parameters_of_the_command() -> None:
    names = ["files", *(option.parameter for option in arguments.OPTIONS)]
    assert names == list(inspect.signature(encode.encode).parameters)
    for option in arguments.OPTIONS:
        assert f"--{option.name}" in manual.COMMANDS["encode"]


def test_the_plain_commands_are_those_with_a_table() -> None:
    """`encode` has one, too, and is asked for by its name."""
    modules = {name: name.replace("-", "_") for name in COMMANDS}
    tables = [name for name, module in modules.items() if COMMANDS[name] == f"{module}_command" and name != "encode"]
    assert list(PLAIN) == tables
    for name in PLAIN:
        module = import_module(f"pybtf.cli.{modules[name]}")
        parameters = {"files", *(option.parameter for option in module.OPTIONS)}
        if name == "show":  # which makes one thing of them
            taken = {each.name for each in fields(module.Asked)}
        else:
            taken = set(inspect.signature(getattr(module, modules[name])).parameters)
        assert parameters == taken
