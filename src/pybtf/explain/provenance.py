"""The database of where types and functions are from: what `encode --provenance` writes (btf/provenance.py).

The bytes depend on the input and the options alone: rows are in the order of ids, units and names, and nothing says
when or where they were made. (Another version of SQLite may lay out the same rows otherwise.)
"""

from __future__ import annotations

from hashlib import sha256
from itertools import islice

from pybtf.btf import BTF, Kind
from pybtf.btf.provenance import APPLICATION, FORMAT, INDEXES, TABLES
from pybtf.btf.types import DeclTag, FuncProto, Symbol
from pybtf.elf.notes import build_id
from pybtf.errors import OutputError
from pybtf.explain.inquiry import Inquiry
from pybtf.explain.whereabouts import Where
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

CONFLICTING = ("inconsistent", "ambiguous_address")
"""Reasons that are about several descriptions of one name: all of them are listed."""
MOST_CONFLICTS = 10_000
"""Of one function."""

_Place = tuple[int | None, int | None, int | None, int | None]
"""Unit, DIE, file and line: as columns."""


def provenance(inquiry: Inquiry, data: bytes) -> bytes:
    """The database about the BTF `data`, of a run that has noted DIEs. Raises `OutputError` without SQLite."""
    try:
        import sqlite3
    except ModuleNotFoundError:  # another ImportError says what is wrong
        raise OutputError("--provenance: this Python is built without sqlite3") from None
    try:
        return _database(inquiry, data)
    except sqlite3.Error as error:
        if "memory" in str(error):
            raise MemoryError from error
        raise OutputError(f"--provenance: the database cannot be made: {error}") from error


def _database(inquiry: Inquiry, data: bytes) -> bytes:
    from sqlite3 import connect

    tables = _Tables(inquiry)
    connection = connect(":memory:", isolation_level=None)
    try:
        connection.execute("PRAGMA temp_store = MEMORY")  # a file for sorting has limits of its own
        connection.execute("PRAGMA page_size = 4096")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("BEGIN")
        for name, columns in TABLES.items():
            connection.execute(f"CREATE TABLE {name} ({columns}){' WITHOUT ROWID' if name == 'about' else ''}")
        rows: dict[str, Iterable[tuple[Any, ...]]] = {
            "about": _about(inquiry, data), "unit": tables.units(), "type": tables.types(),
            "function": tables.functions(), "conflict": tables.conflicts(), "file": tables.files(),
        }  # fmt: skip
        for name, each in rows.items():
            marks = ", ".join("?" * (TABLES[name].count(",") + 1))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", each)
        for name, on in INDEXES.items():
            connection.execute(f"CREATE INDEX {name} ON {on}")
        connection.execute("COMMIT")
        return connection.serialize()
    finally:
        connection.close()


def _about(inquiry: Inquiry, data: bytes) -> list[tuple[str, str | int]]:
    options = inquiry.options
    identity = build_id(inquiry.image)
    rows: dict[str, str | int] = {
        "format": FORMAT,
        "btf_sha256": sha256(data).hexdigest(),
        "first_type": inquiry.btf.first_id,
        "features": ",".join(options.features.names()),
        "build_id": identity.hex() if identity else "",
    }
    return sorted(rows.items())


class _Tables:
    """The rows of all tables. Files get their numbers in the order in which they are asked for, so they come last."""

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        self.btf: BTF = inquiry.btf
        self.first = self.btf.first_id
        self._whereabouts = inquiry.whereabouts
        self._seen = memoryview(self._whereabouts.origins.types()).cast("I")
        self._described, self._variables = inquiry.fates.places(self._whereabouts.origins.compiled())
        states = {name: state for name, (_, state) in inquiry.emitted.items()}
        dies = inquiry.fates.dies_of_states(states.values())
        self._emitted = {name: dies[state] for name, state in states.items() if state in dies}
        self._own = self._own_dies()
        self._by_reason = inquiry.by_reason("function")
        self._conflicts = self._conflicting()
        self._places = self._all_places()
        self._files: dict[str, int] = {}

    # ---- DIEs ----

    def _own_dies(self) -> dict[int, tuple[int, int, int]]:
        """DIE, definitions and declarations of each type id that is from a DIE."""
        found: dict[int, tuple[int, int, int]] = {}
        for at in range(len(self._seen) // 3):
            die, definitions, declarations = self._seen[3 * at : 3 * at + 3]
            if die:
                found[self.first + at] = die, definitions, declarations
        index = self.btf.index
        for name, ids in index.named(Kind.VAR).items():
            for id, die in zip((id for id in ids if id >= self.first), self._variables.get(name, ()), strict=False):
                found[id] = die, 1, 0
        for name, ids in index.named(Kind.FUNC).items():
            stem = self.inquiry.emitted.get(name, (name, 0))[0]
            if name in self._emitted and ids[-1] >= self.first:
                compiled, abstract, declared, _ = self._described.get(stem, (0, 0, 0, 0))
                found[ids[-1]] = self._emitted[name], compiled + abstract, declared
                function = self.btf.type(ids[-1])
                if isinstance(function, Symbol) and isinstance(self.btf.type(function.type), FuncProto):
                    found.setdefault(function.type, (self._emitted[name], 0, 0))
        for ids in index.named(Kind.DECL_TAG).values():
            for id in ids:
                tag = self.btf.type(id)
                if isinstance(tag, DeclTag) and tag.type in found and id >= self.first:
                    found[id] = found[tag.type][0], 0, 0
        return found

    def _conflicting(self) -> dict[str, list[tuple[int, int, int]]]:
        """Of functions with several descriptions that keep it out of BTF: number of the prototype, from 1, address and
        DIE of each.
        """
        fates = self.inquiry.fates
        found: dict[str, list[tuple[int, int, int]]] = {}
        for reason in CONFLICTING:
            for name in self._by_reason.get(reason, ()):
                numbers: dict[int, int] = {}
                rows = []
                for trace in islice((trace for trace in fates.of(name) if "state" in trace), MOST_CONFLICTS):
                    number = numbers.setdefault(trace["prototype"], len(numbers) + 1)
                    rows.append((number, trace["address"], trace["die"]))
                found[name] = rows
        return found

    def _all_places(self) -> dict[int, Where]:
        """Of each DIE that is in a row."""
        wanted = {die for die, _, _ in self._own.values()}
        wanted.update(die for _, _, _, die in self._described.values())
        wanted.update(die for rows in self._conflicts.values() for _, _, die in rows)
        return self._whereabouts.of(wanted)

    def _place(self, die: int) -> _Place:
        unit, name, line = self._places[die]
        if not name:
            return unit, die, None, None
        return unit, die, self._files.setdefault(name, len(self._files) + 1), line or None

    # ---- rows ----

    def units(self) -> Iterator[tuple[int, int, str]]:
        for number, (start, name, _, _) in enumerate(self._whereabouts.units):
            yield number, start, _plain(name)

    def types(self) -> Iterator[tuple[Any, ...]]:
        nothing = None, None, None, None
        for id, type in enumerate(self.btf, self.first):
            die, definitions, declarations = self._own.get(id, (0, 0, 0))
            place = self._place(die) if die else nothing
            yield id, type.kind.name, _plain(type.name) or None, *place, definitions, declarations

    def functions(self) -> Iterator[tuple[Any, ...]]:
        emitted = self.inquiry.emitted
        ids = self.btf.index.named(Kind.FUNC)
        for number, (name, reason) in enumerate(self._function_names(), 1):
            stem = emitted.get(name, (name, 0))[0]
            compiled, abstract, declared, die = self._described.get(stem, (0, 0, 0, 0))
            die = self._emitted.get(name, die)
            place = self._place(die) if die else (None, None, None, None)
            type = ids[name][-1] if name in ids else None
            yield number, _plain(name), type, reason or None, *place, compiled, abstract, declared

    def _function_names(self) -> list[tuple[str, str]]:
        """All functions with their reasons, by name."""
        return sorted((name, reason) for reason, names in self._by_reason.items() for name in names)

    def conflicts(self) -> Iterator[tuple[Any, ...]]:
        for number, (name, _) in enumerate(self._function_names(), 1):
            for prototype, address, die in self._conflicts.get(name, ()):
                yield number, prototype, f"{address:#x}" if address else None, *self._place(die)

    def files(self) -> Iterator[tuple[int, str]]:
        for name, number in self._files.items():
            yield number, _plain(name)


def _plain(text: str) -> str:
    """A text that is UTF-8: what is not is written as bytes."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
