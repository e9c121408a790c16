"""What the compiled core knows of the records of BTF (record_layout.pxd), against the table of kinds (btf/kinds.py)."""

from __future__ import annotations

import pytest

from pybtf.btf.kinds import KINDS, RECORD_WORDS, Kind, KindSpec, Word
from tests.probe.rules_probe import probe_record

HEAD = (Word.NAME, Word.DATA)


def words_of(spec: KindSpec, vlen: int) -> list[Word]:
    """What each word of a record means."""
    return [*HEAD, spec.third, *spec.fixed, *spec.element * (vlen if spec.element else 0)]


def places(words: list[Word], wanted: Word, first: int) -> list[int]:
    return [at for at, word in enumerate(words) if word is wanted and at >= first]


@pytest.mark.parametrize("vlen", [0, 1, 2, 5])
@pytest.mark.parametrize("spec", KINDS.values(), ids=lambda spec: spec.kind.name)
def test_a_record(spec: KindSpec, vlen: int) -> None:
    found = probe_record(spec.kind, vlen)
    words = words_of(spec, vlen)
    names, types = places(words, Word.NAME, RECORD_WORDS), places(words, Word.TYPE, 0)
    length = spec.words(vlen)
    assert length == len(words)
    assert (found["fixed"], found["each"]) == (len(spec.fixed), len(spec.element))
    assert [found[name] for name in ("words", "size", "whole", "cut")] == [length, length, length, 0]
    assert (found["names"], found["refs"]) == (names, types)
    assert found["look"] == (max(names, default=0), max(types, default=0))


@pytest.mark.parametrize("spec", KINDS.values(), ids=lambda spec: spec.kind.name)
def test_the_sets_of_kinds(spec: KindSpec) -> None:
    found = probe_record(spec.kind, 0)
    alone = not spec.fixed and not spec.element
    assert found["third"] == (spec.third is Word.TYPE)
    assert found["link"] == (alone and spec.third is Word.TYPE)
    assert found["typed"] == (spec.element[1:2] == (Word.TYPE,))
    assert found["primitive"] == (Word.TYPE not in (spec.third, *spec.fixed, *spec.element))


@pytest.mark.parametrize("kind", sorted({*range(32)} - {*KINDS}))
def test_a_kind_that_does_not_exist(kind: int) -> None:
    """Void, and kinds that newer programs may write."""
    found = probe_record(kind, 3)
    assert kind == Kind.VOID or kind > max(KINDS)
    assert [found[name] for name in ("fixed", "each", "words", "whole")] == [0, 0, 0, 0]
    assert not any(found[name] for name in ("link", "primitive", "third", "typed"))
