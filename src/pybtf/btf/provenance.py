"""Where the types and functions of a BTF are from: the file that `pybtf encode --provenance` writes.

It is an SQLite database, so that of 100,000 types only the requested ones are read, and so that anybody can query it:
every language reads it, and there is a shell for it. It belongs to one BTF, whose digest it has. Its contents are not
trusted: tables that are not tables, numbers that are texts and the like are an `InputError`, and so is a query that
takes far more steps than the file has bytes.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from pybtf.errors import InputError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Any

FORMAT = 1
APPLICATION = 0x70_42_54_46
"""SQLite's mark for whose database it is: pBTF."""
TABLES = {
    "about": "key TEXT PRIMARY KEY, value NOT NULL",
    "file": "id INTEGER PRIMARY KEY, name TEXT NOT NULL",
    "unit": "id INTEGER PRIMARY KEY, start INTEGER NOT NULL, name TEXT NOT NULL",
    "type": (
        "id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT, unit INTEGER REFERENCES unit, die INTEGER, "
        "file INTEGER REFERENCES file, line INTEGER, definitions INTEGER NOT NULL, declarations INTEGER NOT NULL"
    ),
    "function": (
        "id INTEGER PRIMARY KEY, name TEXT NOT NULL, type INTEGER REFERENCES type, reason TEXT, "
        "unit INTEGER REFERENCES unit, die INTEGER, file INTEGER REFERENCES file, line INTEGER, "
        "compiled INTEGER NOT NULL, abstract INTEGER NOT NULL, declarations INTEGER NOT NULL"
    ),
    "conflict": (
        "function INTEGER NOT NULL REFERENCES function, prototype INTEGER NOT NULL, address TEXT, "
        "unit INTEGER REFERENCES unit, die INTEGER, file INTEGER REFERENCES file, line INTEGER"
    ),
}
"""The tables with their columns (docs/provenance.md)."""
INDEXES = {"type_by_name": "type(name)", "function_by_name": "function(name)"}

_STEPS = 10_000
"""SQLite's instructions between two looks at how many there have been."""
_LIMIT_LENGTH = 0
"""SQLite's number of the limit on bytes of a value."""
_LEAST = 65536
_PLACE = "unit.name, x.die, file.name, x.line"
_JOINED = "LEFT JOIN unit ON unit.id = x.unit LEFT JOIN file ON file.id = x.file"


class Source(NamedTuple):
    """Where something is from: the unit, the DIE, and file and line of the declaration, as far as they are known."""

    unit: str
    die: int | None
    file: str
    line: int
    definitions: int
    """How many of it units have, before those that are equal became one."""
    declarations: int

    @property
    def place(self) -> str:
        """`include/net/sock.h:361`, or the unit, or nothing."""
        return f"{self.file}:{self.line}" if self.file else self.unit

    @property
    def text(self) -> str:
        """`include/net/sock.h:361 in the unit net/core/sock.c`, or nothing."""
        return f"{self.place} in the unit {self.unit}" if self.unit not in ("", self.file, self.place) else self.place

    def to_dict(self) -> dict[str, Any]:
        """As JSON's types."""
        return {
            "unit": self.unit, "die": None if self.die is None else f"{self.die:#x}", "file": self.file,
            "line": self.line, "definitions": self.definitions, "declarations": self.declarations,
        }  # fmt: skip


class Provenance:
    """An open database, of the BTF `data` (raw)."""

    def __init__(self, path: str, data: bytes | memoryview, name: str) -> None:
        """Raises `InputError` if the file is none, is damaged, or is of another BTF; `name` is that BTF's."""
        self._begin(path, self._open(path), data, name)

    @classmethod
    def from_bytes(cls, database: bytes, data: bytes | memoryview, name: str) -> Provenance:
        """From the bytes of a database. Raises as the constructor."""
        from sqlite3 import connect

        found = cls.__new__(cls)
        found._size = len(database)
        connection = connect(":memory:")
        connection.deserialize(database)
        found._begin(name, connection, data, name)
        return found

    def _begin(self, path: str, connection: sqlite3.Connection, data: bytes | memoryview, name: str) -> None:
        self.path = path
        self._steps = 0
        self._connection = connection
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        connection.set_progress_handler(self._count, _STEPS)
        connection.setlimit(_LIMIT_LENGTH, max(self._size, _LEAST))
        try:
            self._check(sha256(data).hexdigest(), name)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Provenance:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def __del__(self) -> None:
        """A command keeps it open to its end; Python 3.13 warns of a connection that nobody closes."""
        if connection := getattr(self, "_connection", None):
            connection.close()

    def type(self, id: int) -> Source | None:
        """Where a type is from; None if nothing is known of it."""
        query = f"SELECT {_PLACE}, x.definitions, x.declarations FROM type AS x {_JOINED} WHERE x.id = ?"
        return next((_source(row, self.path) for row in self._rows(query, (id,))), None)

    def units_and_files(self) -> dict[int, tuple[str, str]]:
        """By type id, for all that are known: the unit, and the file that has the declaration; empty if not known."""
        units, files = (dict(self._rows(f"SELECT id, name FROM {table}")) for table in ("unit", "file"))
        rows = self._rows("SELECT id, unit, file FROM type")
        found = {id: (units.get(unit) or "", files.get(file) or "") for id, unit, file in rows}
        if not all(isinstance(text, str) for texts in found.values() for text in texts):
            raise InputError(self.path, "a damaged database (a value of another sort)", "a whole one")
        return found

    # ---- the file ----

    def _open(self, path: str) -> sqlite3.Connection:
        import os
        from urllib.parse import quote

        try:
            import sqlite3
        except ModuleNotFoundError:  # another ImportError says what is wrong
            raise InputError(path, "a database, and this Python is built without sqlite3", "sqlite3") from None
        try:
            with open(path, "rb") as file:
                self._size = os.fstat(file.fileno()).st_size
                head = file.read(100)
            if not head.startswith(b"SQLite format 3\0") or int.from_bytes(head[68:72], "big") != APPLICATION:
                raise InputError(path, "another kind of file", "what pybtf encode --provenance writes")
            return sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1", uri=True)
        except OSError as error:
            from pybtf.unreadable import unreadable

            raise unreadable(path, error, "what pybtf encode --provenance writes") from error
        except sqlite3.Error as error:
            raise InputError(path, f"cannot be opened ({error})", "a database") from None

    def _count(self) -> bool:
        """Whether a query takes too long."""
        self._steps += _STEPS
        return self._steps > 1_000_000 + 100 * self._size

    def _check(self, digest: str, name: str) -> None:
        self._rows("PRAGMA trusted_schema = OFF")
        self._rows("PRAGMA cell_size_check = ON")
        there = {row[0] for row in self._rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        about = dict(self._rows("SELECT key, value FROM about")) if there >= set(TABLES) else {}
        if about.get("format") != FORMAT:
            found = f"format {about['format']!r:.20}" if "format" in about else "a database without the tables"
            raise InputError(self.path, found, f"what pybtf encode --provenance writes, format {FORMAT}")
        if about.get("btf_sha256") != digest:
            hint = "Use the BTF and the database that one encode --provenance run wrote."
            raise InputError(self.path, f"the provenance of another BTF than {name}", "that of this BTF", hint)

    def _rows(self, query: str, values: Sequence[int] = ()) -> list[Any]:
        """All rows. Their texts are parts of the file: what a column computes may have any size."""
        import sqlite3

        self._steps = 0
        found, left = [], 4 * self._size
        try:
            for row in self._connection.execute(query, values):
                left -= sum(len(each) for each in row if isinstance(each, str | bytes))
                if left < 0:
                    raise InputError(self.path, "a damaged database (more text than it has bytes)", "a whole one")
                found.append(row)
            return found
        except sqlite3.Error as error:
            if str(error) == "out of memory":
                raise MemoryError from error
            raise InputError(self.path, f"a damaged database ({error})", "a whole one") from None
        except UnicodeDecodeError:  # in the text of an error
            raise InputError(self.path, "a damaged database", "a whole one") from None


def _source(row: tuple[Any, ...], path: str) -> Source:
    unit, die, file, line, definitions, declarations = row
    texts, numbers = (unit, file), (die, line, definitions, declarations)
    if not all(isinstance(each, str | None) for each in texts) or not all(isinstance(n, int | None) for n in numbers):
        raise InputError(path, "a damaged database (a value of another sort)", "a whole one")
    return Source(unit or "", die, file or "", line or 0, definitions or 0, declarations or 0)
