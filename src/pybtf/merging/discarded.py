"""Functions that would be others if the linker discarded their code.

DWARF to version 4 gives places of parameters by absolute addresses, where a unit has code in several sections. If such
a section is left out of the link, GNU ld makes zeros of these addresses, and two zeros end a list of places: nothing
is known of the parameters any longer. gold and lld leave something else there. In rare cases this decides what
is known of a function, and the index does not record it. So these functions are marked, and merging one of them is an
error if its address is 0 and there is a function symbol of its name.
"""

from __future__ import annotations

from struct import Struct

from pybtf.core.codes import VALUES
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

_NOT_ENCODED: Final = VALUES["unnamed"] | VALUES["empty_name"]


@record(frozen=True)
class _Function:
    """One function of a unit: where it is, the number of its name, the word of its flags, and all of it."""

    at: int
    name: int
    more: int
    data: bytes


def mark_discarded(payload: bytes, cut: bytes, placed: list[bool], order: str) -> bytes:
    """`payload` in which those functions are marked that are others in `cut`, the values of the same object in which
    no list of places has an entry. All of one name in a unit are, for one may have the places of another; but not those
    that have no code anyhow. `placed`: whether it has, of each function and variable in order.
    """
    word = Struct(order + "I")
    out = bytearray(payload)
    first = 0
    for unit, other in zip(_units(payload, word), _units(cut, word), strict=True):
        mine, theirs = list(_functions(payload, unit, word)), list(_functions(cut, other, word))
        names = {one.name for one, two in zip(mine, theirs, strict=True) if one.data != two.data}
        for number, function in enumerate(mine, first):
            if function.name in names and placed[number] and not function.more & _NOT_ENCODED:
                word.pack_into(out, function.at + 8, function.more | VALUES["discarded"])
        first += len(mine) + word.unpack_from(payload, unit + 4 * VALUES["variables"])[0]
    return bytes(out)


def _units(payload: bytes, word: Struct) -> Iterator[int]:
    at = 0
    while at < len(payload):
        yield at
        at += word.unpack_from(payload, at)[0]


def _functions(payload: bytes, unit: int, word: Struct) -> Iterator[_Function]:
    def read(number: int) -> int:
        value: int = word.unpack_from(payload, unit + 4 * number)[0]
        return value

    at = VALUES["head"] + 3 * read(VALUES["tags"])
    for _ in range(read(VALUES["functions"])):
        more = read(at + 2)
        size = VALUES["function_head"] + 2 * ((more & VALUES["elements"]) + (read(at + 1) >> 16))
        start = unit + 4 * at
        yield _Function(start, read(at), more, payload[start : start + 4 * size])
        at += size
