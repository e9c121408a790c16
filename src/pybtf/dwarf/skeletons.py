"""Whether a file has skeletons: units that are mostly in other files (split.py). Checked for every file.

A look at every unit takes a fiftieth of the time of an encoding, and one section mostly saves it: the addresses of a
skeleton's unit are in `.debug_addr`. A larger file without that section has no skeletons, or only such whose units have
neither code nor variables. (If it has some of these, the core reports them.)
"""

from __future__ import annotations

from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Final, Literal

    Buffer = bytes | bytearray | memoryview

_SKELETON: Final = 4
_GNU_DWO_NAME: Final = b"\xb0\x42"
_GLANCED: Final = 8 << 20
_SMALL: Final = 1 << 18


def has_skeletons(
    sections: Mapping[str, Buffer], give_back: Callable[[int, int], None], *, little: bool
) -> bool:
    """Whether some unit of `info` is a skeleton of DWARF 5; or whether one of DWARF 4 may be, by an attribute of GNU's
    in `abbrev`. What is damaged is none: the core says what is wrong with it.

    `give_back` is called with ranges of `info` that have been looked at: where the file is in memory already, the
    system maps much of it around each header.
    """
    info = sections["info"]
    if "addr" not in sections and len(info) > _SMALL:
        return False
    order: Literal["little", "big"] = "little" if little else "big"
    at, end = 0, len(info) - 16
    given = 0
    gnu: bool | None = None
    while 0 <= at < end:
        size = 4
        length = int.from_bytes(info[at : at + 4], order)
        if length == 0xFFFFFFFF:
            size = 12
            length = int.from_bytes(info[at + 4 : at + 12], order)
        version = int.from_bytes(info[at + size : at + size + 2], order)
        kind = info[at + size + 2]
        if not 2 <= version <= 5:
            break
        if version == 5:
            if kind == _SKELETON:
                return True
        else:
            if gnu is None:
                gnu = _GNU_DWO_NAME in bytes(sections["abbrev"])
            if gnu:
                return True
        at += size + length
        if length == 0:
            break
        if at - given >= _GLANCED:
            give_back(given, min(at, len(info)))
            given = at
    give_back(min(given, len(info)), len(info))
    return False
