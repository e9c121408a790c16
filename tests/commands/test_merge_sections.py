"""Merges of linked files whose sections are in an unusual order, or not complete."""

from __future__ import annotations

import subprocess
import zlib
from array import array
from pathlib import Path

import pytest

import pybtf
from pybtf.elf.image import ElfImage
from pybtf.elf.layout import section_addresses
from pybtf.elf.values_index import compressed_name
from pybtf.errors import DiscardedError
from pybtf.features import Features
from pybtf.merging.encoding import encode_object
from pybtf.merging.index import find_index, index_of
from pybtf.merging.linked import Sources, merge_file
from pybtf.merging.pieces import INDEX, PAYLOAD, pack
from pybtf.merging.placing import Placing
from pybtf.options import make_options
from pybtf.pipeline.loaded import variable_ranges
from tests.builders.elfwriter import Section, Symbol, bare, elf
from tests.builders.kernelish import relocatable
from tests.commands.test_merge import FEATURES
from tests.conftest import Require

START = 0x10000
"""The address of the first section that is loaded (elf/layout.py)."""
PERCPU = ".data..percpu"


def with_index(tmp_path: Path, names: list[str]) -> Path:
    """A relocatable file with these sections and the index of an object with per-CPU variables, which is large."""
    path = tmp_path / "one.o"
    path.write_bytes(relocatable().data)
    encode_object(str(path), Features.parse(FEATURES), Placing(strip=True, inline=True))
    with ElfImage.open(path) as image:
        section = find_index(image)
        assert section is not None
        (piece,) = index_of(image, section)
    piece = piece._replace(addresses=array("Q", [START] * len(piece.addresses)))
    contents = {INDEX: (pack(piece, little=True) + bytes(2 * START), 0), PERCPU: (bytes(64), 3), "early": (b"x", 0)}
    path = tmp_path / "linked"
    sections = [Section(name, contents[name][0], flags=contents[name][1]) for name in names]
    path.write_bytes(elf(sections, [Symbol("counter", 0, 4, "OBJECT", PERCPU)], type="ET_REL").data)
    return path


@pytest.mark.parametrize("behind", [True, False])
def test_variables_behind_a_large_index(behind: bool, tmp_path: Path) -> None:
    """The index owns no address. If DWARF in its place would, there is a message."""
    path = with_index(tmp_path, ["early", INDEX, PERCPU] if behind else ["early", PERCPU, INDEX])
    found = merge_file(str(path), make_options(FEATURES, 1), Sources())
    assert found.report.variables.kept > 0
    told = [text for text in found.report.warnings if ".data..percpu could be missing" in text]
    assert len(told) == behind


@pytest.mark.parametrize("name", [PAYLOAD, compressed_name(PAYLOAD), INDEX, compressed_name(INDEX), "other"])
def test_values_own_no_address(name: str) -> None:
    """Whatever `objcopy --compress-debug-sections=zlib-gnu` makes of their names."""
    content = (b"bUV1" if name.endswith(INDEX[1:]) else b"") + bytes(2 * START)
    section = Section(name, as_stored(name, content))
    with ElfImage("x", bare([section, Section(PERCPU, bytes(64), flags=3)])) as image:
        ranges = variable_ranges(image, section_addresses(image), Features.parse("var"))
    wanted = [(start, size) for start, size, _, _, wanted in ranges if wanted]
    assert wanted == ([] if name == "other" else [(START, 64)])


def as_stored(name: str, content: bytes) -> bytes:
    """The content as it is stored, with the same number of bytes, even in a compressed section of the old kind."""
    if not name.startswith(".zdebug_"):
        return content
    packed = b"ZLIB" + len(content).to_bytes(8, "big") + zlib.compress(content, 0)
    assert len(packed) >= len(content)
    return packed


WEAK = """
int g(int);
__attribute__((weak)) int w(int a, long b) { return g(a) + b + NUMBER; }
int start NUMBER (int a) { return w(a, NUMBER); }
"""


def linked(folder: Path, require: Require, strip: bool) -> Path:
    """Two objects with one weak function: the linker discards the second's code but keeps its DWARF."""
    names = []
    for number in ("1", "2"):
        source, path = folder / f"w{number}.c", folder / f"w{number}.o"
        source.write_text(WEAK.replace(" NUMBER ", number).replace("NUMBER", number))
        options = ["-gdwarf-4", "-O2", "-ffunction-sections", "-c", "-o", str(path)]
        subprocess.run([require("gcc"), *options, str(source)], check=True, cwd=folder)
        encode_object(str(path), Features.parse(FEATURES), Placing(strip=strip))
        names.append(str(path))
    path = folder / "linked"
    options = ["--gc-sections", "--unresolved-symbols=ignore-all", "-e", "start1", "-o", str(path)]
    subprocess.run([require("ld"), *options, *names], check=True)
    return path


def test_code_that_was_discarded(tmp_path: Path, require: Require) -> None:
    """What DWARF 4 then says depends on the linker. If all DWARF is there, it decides."""
    path = linked(tmp_path, require, strip=False)
    found = merge_file(str(path), make_options(FEATURES, 1), Sources())
    assert bytes(found.data) == bytes(pybtf.encode(path, features=FEATURES).data)
    assert found.report.warnings == [
        f"{path}: {tmp_path}/w2.o has the function w, whose code the linker has discarded: the DWARF of the file is "
        "encoded instead"
    ]


def test_code_that_was_discarded_without_dwarf(tmp_path: Path, require: Require) -> None:
    with pytest.raises(DiscardedError, match=r"w2\.o.*the function w, whose code the linker has discarded"):
        merge_file(str(linked(tmp_path, require, strip=True)), make_options(FEATURES, 1), Sources())
