"""Completion of the command line by shells: the scripts, and what is offered."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pybtf.cli.main import main
from tests.conftest import environment


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


def in_bash(folder: Path, words: list[str]) -> list[str]:
    """What the function of the script leaves in COMPREPLY, called as bash does it: the last word is completed. The
    program is in a folder with a blank in its name.
    """
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    program = folder / "a folder" / "pybtf"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m pybtf "$@"\n')
    program.chmod(0o755)
    script = subprocess.run(
        [sys.executable, "-m", "pybtf", "completion", "bash"], capture_output=True, text=True, check=True,
        env=environment(),
    ).stdout  # fmt: skip
    call = f"""
        completion=mine type=mine value=mine word=mine response=mine
        compopt() {{ :; }}
        COMP_WORDS=({' '.join(map(shlex.quote, words))}) COMP_CWORD={len(words) - 1}
        _pybtf_completion {shlex.quote(str(program))} x y
        [ "$completion$type$value$word$response" = minemineminemine""" + """mine ] || echo LEAK
        (( ${#COMPREPLY[@]} )) && printf '%s\\n' "${COMPREPLY[@]}"
        exit 0
    """
    done = subprocess.run(
        [bash, "--norc", "-c", script + call], capture_output=True, text=True, check=True, env=environment()
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pybtf", "enc"], ["encode"]),
        (["pybtf", "encode", "--det"], ["--detached", "--detached-dir"]),
        (["pybtf", "encode", "--features", "var,enum"], ["var,enum64"]),
        (["pybtf", "encode", "--nosuch"], []),
        (["pybtf", "reproduce", "--skip", "jo"], [r"jobs\ 2"]),
        (["pybtf", "reproduce", "--skip", r"jobs\ 2,mu"], [r"jobs\ 2,much\ memory"]),
        (["pybtf", "reproduce", "--skip", "'jobs 2,mu"], ["jobs 2,much memory"]),
        (["pybtf", "reproduce", "--skip", '"mu'], ["much memory"]),
        (["pybtf", "dump", "x"], []),
        (["pybtf", "dump", "--format", "=", "r"], ["raw"]),
        (["pybtf", "dump", "--format", "="], ["c", "raw", "json"]),
        (["pybtf", "encode", "--features", "=", "var,enum"], ["var,enum64"]),
        (["pybtf", "encode", "--jobs", "=", "2", "--det"], ["--detached", "--detached-dir"]),
        (["pybtf", "encode", "a", "=", "b", "--det"], ["--detached", "--detached-dir"]),
    ],
)
def test_the_script_of_bash(words: list[str], expected: list[str], tmp_path: Path) -> None:
    """A completion with blanks stays one word, `=` is no value, and no variable of the user's is overwritten."""
    found = in_bash(tmp_path, words)
    assert found[:1] == expected if words[-1] == "jo" else found == expected


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
