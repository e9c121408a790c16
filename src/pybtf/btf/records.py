"""What one record says, by the table of kinds: its names, its references, and what is wrong with it.

The compiled `TypeIndex` finds where records begin, and makes types of those that are sound. It does not say why it
refuses a record: these functions do. They also make the type of a kind that only a layout section describes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pybtf.btf.kinds import (
    FLAG,
    KINDS,
    RECORD_WORDS,
    RESERVED_INFO,
    Kind,
    LayoutEntry,
    Linkage,
    Word,
    info_kind,
    info_vlen,
)
from pybtf.errors import InputError, Place

if TYPE_CHECKING:
    from pybtf.btf.types import Unknown


class Fault(NamedTuple):
    """What is wrong with a record."""

    found: str
    expected: str


def check_layout(layout: Sequence[LayoutEntry], place: Place) -> None:
    """A layout section must agree with what is known, and keep records aligned. Raises InputError."""
    for kind, entry in enumerate(layout):
        spec = KINDS.get(kind)
        at = Place(place.file, place.section, (place.offset or 0) + 4 * kind)
        found = f"layout of kind {kind}: {entry.fixed} bytes and {entry.element} per element"
        if spec is not None and (entry.fixed, entry.element) != (4 * len(spec.fixed), 4 * len(spec.element)):
            raise InputError(at, found, f"{4 * len(spec.fixed)} and {4 * len(spec.element)}")
        if entry.fixed % 4 or entry.element % 4:
            raise InputError(at, found, "multiples of 4")


def fault_of_info(words: array[int], at: int, id: int, layout: Sequence[LayoutEntry]) -> Fault:
    """Why no record of the type section `words`, of the type `id`, can begin at the word `at`."""
    if at + 1 < len(words):
        info = words[at + 1]
        kind, vlen = info_kind(info), info_vlen(info)
        spec = KINDS.get(kind)
        if info & RESERVED_INFO:
            return Fault(f"type {id}: info word {info:#010x}", "zeros in bits 16-23, 29 and 30")
        if spec is None and (kind == 0 or kind >= len(layout)):
            return Fault(f"type {id}: kind {kind}", f"1 to {max(KINDS)}, or one that a layout section describes")
        if spec is not None and vlen > spec.max_vlen:
            return Fault(f"type {id}: {spec.kind.name} with vlen {vlen}", f"at most {spec.max_vlen}")
        if spec is not None and info & FLAG and not spec.flag:
            return Fault(f"type {id}: {spec.kind.name} with kind flag", "none, as it has no meaning for this kind")
    return Fault(f"type {id} runs past the end of the type section", f"at most {4 * (len(words) - at)} bytes")


def fault_of_record(words: array[int], at: int, end_id: int, strings: int) -> Fault | None:
    """What is wrong with the record at the word `at`, whose info word is sound; None if nothing is.

    Ids are valid below `end_id`, names below `strings`.
    """
    spec = KINDS.get(info_kind(words[at + 1]))
    if spec is not None:
        third = words[at + 2]
        extra = words[at + RECORD_WORDS] if spec.fixed else 0
        if spec.third is Word.ZERO and third:
            return Fault(f"{third} as size or type", "0, as this kind has neither")
        if spec.kind is Kind.INT and extra & 0xF000FF00:
            return Fault(f"encoding word {extra:#010x}", "zeros in bits 8-15 and 28-31")
        if spec.kind is Kind.VAR and extra > max(Linkage):
            return Fault(f"linkage {extra}", "0 (static), 1 (global) or 2 (extern)")
        if spec.kind is Kind.DECL_TAG and 1 << 31 <= extra < 0xFFFFFFFF:
            return Fault(f"component {extra - (1 << 32)} of a tag", "-1 or an index")
    for id in references(words, at):
        if id >= end_id:
            return Fault(f"type id {id}", f"below {end_id}")
    for offset in names(words, at):
        if offset >= strings:
            return Fault(f"string offset {offset:#x}", f"below {strings:#x}")
    return None


def unknown_type(words: array[int], at: int, end: int, lookup: Callable[[int], str], id: int) -> Unknown:
    """The type whose record is the words from `at` to `end`; its kind is in no table, its name is one of `lookup`."""
    from pybtf.btf.types import Unknown

    name, info, third = words[at : at + RECORD_WORDS]
    rest = tuple(words[at + RECORD_WORDS : end])
    return Unknown(
        info_kind(info), info_vlen(info), third, rest, name=lookup(name), kind_flag=info >= FLAG, id=id
    )


def names(words: array[int], at: int) -> list[int]:
    """Offsets of the names in the record at `at`, in wire order. Of unknown kinds, the first."""
    info = words[at + 1]
    spec = KINDS.get(info_kind(info))
    if spec is None or Word.NAME not in spec.element:
        return [words[at]]
    width = len(spec.element)
    start, end = at + spec.words(0), at + spec.words(info_vlen(info))
    return [words[at], *words[start + spec.element.index(Word.NAME) : end : width]]


def references(words: array[int], at: int) -> list[int]:
    """Type ids that the record at `at` names, in wire order, void included. Unknown kinds have none."""
    info = words[at + 1]
    spec = KINDS.get(info_kind(info))
    if spec is None:
        return []
    found = [words[at + 2]] if spec.third is Word.TYPE else []
    fixed = at + RECORD_WORDS
    found += [words[fixed + i] for i, word in enumerate(spec.fixed) if word is Word.TYPE]
    width = len(spec.element)
    start, end = at + spec.words(0), at + spec.words(info_vlen(info))
    for column, word in enumerate(spec.element):
        if word is Word.TYPE:
            found += words[start + column : end : width]
    return found
