"""Arguments of the Python API: those of another kind than it takes get one clear message, a `UsageError`."""

from __future__ import annotations

import os

from pybtf.errors import UsageError
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    T = TypeVar("T")


def other_kind(what: str, value: object, expected: str) -> UsageError:
    return UsageError(f"{what} is of the type {type(value).__name__}; expected {expected}")


def path_of(path: str | bytes | os.PathLike[str], what: str = "path") -> str:
    """The name of a file as text."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise other_kind(what, path, "the name of a file")
    name = os.fsdecode(path)
    if not name:
        raise UsageError(f"{what} is empty; expected the name of a file")
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise UsageError(f"{what} is {name!r}, which no file can be called") from None
    return name


def check_text(text: str, what: str, expected: str = "text") -> None:
    if not isinstance(text, str):
        raise other_kind(what, text, expected)


def number_of(number: Any, what: str, expected: str = "a number") -> int:
    """An integer, also one of another class than Python's (numpy)."""
    if isinstance(number, int):
        return number
    try:
        return int(number.__index__())
    except (AttributeError, TypeError):
        raise other_kind(what, number, expected) from None


def check_items(values: Iterable[Any], what: str, expected: str) -> None:
    """What can be iterated over; text and bytes can, too, but are not meant to be."""
    if isinstance(values, (str, bytes, bytearray, memoryview)) or not hasattr(type(values), "__iter__"):
        raise other_kind(what, values, expected)


def items_of(values: Iterable[T], what: str, expected: str) -> list[T]:
    """As a list."""
    check_items(values, what, expected)
    return list(values)


def parts_of(values: Iterable[T], kind: type[T], what: str) -> tuple[T, ...]:
    """The parts that a type is made with."""
    return check_parts(tuple(items_of(values, f"what is given as {what}", _sequence(kind))), kind, what)


def check_parts(parts: tuple[T, ...], kind: type[T], what: str) -> tuple[T, ...]:
    """The parts of a type: all of the class `kind`. A tuple of the same values is none: its fields have no names."""
    if not isinstance(parts, (tuple, list)):  # they are gone through more than once
        raise other_kind(f"what is given as {what}", parts, _sequence(kind))
    for part in parts:
        if not isinstance(part, kind):
            raise other_kind(f"one of the {what}", part, f"a {_full(kind)}")
    return parts


def _full(kind: type) -> str:
    return f"{kind.__module__}.{kind.__name__}"


def _sequence(kind: type) -> str:
    return f"a sequence of {_full(kind)}"


def check_data(data: Any) -> None:
    """Bytes, or another object that has some."""
    try:
        memoryview(data)
    except TypeError:
        raise other_kind("data", data, "bytes") from None


def check_progress(progress: object) -> None:
    if progress is not None and not callable(progress):
        raise other_kind("progress", progress, "a function: progress(done, total)")
