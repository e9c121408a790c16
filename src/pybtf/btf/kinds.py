"""The one table of BTF kinds: what every record looks like on the wire.

A type section is a sequence of records of 32-bit words. A record starts with three words,

    name    offset in the string section, 0: anonymous
    info    kind flag << 31 | kind << 24 | vlen; bits 16-23, 29 and 30 are reserved and zero
    third   a size in bytes, a type id, or zero, as the kind says

then come the kind's fixed words, then `vlen` elements of equal length. `KINDS` says all of that for each
kind. The reader finds record boundaries with it, the writer and the layout section (which tells other
programs the same facts) are made from it, and nothing else in the package knows the size of a record.

FUNC is the one kind that has no elements and yet uses vlen: it keeps its linkage there.
"""

from __future__ import annotations

from enum import Enum, IntEnum, IntFlag
from typing import NamedTuple

from pybtf.btf.kind_numbers import MAGICS

MAGIC = int.from_bytes(MAGICS[0], "little")
VERSION = 1
RECORD_WORDS = 3
"""Words every record starts with: name, info, third."""

RESERVED_INFO = 0x60FF0000
"""Bits of `info` without meaning, always zero."""


class Kind(IntEnum):
    """Number of a kind in a record's `info` word. VOID is type id 0 and never occurs in a record."""

    VOID = 0
    INT = 1
    PTR = 2
    ARRAY = 3
    STRUCT = 4
    UNION = 5
    ENUM = 6
    FWD = 7
    TYPEDEF = 8
    VOLATILE = 9
    CONST = 10
    RESTRICT = 11
    FUNC = 12
    FUNC_PROTO = 13
    VAR = 14
    DATASEC = 15
    FLOAT = 16
    DECL_TAG = 17
    TYPE_TAG = 18
    ENUM64 = 19


class Linkage(IntEnum):
    """Linkage of a FUNC or VAR."""

    STATIC = 0
    GLOBAL = 1
    EXTERN = 2


class IntEncoding(IntFlag):
    """What the bits of an INT mean; 0 is a plain unsigned number."""

    SIGNED = 1
    CHAR = 2
    BOOL = 4


class Word(Enum):
    """What one 32-bit word of a record stands for."""

    NAME = "name"
    """Offset of a string."""
    TYPE = "type"
    """Id of a type."""
    SIZE = "size"
    """Size in bytes."""
    ZERO = "zero"
    """Not used, always zero."""
    DATA = "data"
    """A number whose meaning depends on the kind."""


class KindSpec(NamedTuple):
    """Wire form of one kind."""

    kind: Kind
    third: Word
    fixed: tuple[Word, ...] = ()
    """Words after the first three, once per record."""
    element: tuple[Word, ...] = ()
    """Words of one of the `vlen` elements."""
    flag: str = ""
    """What the kind flag means; empty: it must be zero."""
    vlen_limit: int = 0
    """Largest vlen of a kind without elements."""

    @property
    def max_vlen(self) -> int:
        return 0xFFFF if self.element else self.vlen_limit

    def words(self, vlen: int) -> int:
        """Length in words of a record with this vlen."""
        return RECORD_WORDS + len(self.fixed) + vlen * len(self.element)


_MEMBER = (Word.NAME, Word.TYPE, Word.DATA)
_BITFIELDS = "offset words are bitfield size << 24 | bit offset"
_SIGNED = "values are signed"
_ATTRIBUTE = "the value is a compiler attribute"

KINDS: dict[int, KindSpec] = {
    spec.kind: spec
    for spec in (
        KindSpec(Kind.INT, Word.SIZE, fixed=(Word.DATA,)),
        KindSpec(Kind.PTR, Word.TYPE),
        KindSpec(Kind.ARRAY, Word.ZERO, fixed=(Word.TYPE, Word.TYPE, Word.DATA)),
        KindSpec(Kind.STRUCT, Word.SIZE, element=_MEMBER, flag=_BITFIELDS),
        KindSpec(Kind.UNION, Word.SIZE, element=_MEMBER, flag=_BITFIELDS),
        KindSpec(Kind.ENUM, Word.SIZE, element=(Word.NAME, Word.DATA), flag=_SIGNED),
        KindSpec(Kind.FWD, Word.ZERO, flag="a union, not a struct"),
        KindSpec(Kind.TYPEDEF, Word.TYPE),
        KindSpec(Kind.VOLATILE, Word.TYPE),
        KindSpec(Kind.CONST, Word.TYPE),
        KindSpec(Kind.RESTRICT, Word.TYPE),
        KindSpec(Kind.FUNC, Word.TYPE, vlen_limit=max(Linkage)),
        KindSpec(Kind.FUNC_PROTO, Word.TYPE, element=(Word.NAME, Word.TYPE)),
        KindSpec(Kind.VAR, Word.TYPE, fixed=(Word.DATA,)),
        KindSpec(Kind.DATASEC, Word.SIZE, element=(Word.TYPE, Word.DATA, Word.SIZE)),
        KindSpec(Kind.FLOAT, Word.SIZE),
        KindSpec(Kind.DECL_TAG, Word.TYPE, fixed=(Word.DATA,), flag=_ATTRIBUTE),
        KindSpec(Kind.TYPE_TAG, Word.TYPE, flag=_ATTRIBUTE),
        KindSpec(Kind.ENUM64, Word.SIZE, element=(Word.NAME, Word.DATA, Word.DATA), flag=_SIGNED),
    )
}

FLAG = 1 << 31


def pack_info(kind: int, vlen: int, flag: bool) -> int:
    """The `info` word of a record. `vlen` must fit 16 bits."""
    return (FLAG if flag else 0) | kind << 24 | vlen


def info_kind(info: int) -> int:
    return info >> 24 & 0x1F


def info_vlen(info: int) -> int:
    return info & 0xFFFF


class LayoutEntry(NamedTuple):
    """One kind in a layout section: bytes after the first three words, once and per element."""

    fixed: int
    element: int
    flags: int = 0


def default_layout() -> tuple[LayoutEntry, ...]:
    """The layout section's entries for kinds 0 to 19 (kind 0 has none of its own: zeros)."""
    entries = [LayoutEntry(0, 0)]
    for kind in range(1, max(KINDS) + 1):
        entries.append(LayoutEntry(4 * len(KINDS[kind].fixed), 4 * len(KINDS[kind].element)))
    return tuple(entries)
