"""The Python in README.md and docs/api.md runs as it is and passes mypy --strict; tables are complete."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import pytest

import pybtf
from pybtf.btf import types
from pybtf.cli import manual
from pybtf.cli.app import group
from pybtf.cli.main import COMMANDS
from tests.conftest import ROOT, RunCli, environment
from tests.encode.test_split import module

KERNEL = ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf"
DOCUMENTS = ["README.md", "docs/api.md"]


def program(document: str) -> str:
    """All Python of a document, one block after the other."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    return "\n".join(blocks)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_examples_are_typed(document: str, tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(program(document))
    arguments = ["--strict", "--config-file=", "--follow-imports=silent", "--ignore-missing-imports", path]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize("document", DOCUMENTS)
def test_examples_run(document: str, tmp_path: Path) -> None:
    shutil.copyfile(KERNEL, tmp_path / "vmlinux")
    for name in ("reuse", "same"):
        shutil.copyfile(module("gcc", name), tmp_path / f"{name}.ko")
    shutil.copyfile(ROOT / "fixtures" / "bpf" / "core" / "01_fields.o", tmp_path / "prog.bpf.o")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program(document)],
        capture_output=True, text=True, env=environment(), cwd=tmp_path, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "vmlinux.btf").read_bytes() == pybtf.encode(KERNEL, features="+global_var").data


def test_all_documents_are_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    for path in (ROOT / "docs").glob("*.md"):
        assert path.name == "README.md" or f"]({path.name})" in index, path.name


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "completion"])
def test_all_options_of_a_command_are_documented(name: str) -> None:
    """In its section of cli.md, or in the document that this section refers to."""
    document = "show.md" if name == "show" else "cli.md"
    title = "object, merge, cc" if name in ("object", "merge", "cc") else name
    text = (ROOT / "docs" / document).read_text().split(f"\n## pybtf {title}\n")[1].split("\n## ")[0]
    command = group().get_command(click.Context(group()), name)
    assert command is not None
    options = [param.opts for param in command.params if isinstance(param, click.Option)]
    assert not [each for each in options if not any(re.search(rf"`{name}[` ]", text) for name in each)]


def test_usages_name_the_base() -> None:
    """A command with few options names all of them."""
    assert manual.COMMANDS["dedup"].startswith("Usage: pybtf dedup [--base FILE] FILE... -o OUT\n")


def test_the_fields_of_all_types_are_documented() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    common = {"kind", "id", "name", "kind_flag"}
    rows = {}
    for names, fields in re.findall(r"^\| ((?:`[A-Z]\w+`(?:, )?)+) \| (.*) \|$", text, re.MULTILINE):
        for name in re.findall(r"\w+", names):
            rows[name] = set(re.findall(r"`([a-z_]\w*)`", fields))
    kinds = [each for each in vars(types).values() if isinstance(each, type) and "kind" in vars(each)]
    assert len(kinds) >= 19 + 1  # and void
    for each in kinds:
        if each.__name__ in ("Void", "Unknown"):
            continue
        own = {field.name for field in dataclasses.fields(each)}
        assert own - common <= rows[each.__name__], each
    for element in (types.Member, types.Enumerator, types.Param, types.SectionVar):
        assert rows[element.__name__] == set(element._fields)


def section(document: str) -> str:
    """The section about JSON of a document."""
    return (ROOT / "docs" / document).read_text().split("\n## JSON\n")[1].split("\n## ")[0]


def keys(document: str) -> dict[str, set[str]]:
    """The keys in its table, each with the words in code of its row; keys of one row share them."""
    rows = re.findall(r"^\| (`.*) \| (.*) \|$", section(document), re.MULTILINE)
    return {key: set(re.findall(r"`(\w+)`", text)) for names, text in rows for key in re.findall(r"`(\w+)`", names)}


def together(rows: Iterable[dict[str, Any]]) -> set[str]:
    return {key for row in rows for key in row}


def run_json(run_cli: RunCli, *arguments: object) -> Any:
    return json.loads(run_cli(*arguments).stdout)


def test_the_json_of_layouts_is_documented(run_cli: RunCli, tmp_path: Path) -> None:
    """For `show`, `duplicates` and `size`: exactly the keys that exist."""
    btf, places = tmp_path / "vmlinux.btf", tmp_path / "vmlinux.provenance"
    run_cli("encode", "--provenance", places, "--detached", btf, KERNEL)
    known = keys("show.md")
    types = run_json(run_cli, "show", "--json", "--provenance", places, "*", btf)
    # A struct with unused bits between and after its bit-fields.
    odd = run_json(run_cli, "show", "--json", "*", ROOT / "fixtures" / "show" / "options" / "order.btf")
    assert together(types) == set(known)
    assert together(member for type in types + odd for member in type.get("members", ())) == known["members"]
    assert together(type["source"] for type in types if type["source"]) == known["source"]
    text = section("show.md")
    for sources in ([], ["--provenance", places]):
        for row in run_json(run_cli, "duplicates", "--json", *sources, btf):
            assert all(f"`{key}`" in text.partition("pybtf duplicates --json")[2] for key in row)
    groups = [[], *(["--by", by] for by in ("kind", "type", "prefix")), ["--by", "unit", "--provenance", str(places)]]
    for each in groups:
        for title, rows in run_json(run_cli, "size", "--json", *each, btf).items():
            assert f"`{title}`" in text
            assert together(rows) == {"name", "bytes", "number"}


def test_the_json_of_verdicts_is_documented(run_cli: RunCli, tmp_path: Path) -> None:
    text, known = section("verify.md"), keys("verify.md")
    good, bad = ROOT / "fixtures" / "show" / "options" / "order.btf", tmp_path / "bad.btf"
    bad.write_bytes(good.read_bytes()[:-1])
    whole = run_json(run_cli, "verify", "--json", "--kernel", "all", bad, good, tmp_path / "none")
    assert all(f"`{key}`" in text for key in whole)
    first, second, none = whole["files"]
    assert set(first) == set(second) == set(known) - {"status"}
    assert set(none) == {"file", "error", "status"}
    (example,) = first["findings"][0]["examples"]
    assert set(first["findings"][0]) | set(example) <= known["findings"]
    assert together(second["versions"]) <= known["versions"]
    assert {first["verdict"], second["verdict"]} <= known["verdict"]
    ids = run_json(run_cli, "verify", "--json", "--btf-ids", ROOT / "fixtures/verify/btf_ids/unresolved.elf")
    about = text.partition("With `--btf-ids`")[2]
    assert all(f"`{key}`" in about for key in together(ids["files"]) | together(ids["files"][0]["findings"]))


def test_the_json_of_differences_is_documented(run_cli: RunCli, tmp_path: Path) -> None:
    """For two files, for folders, and for the relocations of objects."""
    text = (ROOT / "docs" / "diff.md").read_text()
    samples = ROOT / "fixtures" / "diff"
    old, new = samples / "old.btf", samples / "new.btf"
    for side in (old, new):
        (tmp_path / side.stem).mkdir()
        shutil.copyfile(side, tmp_path / side.stem / "m.ko")
    whole = run_json(run_cli, "diff", "--json", old, new)
    folders = run_json(run_cli, "diff", "--json", "--base", old, tmp_path / "old", tmp_path / "new")
    objects = ("1_gone.o", "3_size.o")
    found = run_json(run_cli, "diff", "--json", *(f"--object={samples / each}" for each in objects), old, new)
    results = [result for each in found["objects"] for result in each["results"]]
    places = [place for result in results for place in result["places"]]
    assert places
    for rows in ([whole, found, folders], folders["modules"], whole["changes"], found["objects"], results, places):
        assert all(f"`{key}`" in text for key in together(rows))


def test_the_json_of_reasons_is_documented(run_cli: RunCli) -> None:
    """That of `why` without a name."""
    text = section("why.md").partition("Without NAME")[2]
    assert all(f"`{key}`" in text for key in together(run_json(run_cli, "why", "--json", KERNEL)))


def anchors(path: Path) -> set[str]:
    """What a link can name after `#`: headings, spelled as on GitHub."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


TEXTS = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_links_lead_to_files_and_headings(path: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", path.read_text())
    for target, heading in links:
        file = path.parent / target if target else path
        assert file.exists(), target
        assert not heading or heading in anchors(file), (target, heading)


def test_the_picture_has_the_passes() -> None:
    """The passes of an encoding, in their order."""
    picture = (ROOT / "docs" / "pipeline.svg").read_text()
    shown = re.findall(r'class="pass"[^>]*>([^<]+)<', picture)
    timings = pybtf.encode(KERNEL).report.timings.finish()
    assert shown == [*(each.name for each in timings.children if each.name not in ("start", "other")), "write"]
    for source in re.findall(r'class="src"[^>]*>([^<]+)<', picture):
        assert (ROOT / "src" / "pybtf" / source).exists(), source
