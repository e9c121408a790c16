"""Completion of the command line by shells: the scripts, and what they offer."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pybtf.cli.main import COMMANDS, main
from tests.conftest import Require, environment


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(capfd: pytest.CaptureFixture[str], shell: str) -> None:
    assert main(("completion", shell)) == 0
    script = capfd.readouterr().out
    assert "_PYBTF_COMPLETE" in script
    assert f"{shell}_complete" in script


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
        ("pybtf ", [*COMMANDS]),
        ("pybtf encode --det", ["--detached", "--detached-dir"]),
        ("pybtf encode --features de", ["decl_tag", "decl_tag_kfuncs", "default"]),
        ("pybtf encode --features +gl", ["+global_var"]),
        ("pybtf encode --features var,enum", ["var,enum64"]),
        ("pybtf merge --features +gl", ["+global_var"]),
        ("pybtf cc --st", ["--strip-dwarf", "--store"]),
        ("pybtf encode --lang-exclude rust,r", ["rust,renderscript"]),
        ("pybtf reproduce --skip copy,h", ["copy,hashing"]),
        ("pybtf diff --only structs,fu", ["structs,functions"]),
        ("pybtf diff --fail-on reloc", ["relocation"]),
        ("pybtf why --list pad", ["padding"]),
        ("pybtf completion ", ["bash", "zsh", "fish"]),
        ("pybtf help en", ["encode"]),
        ("pybtf --version enc", ["encode"]),
    ],
)
def test_completions(words: str, expected: list[str]) -> None:
    assert completions(words) == expected


def program_in(folder: Path) -> Path:
    """A `pybtf` in a folder with a blank in its name."""
    program = folder / "a folder" / "pybtf"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m pybtf "$@"\n')
    program.chmod(0o755)
    return program


def script_of(shell: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "pybtf", "completion", shell], capture_output=True, text=True, check=True,
        env=environment(),
    ).stdout  # fmt: skip


def in_bash(folder: Path, words: list[str]) -> list[str]:
    """What the script's function leaves in COMPREPLY when it is called as bash does: the last word is completed. If
    files or folders are to be offered, the option that says so. The program is in a folder with a blank in its name.
    """
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")
    program = program_in(folder)
    script = script_of("bash")
    call = f"""
        completion=mine type=mine value=mine word=mine response=mine
        compopt() {{ echo "<$2>"; }}
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
        (["pybtf", "dump", "x"], ["<default>"]),
        (["pybtf", "encode", "--detached-dir", "x"], ["<dirnames>"]),
        (["pybtf", "encode", "--detached-dir", "=", "x"], ["<dirnames>"]),
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


ZSH = """
compdef() { :; }
compset() { IPREFIX="${words[CURRENT]%%=*}=" }
compadd() { local name; for name in ${(P)@[-1]}; do print -r -- "${@[(r)$IPREFIX]}$name"; done }
_describe() { local name; for name in ${(P)3}; do print -r -- "${@[(r)$IPREFIX]}${name%%:*}"; done }
_path_files() { print -r -- "$IPREFIX<files $1>" }
"""
"""What only the editor of a command line has, as far as the script uses it. A list gets what is ignored by an option;
files have it of their own."""


def in_zsh(zsh: str, folder: Path, words: list[str]) -> list[str]:
    """What the script's function gives the editor when it is called as zsh does: the last word is completed."""
    folders = f"{program_in(folder).parent}{os.pathsep}{os.environ['PATH']}"
    call = f"words=({' '.join(map(shlex.quote, words))}) CURRENT={len(words)} IPREFIX=; _pybtf_completion"
    done = subprocess.run(
        [zsh, "-f", "-c", f"{ZSH}\n{script_of('zsh')}\n{call}"], capture_output=True, text=True, check=False,
        env=environment() | {"PATH": folders},
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.splitlines()


def in_fish(fish: str, folder: Path, words: list[str]) -> list[str]:
    """What fish offers in a folder with two files."""
    folders = f"{program_in(folder).parent}{os.pathsep}{os.environ['PATH']}"
    (folder / "vmlinux.btf").touch()
    (folder / "sub").mkdir()
    script = folder / "pybtf.fish"
    script.write_text(script_of("fish"))
    call = f"source {shlex.quote(str(script))}; complete -C {shlex.quote(' '.join(words))}"
    done = subprocess.run(
        [fish, "--no-config", "-c", call], capture_output=True, text=True, check=True, cwd=folder,
        env=environment() | {"PATH": folders, "HOME": str(folder)},
    )  # fmt: skip
    assert done.stderr == ""
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "zsh", "fish"),
    [
        (["enc"], ["encode"], ["encode"]),
        (["encode", "--det"], ["--detached", "--detached-dir"], ["--detached", "--detached-dir"]),
        (["encode", "--nosuch"], [], []),
        (["encode", "--features", "var,enum"], ["var,enum64"], ["var,enum64"]),
        (["encode", "--features=var,enum"], ["--features=var,enum64"], ["--features=var,enum64"]),
        (["dump", "--format=r"], ["--format=raw"], ["--format=raw"]),
        (["dump", "--format="], ["--format=c", "--format=raw", "--format=json"], None),
        (["dump", "--output=v"], ["--output=<files -f>"], ["--output=vmlinux.btf"]),
        (["dump", "-o", "v"], ["<files -f>"], ["vmlinux.btf"]),
        (["dump", "a=v"], ["<files -f>"], []),
        (["encode", "--detached-dir=s"], ["--detached-dir=<files -/>"], ["--detached-dir=sub/"]),
        (["encode", "--detached-dir", ""], ["<files -/>"], ["a folder/", "sub/"]),
        (["merge", "--store", "s"], ["<files -/>"], ["sub/"]),
        (["reproduce", "--skip=mu"], ["--skip=much memory"], ["--skip=much memory"]),
    ],
)
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_scripts_of_zsh_and_fish(
    shell: str, words: list[str], zsh: list[str], fish: list[str] | None, tmp_path: Path, require: Require
) -> None:
    """After `=`, the option must stay: zsh would replace the word by the value, and fish would offer nothing."""
    run, expected = {"zsh": (in_zsh, zsh), "fish": (in_fish, fish if fish is not None else sorted(zsh))}[shell]
    assert run(require(shell), tmp_path, ["pybtf", *words]) == expected


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
