"""Values as people and as programs read them: `name = value`, and JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pybtf.btf.values import MAX_NAME, Address, Character, Elements, Enumerated, Group, Raw, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

INDENT = "    "


def as_text(name: str, value: Value, index: str = "") -> Iterator[str]:
    """The lines that show a value, without line ends. `index`: which of several of that name."""
    return _lines(name_shown(name) + index, value, "")


def name_shown(name: str) -> str:
    """A name is repeated for each element of an array, so it must not be of any length."""
    return name if len(name) <= MAX_NAME else name[:MAX_NAME] + "..."


def _lines(name: str, value: Value, indent: str) -> Iterator[str]:
    match value:
        case Group(keyword, rows):
            yield f"{indent}{name} = {{" if name else f"{indent}{keyword} {{"
            for each, inner in rows:
                yield from _lines(name_shown(each), inner, indent + INDENT)
            yield f"{indent}}}"
        case Elements(items, total) if any(isinstance(each, Group | Elements) for each in items):
            for first, last, item in _runs(items):
                index = f"{first}...{last}" if last > first else f"{first}"
                yield from _lines(f"{name}[{index}]", item, indent)
            if total > len(items):
                yield f"{indent}{name}[{len(items)}...{total - 1}]: {total - len(items):,} more"
        case _:
            yield f"{indent}{name} = {_short(value)}"


def _runs(items: list[Value]) -> Iterator[tuple[int, int, Value]]:
    """Elements that are equal, one after the other: the first number, the last one, and what they are."""
    first = 0
    for number, item in enumerate(items, 1):
        if number == len(items) or items[number] != item:
            yield first, number - 1, item
            first = number


def _short(value: Value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case Address(number):
            return f"{number:#x}"
        case Character(number):
            return f"{number} {chr(number)!r}" if 32 <= number < 127 else str(number)
        case Enumerated(name, number):
            return name or str(number)
        case Raw(data, total):
            more = f" ... {total - len(data):,} more" if total > len(data) else ""
            return f"{data.hex(' ')}{more}" if data else "(nothing)"
        case Elements(items, total):
            rest = [f"... {total - len(items):,} more"] if total > len(items) else []
            return f"[{', '.join([*map(_short, items), *rest])}]"
        case _:
            return str(value)


def as_json(value: Value) -> Any:
    """What `json.dumps` takes. Pointers are texts with hexadecimal numbers, enumerators their names."""
    match value:
        case Group(_, rows):
            found: dict[str, Any] = {}
            for name, inner in rows:
                if name:
                    found[name] = as_json(inner)
                else:
                    found |= _unnamed(inner)
            return found
        case Elements(items, _):
            return [as_json(each) for each in items]
        case Raw(data, _):
            return list(data)
        case Character(number):
            return number
        case Address() | Enumerated():
            return _short(value) if isinstance(value, Address) or value.name else value.value
        case float() if value != value or value in (float("inf"), float("-inf")):
            return str(value)  # JSON has no such numbers
        case _:
            return value


def _unnamed(value: Value) -> dict[str, Any]:
    """The members of a struct or union without a name, which are found as if they were those of the outer one."""
    found = as_json(value)
    return found if isinstance(found, dict) else {}
