"""Damaged inputs, each with one fault and the place that the message must name.

`BAD` are files that must be refused. `ODD` are files that may be encoded or refused: what matters is that pybtf ends.
(On some of them the reference crashes or never ends.) The tests are in `test_bad_input.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.builders.dwarfwriter import Die, Dwarf, Unit, die, dwarf
from tests.builders.kernelish import FLAVOURS, INT, kernel, standard, unit

X86 = FLAVOURS["x86_64"]


class Bad(NamedTuple):
    """What to build, and which parts of the place the error must name."""

    build: Callable[[], bytes]
    section: str | None = None  # the section to be named
    offset: bool = False  # an offset in it (or in the file) has to be given
    unit: int | None = None  # offset of the unit to be named
    die: bool = False  # the DIE has to be given


Build = Callable[[], bytes]
Register = Callable[[Build], Build]
BAD: dict[str, Bad] = {}
ODD: dict[str, Callable[[], bytes]] = {}


def bad(section: str | None = None, offset: bool = True, unit: int | None = None, die: bool = False) -> Register:
    """Registers a builder under its name."""

    def register(build: Callable[[], bytes]) -> Callable[[], bytes]:
        BAD[build.__name__] = Bad(build, section, offset, unit, die)
        return build

    return register


def odd(build: Callable[[], bytes]) -> Callable[[], bytes]:
    ODD[build.__name__] = build
    return build


def load() -> None:
    for module in ("bad_elf", "bad_dwarf", "bad_references", "odd_dwarf"):
        importlib.import_module(f"tests.builders.{module}")


def patched(data: bytes, at: int, new: bytes) -> bytes:
    assert at + len(new) <= len(data)
    return data[:at] + new + data[at + len(new) :]


def written(*children: Die | bytes, **fields: Any) -> Dwarf:
    """One unit with `int`, followed by these children."""
    return dwarf([unit([INT, *children], **fields)])


def of(*children: Die | bytes, **fields: Any) -> bytes:
    return kernel(written(*children, **fields)).data


def with_sections(result: Dwarf, **changes: bytes | None) -> bytes:
    """The kernel with debug sections replaced (`debug_info=...`) or left out (None)."""
    sections = dict(result.sections)
    for name, data in changes.items():
        if data is None:
            sections.pop(f".{name}", None)
        else:
            sections[f".{name}"] = data
    return kernel(result._replace(sections=sections)).data


def typedef(name: str, *attributes: Any, **fields: Any) -> Die:
    return die("typedef", ("name", "string", name), *attributes, **fields)


def three_units(middle: Unit) -> bytes:
    """The unit to be damaged, between two sound ones."""
    return kernel(
        dwarf([unit(standard(X86)), middle, unit([die("typedef", ("name", "string", "last"))])])
    ).data
