"""Lock files: the digests of the BTF of many files, to be kept in a repository and checked in CI.

A lock file is JSON: `schema`, `pybtf`, `compatible_with`, and `files`, an object with an entry for each path, as it was
named: what was asked for (`features`, `lang`, `lang_exclude`, `base`), the `input_sha256`, and the `sha256` and `size`
of the BTF. Keys are sorted, one on a line, so that changes are easy to read in a diff.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from pybtf._version import __version__
from pybtf.errors import InputError, Place
from pybtf.inputs import read_bounded
from pybtf.report import COMPATIBLE_WITH
from pybtf.reproduce.reproduce import Question, Result
from pybtf.support.records import record

SCHEMA = 1
EXPECTED = "a lock file of pybtf reproduce"
LONGEST = 100
"""Characters of what a message shows of a lock file."""


@record(frozen=True)
class Locked:
    """One entry: the question, and the answer that was recorded."""

    question: Question
    input_sha256: str
    sha256: str
    size: int
    base_sha256: str | None = None


def lock_text(results: Sequence[Result]) -> str:
    """The lock file with these results."""
    files = {
        result.question.path: {
            **result.question.to_dict(),
            "input_sha256": result.input_sha256,
            "base_sha256": result.base_sha256,
            "sha256": result.sha256,
            "size": result.size,
        }
        for result in results
    }
    document = {"schema": SCHEMA, "pybtf": __version__, "compatible_with": COMPATIBLE_WITH, "files": files}
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def read_lock(path: str) -> dict[str, Locked]:
    """The entries of a lock file by path, in the file's order. Raises `InputError` if it is none."""
    try:
        with open(path, "rb") as file:
            text = read_bounded(file)
    except (OSError, ValueError) as error:
        from pybtf.unreadable import unreadable

        raise unreadable(path, error, EXPECTED) from error
    try:
        document = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(Place(path), f"not JSON{_where(error)}" if text else "is empty", EXPECTED) from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(Place(path), "another format", f"{EXPECTED}, schema {SCHEMA}")
    files = document.get("files")
    if not isinstance(files, dict):
        raise InputError(Place(path), "no object `files`", EXPECTED)
    if not files:
        raise InputError(Place(path), "no entries", "one for each file that was recorded")
    return {name: _entry(path, name, facts) for name, facts in files.items()}


def _where(error: ValueError | RecursionError) -> str:
    """Where text is not JSON, as far as that is known."""
    if isinstance(error, json.JSONDecodeError):
        return f": line {error.lineno}, column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f": byte {error.object[error.start]:#04x} at offset {error.start:#x} is not UTF-8"
    return ""


def _entry(path: str, name: str, facts: Any) -> Locked:
    try:
        if not isinstance(facts, dict):
            raise ValueError("it is not an object")
        # What was recorded was meant: a module without a base, and one with the base of another kernel.
        question = Question(
            _path(name), _texts(facts["features"]), _text(facts["lang"]), _text(facts["lang_exclude"]),
            None if facts["base"] is None else _path(facts["base"]),
            standalone=facts["base"] is None, force_base=facts["base"] is not None,
        )  # fmt: skip
        base = facts.get("base_sha256")
        return Locked(
            question,
            _digest(facts["input_sha256"]),
            _digest(facts["sha256"]),
            _size(facts["size"]),
            None if base is None else _digest(base),
        )
    except KeyError as error:
        found = f"the entry of {_shown(name)} has no {error}"
        raise InputError(Place(path), found, "all that pybtf reproduce records") from error
    except ValueError as error:
        raise InputError(Place(path), f"the entry of {_shown(name)} is damaged: {error}") from error


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{_shown(value)} is not a string")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{_shown(value)} is not a list")
    return tuple(map(_text, value))


def _path(value: Any) -> str:
    """A name that a file can have. Bytes that are not UTF-8 are lone surrogates of a few kinds; others are nothing."""
    try:
        name = os.fsencode(_text(value))
    except UnicodeEncodeError:
        name = b""
    if not name or b"\0" in name:
        raise ValueError(f"no file is called {_shown(value)}")
    return str(value)


def _size(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{_shown(value)} is not a size")
    return value


def _digest(value: Any) -> str:
    if not is_digest(value):
        raise ValueError(f"{_shown(value)} is not a SHA-256")
    return str(value)


def is_digest(value: Any) -> bool:
    """Whether this is a SHA-256 in lower-case hexadecimal."""
    return isinstance(value, str) and len(value) == 64 and not set(value) - set("0123456789abcdef")
