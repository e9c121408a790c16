"""Small files for rules that cannot be tested with C compilers. Each case is one ELF file, built in memory.

The cases are in `cases_*.py`; this file has their registry and the short names that they are written with.

The expected BTF comes from the reference: `tools/golden/synthetic_golden.py` builds every case, runs the reference and
stores its output in `fixtures/synthetic/`, with the SHA-256 of the input. So a change here without new golden files is
noticed. A case is registered by its function's name; its docstring says which rule it shows.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from tests.builders.dwarfwriter import Die, die
from tests.builders.elfwriter import Symbol
from tests.builders.kernelish import FLAVOURS, kernel, unit

X86 = FLAVOURS["x86_64"]
TEXT = X86.text
COUNTER = Symbol("counter", X86.percpu, 4, "OBJECT", ".data..percpu")


class Options(TypedDict, total=False):
    """Other options for `pybtf.encode`."""

    lang: str
    lang_exclude: str


class Case(NamedTuple):
    name: str
    build: Callable[[], bytes]
    features: str
    beside: Mapping[str, bytes] = {}  # files that must be in the same folder
    options: Options = Options()

    def write(self, path: Path) -> None:
        """Writes the file, and what must be beside it."""
        path.write_bytes(self.build())
        for name, data in self.beside.items():
            (path.parent / name).write_bytes(data)

    def digest(self) -> str:
        """The SHA-256 of all of it."""
        return hashlib.sha256(b"".join((self.build(), *self.beside.values()))).hexdigest()


_MODULES = (
    "types", "layout", "attributes", "functions", "locations", "annotations", "units", "files", "alternate", "bases",
)  # fmt: skip
CASES: dict[str, Case] = {}


def register(case: Case) -> None:
    CASES[case.name] = case


def case(build: Callable[[], bytes]) -> Callable[[], bytes]:
    CASES[build.__name__] = Case(build.__name__, build, "default")
    return build


def case_with(features: str) -> Callable[[Callable[[], bytes]], Callable[[], bytes]]:
    def register(build: Callable[[], bytes]) -> Callable[[], bytes]:
        CASES[build.__name__] = Case(build.__name__, build, features)
        return build

    return register


def of(
    *children: Die | bytes, version: int = 4, extra_symbols: Sequence[Symbol] | None = None, **options: Any
) -> bytes:
    """A kernel whose only unit has these children. `extra_symbols` replace the symbol `f`."""
    if extra_symbols is not None:
        options["symbols"] = [COUNTER, *extra_symbols]
    return kernel([unit(children, version=version)], **options).data


def named(tag: str, name: str, *attributes: Any, **fields: Any) -> Die:
    return die(tag, ("name", "string", name), *attributes, **fields)


def base(name: str | None, size: int, encoding: int = 5, **fields: Any) -> Die:
    names = () if name is None else (("name", "string", name),)
    return die("base_type", *names, ("byte_size", "data1", size), ("encoding", "data1", encoding), **fields)


def typedef(name: str, type: str, **fields: Any) -> Die:
    return named("typedef", name, ("type", "ref4", type), **fields)


def parameter(name: str | None, type: str, *attributes: Any, children: Any = (), **fields: Any) -> Die:
    names = () if name is None else (("name", "string", name),)
    return die("formal_parameter", *names, ("type", "ref4", type), *attributes, children=children, **fields)


def subprogram(
    name: str | None, offset: int | None, *attributes: Any, children: Any = (), **fields: Any
) -> Die:
    names = () if name is None else (("name", "string", name),)
    address = () if offset is None else (("low_pc", "addr", TEXT + offset),)
    return die("subprogram", *names, *address, *attributes, children=children, **fields)


def functions(*names: str) -> list[Symbol]:
    """Symbols for functions at TEXT + 0x10, + 0x20..."""
    return [Symbol(name, TEXT + 16 * n, 16) for n, name in enumerate(names, 1)]


def load() -> dict[str, Case]:
    """All cases of all modules, by name."""
    for module in _MODULES:
        importlib.import_module(f"tests.builders.cases_{module}")
    return CASES
