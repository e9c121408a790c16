"""Layers point one way. The imports and cimports of every file of the package are compared with one table; likewise
what tests, their builders and the tools use of each other.

Imports inside functions or only for type checkers count as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pybtf.core import FOLDERS
from tests.conftest import ROOT

SOURCES = ROOT / "src" / "pybtf"

LAYERS = {
    "support": "",
    "basics": "support",
    "core/support": "",
    "core/btf": "basics core/support",
    "core/model": "core/support",
    "core/elf": "core/support",
    "core/strings": "core/support core/btf core/model",
    "core/dwarf": "core/support core/model core/strings",
    "core/classes": "core/support core/btf core/model core/strings",
    "core/functions": "core/support core/btf core/model core/elf core/strings core/dwarf core/classes",
    "core/values": (
        "core/support core/btf core/model core/elf core/strings core/classes core/functions"
    ),
    "core/dedup": "basics core/support core/btf core/strings",
    "core/encode": (
        "basics core/support core/btf core/model core/elf core/strings core/classes core/functions core/dedup"
    ),
    "core/reduction": "core/support core/btf core/model core/classes core/encode",
    "core/dump": "basics core/support core/btf",
    "core/show": "basics core/btf core/dump",
    "core/accept": "core/btf",
    "core/diff": "basics core/support core/btf core/show",
    "core": (
        "core/support core/btf core/model core/elf core/strings "
        "core/dwarf core/classes core/functions core/values core/dedup core/encode core/reduction"
    ),
    "elf": "support basics core/support core/elf",
    "btf": "support basics core/support core/btf core/dedup core/encode core/dump elf",
    "dwarf": "support basics core elf",
    "request": "support basics core/dedup elf btf",
    "pipeline": "support basics core/elf core elf btf dwarf request",
    "verify": "support basics core/btf core/elf core/accept elf btf request",
    "explain": "support basics core core/elf elf btf dwarf request pipeline",
    "differences": "support basics core/btf core/diff btf request",
    "merging": "support basics core/btf core/elf core/support core/values core elf btf dwarf request pipeline",
    "workers": "support core/support elf",
    "pictures": "support basics core/btf core/show btf",
    "interface": "support basics btf request pipeline explain differences",
    "reproduce": "support basics btf dwarf request pipeline workers interface",
    "cli": (
        "support basics core/support core/btf core/dump core/show "
        "elf btf request pipeline verify explain differences merging workers pictures interface reproduce"
    ),
    "pahole": "support basics core/support core/btf core/show elf btf request pipeline merging cli",
    "start": "cli",
}
"""Each layer, from the bottom up, and what it uses besides itself. A folder is a layer; for single files see FILES."""

FILES = {
    "basics": "_version arguments errors unreadable",
    "request": "base encoded features inputs languages options report",
    "workers": "scratch workers",
    "interface": "__init__ api batch",
    "start": "__main__",
}
LAYER_OF = {file: layer for layer, files in FILES.items() for file in files.split()}
OUTSIDE = {
    "src": (),
    "tests/builders": ("tests.builders", "tests.conftest"),
    "tests": ("tests", "tools"),
    "tools": ("tools", "tests.builders"),
}
"""What files of a folder may import of tests and tools. The first folder that fits counts."""

CIMPORT = re.compile(r"^from (pybtf\.core\.[\w.]+) cimport", re.M)


def files() -> list[Path]:
    return sorted(path for path in SOURCES.rglob("*.p*") if path.suffix in (".py", ".pyi", ".pxd"))


def layer(parts: tuple[str, ...]) -> str:
    """The layer of a module: `("core", "btf", "kinds")` is in `core/btf`, `("core", "run")` in `core`."""
    if parts[0] == "core":
        return f"core/{parts[1]}" if len(parts) > 1 and parts[1] in FOLDERS else "core"
    return LAYER_OF.get(parts[0], parts[0])


def modules(path: Path) -> set[tuple[str, ...]]:
    """The modules that a file imports from the package, without the package's own name."""
    if path.suffix == ".pxd":
        return {tuple(name.split(".")[1:]) for name in CIMPORT.findall(path.read_text())}
    found = set()
    for name in imported(path.read_text(), ("pybtf", *path.relative_to(SOURCES).parent.parts)):
        plain = name[2:] if name[:2] == ("cython", "cimports") else name
        if plain[0] == "pybtf" and plain[1:] not in ((), ("__version__",)):
            found.add(plain[1:])
    return found


def imported(text: str, package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The modules that a file of the package imports; for `from pybtf import x`, with x."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (tuple(each.name.split(".")) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) + 1 - node.level] if node.level else ()
            module = (*start, *node.module.split(".")) if node.module else start
            yield from ((*module, each.name) if len(module) == 1 else module for each in node.names)


def trespasses(text: str, path: Path) -> list[str]:
    """Imports from tests and tools that the file may not have. `path` is relative to the checkout."""
    allowed = next(own for folder, own in OUTSIDE.items() if path.is_relative_to(folder))
    names = {".".join(name) for name in imported(text, path.parent.parts) if name[0] in ("tests", "tools")}
    return sorted(name for name in names if not any(f"{name}.".startswith(f"{each}.") for each in allowed))


def uses(path: Path) -> set[str]:
    """The other layers of a file's imports."""
    own = layer(path.relative_to(SOURCES).with_suffix("").parts)
    return {layer(module) for module in modules(path)} - {own}


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(SOURCES)))
def test_a_file_uses_what_its_layer_may(path: Path) -> None:
    own = layer(path.relative_to(SOURCES).with_suffix("").parts)
    allowed = set(LAYERS[own].split())
    assert uses(path) <= allowed, f"{own} may use {sorted(allowed)}"


def test_no_arrow_points_back() -> None:
    order = list(LAYERS)
    for own, used in LAYERS.items():
        assert {order.index(other) for other in used.split()} <= set(range(order.index(own))), own


def test_the_table_says_no_more_than_there_is() -> None:
    arrows: dict[str, set[str]] = {own: set() for own in LAYERS}
    for path in files():
        arrows[layer(path.relative_to(SOURCES).with_suffix("").parts)] |= uses(path)
    assert arrows == {own: set(used.split()) for own, used in LAYERS.items()}


@pytest.mark.parametrize("folder", ["src", "tests", "tools"])
def test_tests_and_tools_use_what_they_may(folder: str) -> None:
    paths = sorted(path for path in (ROOT / folder).rglob("*.py*") if path.suffix in (".py", ".pyi"))
    assert len(paths) > 50
    found = {str(path.relative_to(ROOT)): trespasses(path.read_text(), path.relative_to(ROOT)) for path in paths}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("file", "line", "found"),
    [
        ("src/pybtf/api.py", "from tests import conftest", ["tests.conftest"]),
        ("src/pybtf/api.py", "def f():\n    import tools.judge.oracle", ["tools.judge.oracle"]),
        ("tools/judge/oracle.py", "from tests.btf.test_dedup import HAND", ["tests.btf.test_dedup"]),
        ("tools/judge/oracle.py", "from tests.builders import bad", []),
        ("tools/judge/oracle.py", "from tests import builders", []),
        ("tools/judge/oracle.py", "from tests import builders_of_mine", ["tests.builders_of_mine"]),
        ("tools/judge/oracle.py", "from tests.conftest import ROOT", ["tests.conftest"]),
        ("tests/builders/bad.py", "from tools.judge import btfdiff", ["tools.judge"]),
        ("tests/builders/bad.py", "from ..encode.test_split import check", ["tests.encode.test_split"]),
        ("tests/builders/bad.py", "from . import elfwriter\nfrom tests.conftest import ROOT", []),
        ("tests/encode/test_split.py", "from tools.judge import btfdiff\nfrom tests.encode import test_batch", []),
    ],
)
def test_an_arrow_back_is_seen(file: str, line: str, found: list[str]) -> None:
    assert trespasses(line, Path(file)) == found


def places(table: str) -> list[str]:
    """The subjects of the rows of a table in docs/development.md, without the `/` of folders."""
    rows = (ROOT / "docs" / "development.md").read_text().split(f"\n| {table} |")[1].split("\n\n")[0].splitlines()[2:]
    return [name.rstrip("/") for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def test_the_documents_say_where_each_file_is() -> None:
    there = {path.name for path in SOURCES.iterdir()} - {"__pycache__", "py.typed"}
    assert sorted(places("place in `src/pybtf/`")) == sorted(there)
    assert [name for name in places("folder of `core/`") if name in FOLDERS] == list(FOLDERS)


def test_the_documents_have_the_layers_in_order() -> None:
    found = [layer((name.removesuffix(".py"),)) for name in places("place in `src/pybtf/`")]
    assert [own for own in reversed(LAYERS) if not own.startswith("core/")] == list(dict.fromkeys(found))


def test_every_folder_of_the_core_is_known() -> None:
    """`core/__init__.py` must list them: they have no files of their own that Python would run."""
    folders = {path.name for path in (SOURCES / "core").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(FOLDERS)
    assert [own for own in LAYERS if own.startswith("core/")] == [f"core/{folder}" for folder in FOLDERS]


def test_base_names_of_compiled_modules_differ() -> None:
    """They are in one library, and the C functions that make the modules share one name space."""
    names = [path.stem for path in (SOURCES / "core").rglob("*.py") if path.name != "__init__.py"]
    assert len(names) == len(set(names))


def test_files_are_short() -> None:
    """One concern per file. A file that is longer has two."""
    files = [path for folder in ("src", "tests", "tools") for path in (ROOT / folder).rglob("*.p[yx]*")]
    lengths = {path: path.read_bytes().count(b"\n") for path in files if path.suffix in (".py", ".pxd")}
    assert len(lengths) > 500
    assert [str(path.relative_to(ROOT)) for path, lines in lengths.items() if lines > 600] == []
