"""Where each record of a type section begins.

Records have no length field and no table leads to them: the only way to type 50,000 leads past 49,999 others.
A kernel has about 100,000 records, but only a few hundred different `info` words, and these alone determine
the length. So the walk is one dict lookup per record, and a kind is looked at only when an `info` word is
new.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from pybtf.btf.kinds import FLAG, KINDS, RECORD_WORDS, RESERVED_INFO, LayoutEntry, info_kind, info_vlen
from pybtf.errors import InputError, Place


class _BadInfo(Exception):
    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found, expected)
        self.found = found
        self.expected = expected


def _length(info: int, layout: Sequence[LayoutEntry]) -> int:
    """Words of a record, by its `info` word. Raises _BadInfo for a word no record can have."""
    if info & RESERVED_INFO:
        raise _BadInfo(f"info word {info:#010x}", "zeros in bits 16-23, 29 and 30")
    kind, vlen = info_kind(info), info_vlen(info)
    spec = KINDS.get(kind)
    if spec is None:
        return _unknown_length(kind, vlen, layout)
    if vlen > spec.max_vlen:
        raise _BadInfo(f"{spec.kind.name} with vlen {vlen}", f"at most {spec.max_vlen}")
    if info & FLAG and not spec.flag:
        raise _BadInfo(f"{spec.kind.name} with kind flag", "none, as it has no meaning for this kind")
    return spec.words(vlen)


def _unknown_length(kind: int, vlen: int, layout: Sequence[LayoutEntry]) -> int:
    if kind == 0 or kind >= len(layout):
        raise _BadInfo(f"kind {kind}", f"1 to {max(KINDS)}, or one that a layout section describes")
    entry = layout[kind]
    return RECORD_WORDS + (entry.fixed + vlen * entry.element) // 4


def check_layout(layout: Sequence[LayoutEntry], place: Place) -> None:
    """A layout section must agree with what is known, and keep records aligned."""
    for kind, entry in enumerate(layout):
        spec = KINDS.get(kind)
        at = Place(place.file, place.section, (place.offset or 0) + 4 * kind)
        found = f"layout of kind {kind}: {entry.fixed} bytes and {entry.element} per element"
        if spec is not None and (entry.fixed, entry.element) != (4 * len(spec.fixed), 4 * len(spec.element)):
            raise InputError(at, found, f"{4 * len(spec.fixed)} and {4 * len(spec.element)}")
        if entry.fixed % 4 or entry.element % 4:
            raise InputError(at, found, "multiples of 4")


def index_records(
    words: array[int], layout: Sequence[LayoutEntry], first_id: int, place: Place
) -> array[int]:
    """Word index of each record, in order, and at last that of the end.

    `words` is the type section in native byte order, `place` its start. Raises InputError, naming the record,
    if one is malformed or runs past the end.
    """
    starts = array("I")
    append = starts.append
    lengths: dict[int, int] = {}
    end = len(words)
    at = 0
    try:
        while at < end:
            append(at)
            info = words[at + 1]
            try:
                at += lengths[info]
            except KeyError:
                at += lengths.setdefault(info, _length(info, layout))
    except _BadInfo as error:
        raise InputError(
            _place(starts, place), f"{_last(starts, first_id)}: {error.found}", error.expected
        ) from None
    except IndexError:
        at = end + 1
    if at != end:
        found = f"{_last(starts, first_id)} runs past the end of the type section"
        raise InputError(_place(starts, place), found, f"at most {4 * (end - starts[-1])} bytes")
    append(end)
    return starts


def _last(starts: array[int], first_id: int) -> str:
    return f"type {first_id + len(starts) - 1}"


def _place(starts: array[int], place: Place) -> Place:
    return Place(place.file, place.section, (place.offset or 0) + 4 * starts[-1])
