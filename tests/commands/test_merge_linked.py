"""What a merge checks, advises and warns about, for files in memory."""

from __future__ import annotations

from array import array
from types import SimpleNamespace
from typing import Any

import pytest

from pybtf.elf.image import ElfImage
from pybtf.elf.values_index import STRIPPED
from pybtf.errors import EncodeError, InputError
from pybtf.features import Features
from pybtf.merging import linked
from pybtf.merging.facts import shaping
from pybtf.merging.linked import _advice, _check_alike, _files_without, _tell_of_sections_behind, _whole_dwarf
from pybtf.merging.objects import _Tokens, object_values
from pybtf.merging.pieces import INDEX, ONE_UNIT, RULES, Piece
from pybtf.options import make_options
from pybtf.support.records import replace
from tests.builders.elfwriter import Section, Symbol, bare, elf
from tests.builders.kernelish import FLAVOURS, relocatable

OPTIONS = make_options("default", 1)


def piece(flags: int = 0, units: int = 1, word: int = 8) -> Piece:
    options = shaping(OPTIONS.features)
    return Piece(flags, units, options, RULES, bytes(16), bytes(16), 0, word, "a.o", ("a.c",), array("Q"))


@pytest.mark.parametrize(
    ("sections", "advice"),
    [
        ([Section(".text", b"x")], "Was it stripped"),
        ([Section(".BTF", b"")], "Was it stripped"),
        ([Section(".BTF", type="NOBITS", size=1)], "Was it stripped"),
        ([Section(".BTF", b"x")], "--compiler-btf merges it"),
        ([Section(".BTF", b"x"), Section(".debug_info", b"x")], "pybtf encode encodes the DWARF"),
    ],
)
def test_advice_for_a_file_without_values(sections: list[Section], advice: str) -> None:
    with ElfImage("linked", bare(sections)) as image:
        assert advice in _advice(image)


@pytest.mark.parametrize(("bits", "word"), [(64, 4), (32, 8)])
def test_addresses_of_another_size(bits: int, word: int) -> None:
    """They cannot belong to this file, unless there are none."""
    with ElfImage("linked", elf([Section(INDEX, b"x")], bits=bits).data) as image:
        section = image.section(INDEX)
        assert section is not None
        good = piece(word=bits // 8)
        _check_alike(image, section, [good, piece(ONE_UNIT, word=word)], OPTIONS)
        with pytest.raises(InputError, match=f"a.o has addresses of {word} bytes; expected {bits // 8}"):
            _check_alike(image, section, [good, piece(word=word)], OPTIONS)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (make_options("default", 1, degrade=True), "an encoding that degrades"),
        (make_options("+force_cu_merging", 1), "the feature force_cu_merging"),
    ],
)
def test_what_cannot_be_had_of_values(options: Any, found: str) -> None:
    linked.check_options("linked", OPTIONS)
    with pytest.raises(EncodeError, match=found):
        linked.check_options("linked", options)


@pytest.mark.parametrize(
    ("pieces", "units", "result"),
    [
        ([piece(), piece(units=2)], 3, None),
        ([piece(), piece(units=2)], 4, "4 units of DWARF, of which 3 have values"),
        ([piece()], 2, "2 units of DWARF, of which 1 has values"),
        ([piece(), piece(ONE_UNIT)], 2, "a.o has units that refer to each other"),
        ([piece(), piece(units=2)], 2, "error: values of objects with DWARF of 3 units, and DWARF of 2"),
        ([piece(), piece(STRIPPED, units=2)], 1, None),
        ([piece(), piece(STRIPPED, units=2)], 3, "error: values of objects with DWARF of 1 unit, and DWARF of 3"),
        ([piece(STRIPPED), piece(ONE_UNIT)], 1, "error: a.o has units that refer to each other"),
    ],
)
def test_when_the_dwarf_is_encoded_instead(
    pieces: list[Piece], units: int, result: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linked, "count_units", lambda _: units)
    with ElfImage("linked", bare([Section(INDEX, b"x"), Section(".debug_info", b"x")])) as image:
        section = image.section(INDEX)
        assert section is not None
        if result is not None and result.startswith("error: "):
            with pytest.raises((InputError, EncodeError), match=result.removeprefix("error: ")):
                _whole_dwarf(image, section, pieces)
        else:
            assert _whole_dwarf(image, section, pieces) == result


def test_loaded_sections_behind_the_index_are_told() -> None:
    strings = b"\0.front\0.behind\0note\0"
    encoded: Any = SimpleNamespace(
        data=b"types" + strings, report=SimpleNamespace(strings_size=len(strings), warnings=[])
    )
    sections = [Section(name, b"x", flags=flags) for name, flags in ((".front", 3), (INDEX, 0), ("note", 0))]
    with ElfImage("linked", bare([*sections, Section(".behind", b"x", flags=3)])) as image:
        section = image.section(INDEX)
        assert section is not None
        _tell_of_sections_behind(image, section, encoded)
    (told,) = encoded.report.warnings
    assert "variables of .behind could be missing" in told


def test_a_file_without_symbols_names_no_sources() -> None:
    for content in (bare([Section(".text", b"x")]), elf([Section(".text", b"x")], [Symbol("f", 0, 1)]).data):
        with ElfImage("linked", content) as image:
            assert _files_without(image, [piece()]) == []


@pytest.mark.parametrize("name", ["arm", "x86_64"])
def test_an_address_that_is_taken_for_another(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In 32 bits, tokens and numbers may be mistaken for each other, so the result is compared with the DWARF."""
    features = Features.parse("default")
    with ElfImage("one.o", relocatable(flavour=FLAVOURS[name]).data) as image:
        assert object_values(image, "one.o", features, False).payload
        right = _Tokens._reference

        def wrong(tokens: _Tokens, address: int) -> Any:
            found = right(tokens, address)
            return replace(found, addend=found.addend + 8)

        monkeypatch.setattr(_Tokens, "_reference", wrong)
        if name == "x86_64":  # no two of these tokens are near each other
            assert object_values(image, "one.o", features, False).payload
        else:
            with pytest.raises(InputError, match="addresses that cannot be told from each other"):
                object_values(image, "one.o", features, False)
