"""Every name and every reference of every kind is compared with its bound, wherever BTF is opened by the core."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pybtf.core.btf.type_view import View
from pybtf.core.dedup.base import Base
from pybtf.errors import InputError
from tests.builders.rawbtf import raw_btf

STRINGS = b"\0a\0"
NAME, TYPE, PROTO = 1, 1, 2
INT = (NAME, 1 << 24, 4, 32)
VOID_PROTO = (0, 13 << 24, 0)

# The words of a record, which becomes type 3; then which of them are names and which are type ids.
KINDS = {
    "int": (INT, [0], []),
    "ptr": ((0, 2 << 24, TYPE), [0], [2]),
    "array": ((0, 3 << 24, 0, TYPE, TYPE, 2), [0], [3, 4]),
    "struct": ((0, 4 << 24 | 2, 8, NAME, TYPE, 0, NAME, TYPE, 32), [0, 3, 6], [4, 7]),
    "union": ((0, 5 << 24 | 2, 4, NAME, TYPE, 0, NAME, TYPE, 0), [0, 3, 6], [4, 7]),
    "enum": ((0, 6 << 24 | 2, 4, NAME, 0, NAME, 1), [0, 3, 5], []),
    "fwd": ((NAME, 7 << 24, 0), [0], []),
    "typedef": ((NAME, 8 << 24, TYPE), [0], [2]),
    "volatile": ((0, 9 << 24, TYPE), [0], [2]),
    "const": ((0, 10 << 24, TYPE), [0], [2]),
    "restrict": ((0, 11 << 24, TYPE), [0], [2]),
    "func": ((NAME, 12 << 24, PROTO), [0], [2]),
    "func_proto": ((0, 13 << 24 | 2, TYPE, NAME, TYPE, NAME, TYPE), [0, 3, 5], [2, 4, 6]),
    "var": ((NAME, 14 << 24, TYPE, 1), [0], [2]),
    "datasec": ((NAME, 15 << 24 | 2, 8, TYPE, 0, 4, TYPE, 4, 4), [0], [3, 6]),
    "float": ((NAME, 16 << 24, 4), [0], []),
    "decl_tag": ((NAME, 17 << 24, TYPE, 0), [0], [2]),
    "type_tag": ((NAME, 18 << 24, TYPE), [0], [2]),
    "enum64": ((0, 19 << 24 | 2, 8, NAME, 0, 0, NAME, 1, 0), [0, 3, 6], []),
}
OPENED: list[Callable[[bytes], object]] = [
    lambda data: View(data, "x"),
    lambda data: Base(data, "x"),
    lambda data: Base(data, "x", True),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("opened", OPENED, ids=["view", "base", "base of one"])
def test_every_word_has_a_bound(opened: Callable[[bytes], object], kind: str) -> None:
    words, names, types = KINDS[kind]

    def made(at: int, value: int) -> bytes:
        record = [*words[:at], value, *words[at + 1 :]]
        return raw_btf([*INT, *VOID_PROTO, *record], STRINGS)

    opened(made(0, words[0]))
    for where, first_wrong, message in ((names, len(STRINGS), "beyond the strings"), (types, 4, "does not exist")):
        for at in where:
            for value in (first_wrong, 0xFFFFFFFF):
                with pytest.raises(InputError, match=f"type 3.*{message}"):
                    opened(made(at, value))
