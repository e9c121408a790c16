"""The compiled core refuses a record, and Python says why: they agree on which records are sound."""

from __future__ import annotations

import struct
from array import array
from random import Random

import pytest

from pybtf.btf.header import pack_layout
from pybtf.btf.kinds import FLAG, KINDS, RESERVED_INFO, Kind, KindSpec, LayoutEntry, Word, default_layout, pack_info
from pybtf.btf.reader import BTF
from pybtf.btf.records import fault_of_record
from pybtf.btf.types import Unknown
from pybtf.errors import InputError
from tests.builders.rawbtf import raw_btf

STRINGS = b"\0a\0"
LIMITS = {Word.NAME: len(STRINGS), Word.TYPE: 2, Word.ZERO: 1}
"""By what a word stands for: the first number that it cannot be, if there is one type."""
NUMBERS = (0, 1, 2, 3, 4, 1 << 8, 1 << 15, 1 << 16, 1 << 28, 1 << 31, 0xFFFFFFFE, 0xFFFFFFFF)


def record(spec: KindSpec, random: Random) -> list[int]:
    """A record whose info word is sound, with at most one word that need not be."""
    vlen = random.choice((0, 1, 3)) if spec.element else random.randint(0, spec.vlen_limit)
    meaning = [Word.NAME, Word.DATA, spec.third, *spec.fixed, *spec.element * vlen]
    words = [random.randrange(LIMITS.get(word, 3)) for word in meaning]
    odd = random.randrange(len(words))
    words[odd] = random.choice(NUMBERS)
    words[1] = pack_info(spec.kind, vlen, bool(spec.flag) and random.random() < 0.5)
    return words


@pytest.mark.parametrize("spec", KINDS.values(), ids=lambda spec: spec.kind.name)
def test_what_is_refused_has_a_fault(spec: KindSpec) -> None:
    random = Random(spec.kind)
    faults: dict[str, int] = {}
    for _ in range(400):
        words = record(spec, random)
        btf = BTF.from_bytes(raw_btf(words, STRINGS))
        fault = fault_of_record(array("I", words), 0, 2, len(STRINGS))
        if fault is None:
            assert btf.type(1).kind is spec.kind
            continue
        faults[fault.expected] = faults.get(fault.expected, 0) + 1
        with pytest.raises(InputError) as error:
            btf.type(1)
        assert f"type 1 ({spec.kind.name}): {fault.found}; expected {fault.expected}" in str(error.value)
    # Each kind of fault that this kind of record can have has been met.
    meaning = [Word.NAME, spec.third, *spec.fixed, *spec.element]
    checked = [word for word in LIMITS if word in meaning]
    assert len(faults) == len(checked) + (spec.kind in (Kind.INT, Kind.VAR, Kind.DECL_TAG))
    assert min(faults.values()) > 5


def described(words: list[int], layout: list[LayoutEntry]) -> bytes:
    """These records, with a layout section if it has entries."""
    if not layout:
        return raw_btf(words, STRINGS)
    section = pack_layout(tuple(layout), little=True)
    return raw_btf(words, STRINGS, more=struct.pack("<2I", 4 * len(words), len(section)), gap=section)


@pytest.mark.parametrize("kind", [0, *KINDS, 20, 21, 25, 31])
def test_where_records_begin(kind: int) -> None:
    """Any info word, with a layout section that has one kind more than is known, or many more, or none."""
    random = Random(kind)
    opened = refused = 0
    for _ in range(300):
        more = [LayoutEntry(8, 4)] * random.choice((0, 1, 40))
        layout = [*default_layout(), *more] if more else []
        vlen = random.choice((0, 0, 1, 2, 3, 9))
        info = pack_info(kind, vlen, random.random() < 0.2) | (random.random() < 0.1) << random.choice((16, 23, 29, 30))
        spec = KINDS.get(kind)
        words = [0, info, 0] + [0] * random.choice((0, 1, 2, 3, 5, 6, 9))
        length = 0
        if spec is not None and vlen <= spec.max_vlen and (spec.flag or not info & FLAG):
            length = spec.words(vlen)
        elif spec is None and 0 < kind < 20 + len(more):
            length = 3 + 2 + vlen
        if info & RESERVED_INFO or not 0 < length <= len(words):
            refused += 1
            with pytest.raises(InputError, match="type 1"):
                BTF.from_bytes(described(words, layout))
            continue
        # What comes after it is cut away, so that it is the only one.
        opened += 1
        btf = BTF.from_bytes(described(words[:length], layout))
        assert list(btf.starts) == [0, length]
        assert isinstance(btf.type(1), Unknown) == (spec is None)
    assert refused > 20
    assert opened > 20 or kind == 0
