"""Copies of the tree with the switches of mutations, compiled."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.mutations.switch import CORE_SWITCH, VARIABLE, Edit, Mutation, Source, applied, edit

ROOT = Path(__file__).resolve().parents[2]
#: What is copied into a tree; the tests' other inputs are linked.
COPIED = (
    "src", "tests", "tools", "docs", "contrib", "setup.py", "setup.cfg", "pyproject.toml", "README.md", "CHANGELOG.md",
    "LICENSE", "MANIFEST.in", "Makefile",
)  # fmt: skip
STATEMENT = re.compile(r"^\s*(pass|return|if|for|while|break|continue)\b|[^=!<>]=(?!=)")
LINKED = ("fixtures", ".git", ".venv")


def edits_of(mutations: Sequence[Mutation]) -> dict[str, list[Edit]]:
    """The switches of all mutations, by file. Their numbers count from 1."""
    found: dict[str, list[Edit]] = {}
    sources: dict[str, Source] = {}
    wrong = []
    for number, one in enumerate(mutations, 1):
        try:
            text = (ROOT / one.file).read_text()
            start, end = one.span(text)
            if one.file.endswith(".pxd"):
                if STATEMENT.search(one.old) or STATEMENT.search(one.new):
                    raise ValueError("a statement, where a file of C declarations has switches for expressions only")
                made = Edit(start, end, f"(({one.new}) if MUTANT({number}) else (", "))")
                found.setdefault(one.file, []).append(made)
                continue
            source = sources.setdefault(one.file, Source(text))
            found.setdefault(one.file, []).append(edit(source, start, end, one.new, number))
        except (OSError, ValueError) as error:
            wrong.append(f"{one.id}: {error}")
    if wrong:
        sys.exit("\n".join(wrong))
    return found


def _files() -> list[Path]:
    found = []
    for name in COPIED:
        for path in sorted((ROOT / name).rglob("*")) if (ROOT / name).is_dir() else [ROOT / name]:
            if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".so", ".html"):
                found.append(path)
    return found


def prepare(tree: Path, edits: dict[str, list[Edit]]) -> None:
    """Writes the files of a tree with these switches, and compiles what has changed; other files keep their times."""
    tree.mkdir(parents=True, exist_ok=True)
    for name in LINKED:
        if not (tree / name).exists() and (ROOT / name).exists():
            (tree / name).symlink_to(ROOT / name)
    wanted = {tree / "src/pybtf/core/mutant.pxd"}
    for path in _files():
        relative = str(path.relative_to(ROOT))
        to = tree / relative
        wanted.add(to)
        if path.suffix == ".c" and "core" in path.parts:
            if not to.exists():
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, to)
            continue
        data = path.read_bytes()
        if relative in edits:
            data = applied(data.decode(), edits[relative], relative).encode()
        if relative == "setup.py":
            data = data.replace(b'"-O3"', b'"-O1"')  # there are many files to compile
        _write(to, data, path)
    for path in (ROOT / "build").glob("objects.*"):
        if not (tree / "build" / path.name).exists():
            shutil.copytree(path, tree / "build" / path.name)
    _write(tree / "src/pybtf/core/mutant.pxd", CORE_SWITCH.encode(), None)
    for name in ("src", "tests", "tools"):  # what has since been moved or removed
        for path in (tree / name).rglob("*"):
            if path.suffix in (".py", ".pxd", ".pyi", ".toml") and path not in wanted:
                path.unlink()
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def _write(to: Path, data: bytes, like: Path | None) -> None:
    changed = to.exists()  # a changed file must be newer than its compiled form, whatever its time elsewhere
    if changed and to.read_bytes() == data:
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    to.unlink(missing_ok=True)
    to.write_bytes(data)
    if like is not None:
        (shutil.copystat if like.read_bytes() == data and not changed else shutil.copymode)(like, to)
