"""JSON as the encoder of `json` writes it with `indent=2`, several times as fast.

With an indentation that encoder goes through a generator for each level of each value. Here a value is made into one
text, and only what stands around very many of them is handed over in pieces.
"""

from __future__ import annotations

from json import dumps
from json.encoder import encode_basestring_ascii as quoted

from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def text(value: Any, before: str = "\n") -> str:
    """The JSON of a value in which all keys are strings. `before`: the line end and the indentation around it."""
    kind = type(value)
    if kind is str:
        return quoted(value)
    if kind is int:
        return str(value)
    if not value or kind not in (dict, list, tuple):
        return dumps(value)
    inner = before + "  "
    if kind is dict:
        # Most values are of these kinds, and a call takes longer than all else.
        rows = [
            f"{quoted(key)}: {quoted(each) if type(each) is str else each if type(each) is int else text(each, inner)}"
            for key, each in value.items()
        ]
        return f"{{{inner}{f',{inner}'.join(rows)}{before}}}"
    return f"[{inner}{f',{inner}'.join([text(each, inner) for each in value])}{before}]"


def pieces(value: Any, levels: int, before: str = "\n") -> Iterator[str]:
    """As `text`, in pieces: what is so many `levels` down is one piece."""
    if not levels or not value or not isinstance(value, dict | list | tuple):
        yield text(value, before)
        return
    inner = before + "  "
    named = isinstance(value, dict)
    mark = "{" if named else "["
    for each in value.items() if isinstance(value, dict) else value:
        yield f"{mark}{inner}{quoted(each[0])}: " if named else mark + inner
        yield from pieces(each[1] if named else each, levels - 1, inner)
        mark = ","
    yield before + ("}" if named else "]")
