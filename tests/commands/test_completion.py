"""Completion of the command line by shells: the scripts, and what is offered."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pybtf.cli.main import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(capfd: pytest.CaptureFixture[str], shell: str) -> None:
    assert main(("completion", shell)) == 0
    assert f"_PYBTF_COMPLETE={shell}_complete" in capfd.readouterr().out


def completions(words: str) -> list[str]:
    env = os.environ | {
        "_PYBTF_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "pybtf"], env=env, capture_output=True, text=True, check=True
    )
    return [line.split(",", 1)[1] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "pybtf ",
            [
                "encode", "dump", "show", "size", "duplicates", "object", "merge", "cc", "why", "min-core",
                "dedup", "decode", "verify", "diff", "reproduce", "completion",
            ],
        ),
        ("pybtf encode --det", ["--detached", "--detached-dir"]),
        ("pybtf encode --features de", ["decl_tag", "decl_tag_kfuncs", "default"]),
        ("pybtf encode --features +gl", ["+global_var"]),
        ("pybtf encode --features var,enum", ["var,enum64"]),
        ("pybtf merge --features +gl", ["+global_var"]),
        ("pybtf cc --st", ["--strip-dwarf", "--store"]),
        ("pybtf encode --lang-exclude rust,r", ["rust,renderscript"]),
        ("pybtf reproduce --skip copy,h", ["copy,hashing"]),
        ("pybtf completion ", ["bash", "zsh", "fish"]),
        ("pybtf help en", ["encode"]),
        ("pybtf --version enc", ["encode"]),
    ],
)
def test_completions(words: str, expected: list[str]) -> None:
    assert completions(words) == expected


@pytest.mark.parametrize(
    "variables",
    [
        {"COMP_WORDS": "pybtf bogus x", "COMP_CWORD": "2"},
        {"COMP_WORDS": "pybtf help encode x", "COMP_CWORD": "3"},
        {"COMP_WORDS": "pybtf --bogus x", "COMP_CWORD": "2"},
        {"COMP_WORDS": "pybtf en", "COMP_CWORD": "x"},
        {"COMP_WORDS": "pybtf en"},
        {},
        {"_PYBTF_COMPLETE": "fish_complete"},
        {"_PYBTF_COMPLETE": "nosuch_complete"},
        {"_PYBTF_COMPLETE": "bash_nothing"},
    ],
)
def test_where_there_is_nothing_to_complete_nothing_is_said(variables: dict[str, str]) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("COMP_")}
    done = subprocess.run(
        [sys.executable, "-m", "pybtf"], env=env | {"_PYBTF_COMPLETE": "bash_complete"} | variables,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == ("", "")
    assert done.returncode in (0, 1)
