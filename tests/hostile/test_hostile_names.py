"""Names of megabytes, and names that share their bytes: messages stay short, and time and memory stay bounded."""

from __future__ import annotations

import struct
import time
from array import array
from pathlib import Path

import pytest

from pybtf.cli.main import main
from pybtf.elf.image import ElfImage
from pybtf.features import Features
from pybtf.merging.encoding import encode_object
from pybtf.merging.index import find_index, index_of
from pybtf.merging.linked import Sources, merge_file
from pybtf.merging.pieces import INDEX, PAYLOAD, pack
from pybtf.merging.placing import Placing
from pybtf.options import make_options
from tests.builders import synthetic
from tests.builders.dwarfwriter import Raw, Unit
from tests.builders.elfwriter import Section, Symbol, elf
from tests.builders.kernelish import INT, kernel, relocatable
from tests.hostile.test_hostile_objects import functions


def test_a_long_name_of_a_unit_in_a_message(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The message must not contain all of it."""
    wrong = synthetic.named("typedef", "t", ("type", "ref4", Raw(0x00FFFFFF)))
    root = synthetic.named("compile_unit", "u\x1b" * 100_000, ("language", "data1", 12), children=[INT, wrong])
    path = tmp_path / "x.elf"
    path.write_bytes(kernel([Unit(root)]).data)
    assert main(("encode", "--detached", "-", str(path))) == 1
    said = capfd.readouterr().err
    assert r"(u\x1bu\x1b" in said
    assert r"u\x1b...u\x1b" in said
    assert len(said) < 2000


def indexed(path: Path, sources: tuple[str, ...], named: list[str]) -> None:
    """A file linked from one object, which has values and these sources. Its symbols name the sources."""
    path.write_bytes(relocatable().data)
    encode_object(str(path), Features.parse("default"), Placing(strip=True, inline=True))
    with ElfImage.open(path) as image:
        section = find_index(image)
        assert section is not None
        (piece,) = index_of(image, section)
    piece = piece._replace(addresses=array("Q", bytes(8 * len(piece.addresses))), files=sources)
    table, names = bytearray(24), bytearray(1)
    for name in named:
        table += struct.pack("<IBBHQQ", len(names), 4, 0, 0xFFF1, 0, 0)  # STT_FILE
        names += name.encode() + b"\0"
    sections = [Section(INDEX, pack(piece, little=True)), Section(".strtab", bytes(names), "STRTAB")]
    sections.append(Section(".symtab", bytes(table), "SYMTAB", link=".strtab", info=1, align=8, entsize=24))
    path.write_bytes(elf(sections, None).data)


def test_sources_of_very_many_lengths(tmp_path: Path) -> None:
    """Asking whether each source in the symbol table ends with a source of an object, once for each length, takes 14 s.
    """
    path = tmp_path / "x"
    indexed(path, tuple("x" * length + "o" for length in range(2000)), [f"y{number}.c" for number in range(60_000)])
    start = time.process_time()
    warnings = merge_file(str(path), make_options("default", 1), Sources()).report.warnings
    assert time.process_time() - start < 4
    (warning,) = warnings
    assert "of y0.c, y1.c, y2.c, ... (60000 of the sources" in warning


@pytest.mark.parametrize(
    ("sources", "told"),
    [
        (("a.c",), []), (("a.c", "a.c.c"), []), (("c",), []), (("b.c",), ["pre_a.c"]), (("pre_a.cc",), ["pre_a.c"]),
        (("", "x"), ["pre_a.c"]), (("z.c", "_a.c", "_a.b"), []), (("e_a.c", "a.c"), []), (("_a.", "pre"), ["pre_a.c"]),
        (("pre_a.c",), []),
    ],
)  # fmt: skip
def test_sources_with_a_prefix_are_known_by_their_ends(
    sources: tuple[str, ...], told: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "x"
    indexed(path, sources, ["pre_a.c"])
    warnings = merge_file(str(path), make_options("default", 1), Sources()).report.warnings
    assert [text.split()[6] for text in warnings] == told


def test_sections_of_one_long_name(tmp_path: Path) -> None:
    """Copying the name for each of them, to see whether it is a DWARF section, takes 24 s."""
    path = tmp_path / "x.o"
    long = ".debug_" + "n" * 2_000_000
    sections, _ = functions(1)
    path.write_bytes(elf([*sections, *[Section(long)] * 20_000], [Symbol("f", 0, 8)], type="ET_REL").data)
    start = time.process_time()
    encode_object(str(path), Features.parse("default"), Placing(strip=True))
    assert time.process_time() - start < 4
    with ElfImage.open(path) as image:
        left = [each for each in image.sections if each.name.startswith(".debug_") and each.type]
    assert [each.name for each in left] == [INDEX, PAYLOAD]
