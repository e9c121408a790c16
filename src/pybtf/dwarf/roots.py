"""Unit headers and root DIEs, for what has to be known of a unit before the core sees it: where the rest of it is.

Only what split DWARF needs is read (DWARF 5, 7.5.1 and 3.1.2): the form of the header, and the attributes of the root.
"""

from __future__ import annotations

from elftools.dwarf.enums import ENUM_DW_AT, ENUM_DW_FORM

from pybtf.errors import InputError
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Final, Literal

    from pybtf.errors import Place

    Buffer = bytes | bytearray | memoryview

SKELETON, SPLIT_COMPILE, SPLIT_TYPE = 4, 5, 6
TYPE: Final = 2
# pyelftools has names for these since 0.30; Debian 12 has 0.29.
GNU_DWO_NAME, GNU_DWO_ID, RANGES_BASE, GNU_ADDR_BASE = range(0x2130, 0x2134)
STR_OFFSETS_BASE, ADDR_BASE, DWO_NAME, COMP_DIR, STMT_LIST = (
    ENUM_DW_AT[f"DW_AT_{name}"] for name in ("str_offsets_base", "addr_base", "dwo_name", "comp_dir", "stmt_list")
)
_WANTED: Final = frozenset((
    STR_OFFSETS_BASE, ADDR_BASE, GNU_ADDR_BASE, DWO_NAME, GNU_DWO_NAME, GNU_DWO_ID, COMP_DIR, STMT_LIST, RANGES_BASE,
))  # fmt: skip

NAME: Final = ENUM_DW_AT["DW_AT_name"]
"""Only read for who asks for it."""


def _forms(*names: str) -> tuple[int, ...]:
    return tuple([ENUM_DW_FORM[f"DW_FORM_{name}"] for name in names])


_SIZES: Final = {
    0: ("flag_present",),
    1: ("data1", "flag", "ref1", "strx1", "addrx1"),
    2: ("data2", "ref2", "strx2", "addrx2"),
    3: ("strx3", "addrx3"),
    4: ("data4", "ref4", "ref_sup4", "strx4", "addrx4"),
    8: ("data8", "ref8", "ref_sig8", "ref_sup8"),
    16: ("data16",),
}
_FIXED: Final = {form: size for size, names in _SIZES.items() for form in _forms(*names)}
_OFFSETS: Final = _forms("strp", "sec_offset", "strp_sup", "line_strp", "GNU_ref_alt", "GNU_strp_alt")
_LEBS: Final = _forms(
    "sdata", "udata", "ref_udata", "strx", "addrx", "loclistx", "rnglistx", "GNU_addr_index", "GNU_str_index"
)
_BLOCKS: Final = dict(zip(_forms("block2", "block4", "block1"), (2, 4, 1), strict=True))
_OTHER_BLOCKS: Final = _forms("block", "exprloc")
_ADDR, _STRING, _STRP, _LINE_STRP, _IMPLICIT, _REF_ADDR = _forms(
    "addr", "string", "strp", "line_strp", "implicit_const", "ref_addr"
)
_STRX: Final = _forms("strx", "strx1", "strx2", "strx3", "strx4", "GNU_str_index")
MOST_ATTRIBUTES = 1000
"""Of a root DIE, or of the abbreviations in front of its own."""
LONGEST_TEXT: Final = 1 << 16
TEXT_TIMES: Final = 16
TEXT_ALWAYS: Final = 1 << 20
"""Of a section of strings, so many times its bytes may be read as texts, and so many bytes more."""
_TEXT_COST: Final = 32
"""What a text counts beside its bytes."""


@record(frozen=True)
class UnitHead:
    """The header of a unit. `identity`: dwo_id (version 5), or the signature of a type unit."""

    start: int
    end: int
    version: int
    wide: bool
    kind: int
    """DW_UT_*; 0 in DWARF 2 to 4."""
    address_size: int
    abbrev: int
    identity: int
    die: int
    """Where the root is."""


class Damaged(ValueError):
    """Bytes that end too early, or make no sense."""


class Budget:
    """How many attributes of abbreviations may still be looked at: units may share tables, and tables overlap. And how
    much text: names may be tails of each other. One that was read is kept.
    """

    def __init__(self, size: int) -> None:
        self.left = 200_000 + size
        self._texts: dict[tuple[str, int], bytes | None] = {}
        self._read: dict[str, int] = {}
        """By section: bytes of texts."""
        self.last: tuple[int, int, list[tuple[int, int, int]]] | None = None
        """The attributes that were looked at last: where their table is, and their code in it."""

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise Damaged

    def text(self, section: str, data: Buffer, at: int) -> bytes:
        """A text of the section with these contents."""
        if (section, at) not in self._texts:
            read = self._read.get(section, 0)
            if read > TEXT_ALWAYS + TEXT_TIMES * len(data):
                raise Damaged
            found = self._texts[section, at] = _text(data, at)
            self._read[section] = read + _TEXT_COST + (len(found) if found is not None else LONGEST_TEXT)
        text = self._texts[section, at]
        if text is None:
            raise Damaged
        return text


class Reader:
    """Numbers from bytes, one after the other. Raises `Damaged` past the end."""

    def __init__(self, data: Buffer, at: int, end: int, order: Literal["little", "big"]) -> None:
        self.data = data
        self.at = at
        self.end = end
        self.order = order

    def number(self, size: int) -> int:
        at = self.at
        self.at += size
        if self.at > self.end:
            raise Damaged
        return int.from_bytes(self.data[at : self.at], self.order)

    def list(self, size: int) -> list[int]:
        """So many bytes."""
        at = self.at
        self.at += size
        if self.at > self.end:
            raise Damaged
        return [*self.data[at : self.at]]

    def leb(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise Damaged


def heads(
    info: Buffer, start: int, end: int, place: Place, *, little: bool, types: bool = False, degrade: bool = False
) -> Iterator[UnitHead]:
    """The headers of the units from `start` to `end`; `types`: of `.debug_types` of DWARF 4. Raises `InputError`.

    With `degrade`, units with a damaged header are passed over, and so is all that follows a length that cannot be
    right, as by the core, which says so.
    """
    order: Literal["little", "big"] = "little" if little else "big"
    at = start
    while at < end:
        read = Reader(info, at, end, order)
        after = end
        try:
            wide, after = _extent(read)
            head = _head(read, at, after, wide, types)
        except Damaged:
            if degrade:
                at = after
                continue
            raise InputError(place, f"a damaged unit header at {at:#x}", "one of DWARF 2 to 5") from None
        yield head
        at = after


def _extent(read: Reader) -> tuple[bool, int]:
    """Whether a unit is of 64-bit DWARF, and where it ends."""
    length = read.number(4)
    wide = length == 0xFFFFFFFF
    if wide:
        length = read.number(8)
    if length > read.end - read.at or length == 0:
        raise Damaged
    return wide, read.at + length


def _head(read: Reader, start: int, end: int, wide: bool, types: bool) -> UnitHead:
    size = 8 if wide else 4
    version, kind, identity = read.number(2), 0, 0
    if version >= 5:
        kind, address_size, abbrev = read.number(1), read.number(1), read.number(size)
        if kind in (SKELETON, SPLIT_COMPILE):
            identity = read.number(8)
    else:
        abbrev, address_size = read.number(size), read.number(1)
    if types or kind in (TYPE, SPLIT_TYPE):
        identity = read.number(8)
        read.number(size)
    if read.at > end:
        raise Damaged
    return UnitHead(start, end, version, wide, kind, address_size, abbrev, identity, read.at)


class Root:
    """The wanted attributes of a root DIE: numbers, or texts as bytes."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.texts: dict[int, bytes] = {}
        self._forms: dict[int, int] = {}

    def name(self) -> bytes | None:
        """The name of the file that has the rest of the unit; None if there is none."""
        return self.texts.get(DWO_NAME, self.texts.get(GNU_DWO_NAME))


def root(
    head: UnitHead,
    info: Buffer,
    abbrev: Buffer,
    sections: Mapping[str, Buffer],
    *,
    little: bool,
    offsets_base: int | None,
    budget: Budget,
    wanted: frozenset[int] = _WANTED,
) -> Root:
    """What the root of a unit says. `sections`: `str`, `line_str` and `str_offsets`, as far as texts are wanted;
    `offsets_base`: of the unit in the last, if the root does not say; `wanted`: attributes. Raises `Damaged`.
    """
    order: Literal["little", "big"] = "little" if little else "big"
    die = Reader(info, head.die, head.end, order)
    found = Root()
    if head.die == head.end:
        return found
    specs = _specs(Reader(abbrev, head.abbrev, len(abbrev), order), die.leb(), budget)
    indexes: dict[int, int] = {}
    for attribute, form, implicit in specs:
        value: int | bytes | None = implicit
        if form != _IMPLICIT:
            value = _value(die, form, head, sections, budget if attribute in wanted else None)
        if attribute not in wanted or value is None:
            continue
        if isinstance(value, bytes):
            found.texts[attribute] = value
        elif form in _STRX:
            indexes[attribute] = value
        else:
            found.numbers[attribute] = value
    base = found.numbers.get(STR_OFFSETS_BASE, offsets_base)
    for attribute, index in indexes.items():
        found.texts[attribute] = _indexed(sections, base, index, 8 if head.wide else 4, order, budget)
    return found


def _specs(read: Reader, code: int, budget: Budget) -> list[tuple[int, int, int]]:
    """The attributes of the abbreviation `code`: attribute, form, value if it is implicit."""
    table = read.at
    if budget.last is not None and budget.last[:2] == (table, code):
        budget.spend(1 + len(budget.last[2]))
        return budget.last[2]
    specs: list[tuple[int, int, int]] = []
    for _ in range(MOST_ATTRIBUTES):
        found = read.leb()
        if found == 0:
            break
        read.leb()
        read.number(1)
        specs = []
        while True:
            attribute, form = read.leb(), read.leb()
            implicit = read.leb() if form == _IMPLICIT else 0
            if attribute == form == 0:
                break
            specs.append((attribute, form, implicit))
            if len(specs) > MOST_ATTRIBUTES:
                raise Damaged
        budget.spend(1 + len(specs))
        if found == code:
            budget.last = table, code, specs
            return specs
    raise Damaged


def _value(
    read: Reader, form: int, head: UnitHead, sections: Mapping[str, Buffer], budget: Budget | None
) -> int | bytes | None:
    """The value of an attribute, of which a text is in another section only if there is a budget for it."""
    size = 8 if head.wide else 4
    if form in (_STRP, _LINE_STRP):
        section, at = "str" if form == _STRP else "line_str", read.number(size)
        return budget.text(section, sections.get(section, b""), at) if budget is not None else None
    if form in _FIXED:
        return read.number(_FIXED[form])
    if form == _ADDR:
        return _address(read, head)
    if form in _OFFSETS:
        return read.number(size)
    if form in _LEBS:
        return read.leb()
    if form == _REF_ADDR:
        return read.number(size) if head.version > 2 else _address(read, head)
    if form == _STRING:
        start = read.at
        while read.number(1):
            pass
        return bytes(read.data[start : read.at - 1])
    if form in _BLOCKS or form in _OTHER_BLOCKS:
        length = read.number(_BLOCKS[form]) if form in _BLOCKS else read.leb()
        if length > read.end - read.at:
            raise Damaged
        read.at += length
        return None
    raise Damaged


def _address(read: Reader, head: UnitHead) -> int:
    if not 0 < head.address_size <= 8:
        raise Damaged  # the core says so, too
    return read.number(head.address_size)


def _text(data: Buffer, at: int) -> bytes | None:
    """None if it does not end, or is too long. Most are short."""
    for size in (256, 4096, LONGEST_TEXT):
        text, nul, _ = bytes(data[at : at + size]).partition(b"\0")
        if nul:
            return text
    return None


def _indexed(
    sections: Mapping[str, Buffer], base: int | None, index: int, size: int, order: Literal["little", "big"],
    budget: Budget,
) -> bytes:  # fmt: skip
    offsets = sections.get("str_offsets", b"")
    at = (base or 0) + index * size
    if at + size > len(offsets):
        raise Damaged
    return budget.text("str", sections.get("str", b""), int.from_bytes(offsets[at : at + size], order))
