"""Lock files: the digests of the BTF of many files, to be kept in a repository and checked in CI.

A lock file is JSON: `schema`, `pybtf`, `compatible_with`, and `files`, an object with an entry for each path, as it was
named: what was asked for (`features`, `lang`, `lang_exclude`, `base`), the `input_sha256`, and the `sha256` and `size`
of the BTF. Keys are sorted, one on a line, so that changes are easy to read in a diff.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ._version import __version__
from .errors import InputError, Place
from .records import record
from .report import COMPATIBLE_WITH
from .reproduce import Question, Result

SCHEMA = 1


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
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except OSError as error:
        raise InputError(Place(path), error.strerror or str(error), "a lock file") from error
    except (ValueError, RecursionError) as error:
        raise InputError(Place(path), f"not JSON: {error}", "a lock file of pybtf reproduce") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(Place(path), "another format", f"a lock file of pybtf reproduce, schema {SCHEMA}")
    files = document.get("files")
    if not isinstance(files, dict):
        raise InputError(Place(path), "no object `files`", "a lock file of pybtf reproduce")
    return {name: _entry(path, name, facts) for name, facts in files.items()}


def _entry(path: str, name: str, facts: Any) -> Locked:
    try:
        # What was recorded was meant: a module without a base, and one with the base of another kernel.
        question = Question(
            name, tuple(map(_text, facts["features"])), _text(facts["lang"]), _text(facts["lang_exclude"]),
            None if facts["base"] is None else _text(facts["base"]),
            standalone=facts["base"] is None, force_base=facts["base"] is not None,
        )  # fmt: skip
        base = facts.get("base_sha256")
        return Locked(
            question,
            _digest(facts["input_sha256"]),
            _digest(facts["sha256"]),
            int(facts["size"]),
            None if base is None else _digest(base),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(Place(path), f"the entry of {name!r} is damaged: {error!r}", "all its keys") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no string")
    return value


def _digest(value: Any) -> str:
    if not is_digest(value):
        raise ValueError(f"{value!r} is no SHA-256")
    return str(value)


def is_digest(value: Any) -> bool:
    """Whether this is a SHA-256 in lower-case hexadecimal."""
    return isinstance(value, str) and len(value) == 64 and not set(value) - set("0123456789abcdef")
