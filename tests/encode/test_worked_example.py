"""The worked example of docs/reduction.md and the smaller ones: the encoder does what their tables say.

The programs are made without a compiler. If there is a compiler, they are also compiled, from the lines of the page.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from pybtf.core.run import Run
from pybtf.options import make_options
from pybtf.pipeline import passes
from pybtf.report import Repeats
from tests.builders.conflicts import Expr, Item, Unit
from tests.builders.conflictswriter import image
from tests.builders.everything import differences
from tests.conftest import ROOT
from tests.probe.rules_probe import probe_kept

PAGE = (ROOT / "docs" / "reduction.md").read_text().split("\n## A worked example\n")[1].split("\n## ")[0]
#: The rows of all tables of each example; the worked example has no title.
ROWS = {
    part.partition("\n")[0]: [re.split(r" *\| *", line)[1:-1] for line in part.splitlines() if line.startswith("| ")]
    for part in PAGE.split("\n### ")
}
CHANGED = ROWS[""]
GCC = shutil.which("gcc")

#: What files include: in C, and as items. `fillers` and `last` are not headers; the second table describes them.
LINES: dict[str, str] = {
    **{name: line for line, name in re.findall(r"^    (\w.*[;}]) +/\* (\w+)\.h", PAGE, re.MULTILINE)},
    "fillers": "".join(f"struct f{n} {{ int x; }} v{n};" for n in range(6)),
    "last": "int last(struct list *l) { return !l->first; }",
}


def to(name: str, number: int = 0) -> Expr:
    return "ptr", ("name", "struct", name, number)


def to_two(element: str) -> Expr:
    return "ptr", ("array", ("base", element), 2)


OWN: Item = ("struct", "item", 8, (("key", ("base", "long"), 0, 0),))
ITEMS: dict[str, list[Item]] = {
    "item": [("struct", "item", 4, (("price", ("base", "int"), 0, 0),))],
    "own": [OWN],
    "list": [("struct", "list", 8, (("first", to("item"), 0, 0),))],
    "shelf": [("struct", "shelf", 8, (("top", to("item"), 0, 0),))],
    "fillers": [("struct", f"f{n}", 8, ()) for n in range(6)],
    "last": [("function", to("list"))],
    "cart": [("struct", "cart", 8, (("goods", to("list"), 0, 0),))],
    "sum": [OWN, ("use", to("item", 1))],
    "name": [("struct", "name", 8, (("text", to_two("char"), 0, 0),))],
    "word": [("struct", "word", 8, (("data", to_two("char"), 0, 0),))],
    "long": [("struct", "word", 8, (("data", to_two("long"), 0, 0),))],
    "pair": [("struct", "pair", 16, (("left", to("name"), 0, 0), ("right", to("word"), 8, 0)))],
}
#: By header: a struct. Each file that includes the header has a variable of it, so that compilers describe it.
VARIABLES = {**{name: name for name in ("item", "list", "shelf", "cart", "name", "word", "pair")}, "long": "word"}
FILES = {"a": "item list", "b": "list", "c": "own list", "d": "item list", "e": "list"}
SHELVES = {"a": "item shelf", "b": "shelf", "c": "own list", "e": "list", "d": "item list"}
#: By row of the second table.
CHANGES = {
    "nothing": FILES,
    "`d.c` has `last`": {**FILES, "d": "item list last"},
    "`e.c` has `last`": {**FILES, "e": "list last"},
    "so it has, and `d.c` six structs more": {**FILES, "d": "item list fillers", "e": "list last"},
    "`c.c` before `b.c`": {name: FILES[name] for name in "acbde"},
    "`a.c` and `b.c` have `shelf` in place of `list`; `d.c` is last": SHELVES,
    "the same, and `e.c` has `last`": {**SHELVES, "e": "list last"},
}
#: The columns of the first table.
WHAT = ("struct item", "*item", "struct list")
NUMBERS = {
    "struct item of 4": "I4",
    "struct item of 8": "I8",
    "struct item; declared": "D",
    "*item": "P",
    "*item, defined": "P+",
    "*item, declared": "P-",
    "struct list of 8": "L",
}


class Type(NamedTuple):
    what: str
    apart: bool
    kept: bool
    id: int  # of the type that it became


class Seen(NamedTuple):
    """What became of the types of each file."""

    repeats: Repeats
    whole: list[str]
    types: dict[str, list[Type]]
    resolved: list[tuple[int, str]]

    def of(self, file: str, what: str) -> Type:
        return next(each for each in self.types[file] if each.what.startswith(what))

    def owner(self, type: Type) -> str:
        """The file whose type it became."""
        return next(file for file, types in self.types.items() if any(x.kept and x.id == type.id for x in types))


Way = Callable[[dict[str, str], Path], Seen]


def look(path: Path, files: list[str]) -> Seen:
    found = []

    def inspect(run: Run, *_: object) -> None:
        found.append(probe_kept(run))

    assert differences(path, (1, 2)) == []
    report = passes.encode_file(str(path), make_options(jobs=1), inspect=inspect, track_dies=True).report
    units, resolved = found[0]
    return Seen(
        report.repeats,
        sorted(file for file, (whole, _) in zip(files, units, strict=True) if whole),
        {file: [Type(*each) for each in types] for file, (_, types) in zip(files, units, strict=True)},
        [(id, files[unit]) for id, unit in resolved],
    )


def made(files: dict[str, str], folder: Path) -> Seen:
    units: list[Unit] = [[item for name in names.split() for item in ITEMS[name]] for names in files.values()]
    path = folder / "program"
    path.write_bytes(image(units))
    return look(path, list(files))


def compiled(files: dict[str, str], folder: Path) -> Seen:
    for file, names in files.items():
        text = [LINES[name] for name in names.split()]
        text += [f"struct {VARIABLES[name]} {name}_of_{file};" for name in names.split() if name in VARIABLES]
        (folder / f"{file}.c").write_text("\n".join(text))
    sources = [f"{file}.c" for file in files]
    subprocess.run([GCC or "gcc", "-g", "-r", "-nostdlib", "-o", "program", *sources], cwd=folder, check=True)
    return look(folder / "program", list(files))


both = pytest.mark.parametrize(
    "way", [made, pytest.param(compiled, marks=pytest.mark.skipif(GCC is None, reason="gcc is not installed"))]
)


def written(type: Type) -> str:
    """As in the first table."""
    return f"`{NUMBERS[type.what]}{'!' if type.apart else ''}`"


def kept_whole(seen: Seen) -> str:
    return "all" if len(seen.whole) == len(seen.types) else ", ".join(f"`{file}.c`" for file in seen.whole)


@both
def test_the_class_list(way: Way, tmp_path: Path) -> None:
    seen = way(FILES, tmp_path)
    for file in FILES:
        types = [seen.of(file, what) for what in WHAT]
        before = [f"`{NUMBERS[type.what].rstrip('+-')}`" for type in types]
        kept = [written(type) for type in types if type.kept]
        assert [f"`{file}.c`", " ".join(before), " ".join(map(written, types)), " ".join(kept) or "none"] in CHANGED


@both
def test_what_the_types_become(way: Way, tmp_path: Path) -> None:
    seen = way(FILES, tmp_path)
    for what in WHAT:
        assert [seen.owner(seen.of(file, what)) for file in FILES] == ["a", "a", "c", "a", "a"]
    assert seen.resolved == [(seen.of("a", "struct item").id, "b")]
    assert (seen.repeats.types_before, seen.repeats.types_compared) == (18, 10)
    assert len({type.id for types in seen.types.values() for type in types}) == 8
    assert "18 types would be compared; these are 10" in PAGE
    assert "The result has eight" in PAGE


@both
@pytest.mark.parametrize("change", CHANGES)
def test_the_units_that_are_kept_whole(way: Way, change: str, tmp_path: Path) -> None:
    seen = way(CHANGES[change], tmp_path)
    assert [change, kept_whole(seen), f"`{seen.owner(seen.of('e', 'struct list'))}.c`"] in CHANGED


@both
def test_a_declaration_that_the_driver_resolves(way: Way, tmp_path: Path) -> None:
    seen = way(CHANGES["`c.c` before `b.c`"], tmp_path)
    assert seen.resolved == []
    assert seen.owner(seen.of("b", "struct item")) == "c"
    assert all(seen.of(file, "struct list").apart for file in FILES)


@both
def test_a_captured_type_is_dropped(way: Way, tmp_path: Path) -> None:
    seen = way(SHELVES, tmp_path)
    assert not any(type.kept for type in seen.types["e"])
    assert [type.what for type in seen.types["d"] if type.kept] == ["struct list of 8"]


def headers(names: str) -> str:
    return ", ".join(f"`{name}.h`" for name in names.split())


@both
@pytest.mark.parametrize("names", ["list", "list cart"])
def test_a_tainted_class(way: Way, names: str, tmp_path: Path) -> None:
    files = {"a": "item list", "b": "list", "c": "own list", "d": names, "e": "item cart list last"}
    seen = way(files, tmp_path)
    row = [headers(names), kept_whole(seen), f"`{seen.owner(seen.of('e', 'struct list'))}.c`"]
    assert row in ROWS["A tainted class"]
    assert seen.owner(seen.of("d", "struct list")) == ("c" if seen.of("d", "struct list").kept else "a")


@both
@pytest.mark.parametrize("names", ["item sum", "item list sum"])
def test_a_name_that_a_unit_has_twice(way: Way, names: str, tmp_path: Path) -> None:
    seen = way({"a": "item list", "b": names, "c": "item list"}, tmp_path)
    after = [written(type) for type in seen.types["b"] if type.what in NUMBERS]
    before = [re.sub("[-+!]", "", each) for each in after]
    found = [headers(names), " ".join(before), " ".join(after), kept_whole(seen)]
    # Compilers choose their own order.
    assert [sorted(cell.split()) for cell in found] in [
        [sorted(cell.split()) for cell in row] for row in ROWS["A name that a unit has twice"]
    ]


@both
@pytest.mark.parametrize("names", ["pair name", "pair name long"])
def test_elements_of_arrays(way: Way, names: str, tmp_path: Path) -> None:
    seen = way({"a": "name word pair", "b": names, "c": "long"}, tmp_path)
    words = [f"`{seen.owner(seen.of(file, 'struct word'))}.c`" for file in "bc"]
    assert [headers(names), kept_whole(seen), *words] in ROWS["Elements of arrays"]


def test_the_rows_of_the_page() -> None:
    assert [row[0] for row in CHANGED] == ["unit", *(f"`{file}.c`" for file in FILES), "change", *CHANGES]
    assert [len(rows) for rows in ROWS.values()] == [len(CHANGED), 3, 3, 3]
