"""Kfuncs: which functions the kernel offers to BPF programs, and their flags, from the section `.BTF_ids`.

The kernel's macros leave symbols there. `__BTF_ID__set8__NAME` marks a set of 8-byte pairs, and it is a set
of kfuncs if bit 0 of its second word is set. `__BTF_ID__func__NAME__NUMBER` marks one pair, whose second
word holds the function's flags. A function counts as a kfunc if its pair lies within a set of kfuncs.

Everything is read as pahole reads it: the last symbol table and the last `.BTF_ids`, addresses as
they are on disk, and the bytes in the file even where the section claims to have none (in a debug-only file
they belong to something else).
"""

from __future__ import annotations

from struct import Struct

from pybtf.core.elf.function_table import FunctionTable
from pybtf.core.elf.symbols import SymbolError
from pybtf.elf.constants import SHT_SYMTAB
from pybtf.elf.image import ElfImage, Section
from pybtf.elf.symbols import symbol_error, symbol_source
from pybtf.errors import InputError, shortened
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

IDS_SECTION: Final = ".BTF_ids"

_PREFIX: Final = b"__BTF_ID__"
_SET: Final = b"__BTF_ID__set8__"
_FUNCTION: Final = b"__BTF_ID__func__"
_KFUNC_SET: Final = 1

_Symbols = list[tuple[bytes, int, int]]


def mark_kfuncs(image: ElfImage, table: FunctionTable) -> list[str]:
    """Mark the kfuncs of `image` in `table`, which is not frozen yet. Gives warnings about ignored sets.

    Does nothing if the file has no `.BTF_ids` or no symbol table. Raises `InputError` if a symbol there has
    no usable name, or a member of a set of kfuncs does not lie within the section.
    """
    found, warnings = find_kfuncs(image)
    for name, flags in found:
        table.mark_kfunc(name, flags)
    return warnings


def find_kfuncs(image: ElfImage) -> tuple[list[tuple[bytes, int]], list[str]]:
    """(name, flags) of each member of a set of kfuncs, and warnings about ignored sets. Raises as `mark_kfuncs`."""
    tables = image.of_type(SHT_SYMTAB)
    if not tables or image.section(IDS_SECTION) is None:
        return [], []
    symtab = tables[-1]
    ids = next(s for s in reversed(image.sections) if s.name == IDS_SECTION)
    try:
        symbols = symbol_source(image, symtab).in_section(ids.index, _PREFIX)
    except SymbolError as error:
        raise symbol_error(image, symtab, error) from None
    from _bisect import bisect_right  # without what else `bisect` has; few files have kfuncs

    words = _Words(image, ids)
    warnings: list[str] = []
    found: list[tuple[bytes, int]] = []
    sets = _kfunc_sets(symbols, words, warnings)
    starts = [start for start, _ in sets]
    for symbol, value, _ in symbols:
        name = _function_name(symbol)
        at = bisect_right(starts, value) - 1
        if name is None or at < 0 or value >= sets[at][1]:
            continue
        flags = words.second(value)
        if flags is None:
            raise InputError(
                image.place(ids),
                f"{_told(symbol)} is at {value:#x}",
                f"8 bytes within {ids.addr:#x}..{ids.addr + ids.size:#x}",
            )
        found.append((name, flags))
    return found, warnings


class _Words:
    """The pairs of words in `.BTF_ids`, by address."""

    def __init__(self, image: ElfImage, section: Section) -> None:
        self._data = image.raw(section)
        self._base = section.addr
        self._pair = Struct(f"{image.order}II")

    def second(self, address: int) -> int | None:
        """The second word of the pair at this address; None if it is not completely in the section."""
        at = address - self._base
        if at < 0 or at + self._pair.size > len(self._data):
            return None
        word: int = self._pair.unpack_from(self._data, at)[1]
        return word


def _kfunc_sets(symbols: _Symbols, words: _Words, warnings: list[str]) -> list[tuple[int, int]]:
    """Where kfuncs are: (start, end), sorted, without overlaps."""
    found: list[tuple[int, int]] = []
    for name, value, size in symbols:
        if not name.startswith(_SET):
            continue
        flags = words.second(value)
        if flags is None:
            warnings.append(f"{IDS_SECTION}: {_told(name)} at {value:#x} is outside; ignored")
        elif flags & _KFUNC_SET:
            found.append((value, value + size))
    merged: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _told(symbol: bytes) -> str:
    """A symbol's name, for messages."""
    return shortened(symbol.decode("utf-8", "backslashreplace"))


def _function_name(symbol: bytes) -> bytes | None:
    """`vfs_close` of `__BTF_ID__func__vfs_close__12`."""
    if not symbol.startswith(_FUNCTION):
        return None
    name, separator, number = symbol[len(_FUNCTION) :].rpartition(b"__")
    return name if separator and b"_" not in number else None
