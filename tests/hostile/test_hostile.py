"""Small files that were written to be slow or large: each must be encoded or refused soon, with little memory.

Processor time and resident memory of a separate process are limited. Each case aims at a straightforward way of doing
things, which would take minutes or gigabytes, or go wrong; the docstrings say which.
"""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.builders.dwarfwriter import uleb
from tests.builders.elfwriter import Section, Symbol, note
from tests.builders.kernelish import FLAVOURS, kernel
from tests.builders.rawdwarf import (
    ADDR,
    DATA1,
    EXPRLOC,
    PRESENT,
    REF4,
    REF_ADDR,
    SEC_OFFSET,
    STRING,
    STRP,
    UDATA,
    RawDwarf,
)
from tests.conftest import environment

X86 = FLAVOURS["x86_64"]

NAME, SIZE, LOW_PC, CONST_VALUE, UPPER, ORIGIN, COUNT, PLACE = 0x03, 0x0B, 0x11, 0x1C, 0x2F, 0x31, 0x37, 0x38
DECLARATION, EXTERNAL, SPECIFICATION, TYPE, LOCATION, ANNOTATION, BIT_SIZE = 0x3C, 0x3F, 0x47, 0x49, 0x02, 0x2139, 0x0D
ARRAY, POINTER, MEMBER, STRUCT, TYPEDEF, SUBROUTINE, SUBRANGE = 0x01, 0x0F, 0x0D, 0x13, 0x16, 0x15, 0x21
CONST, SUBPROGRAM, PARAMETER, VARIABLE, GNU_ANNOTATION, PARTIAL = 0x26, 0x2E, 0x05, 0x34, 0x6001, 0x3C

#: Limits for one case: seconds of processor time, MiB of memory beyond that of an empty run.
SECONDS = 20
MEGABYTES = 400

WORKER = """
import json, resource, sys
import pybtf
from pybtf.errors import PybtfError
from pybtf.support.timings import peak_memory
base = resource.getrusage(resource.RUSAGE_SELF)
try:
    answer = f"{len(pybtf.encode(sys.argv[1], features=sys.argv[2], jobs=1).data)} bytes"
except PybtfError as error:
    answer = f"{type(error).__name__}: {error}"
end = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([answer, end.ru_utime + end.ru_stime - base.ru_utime - base.ru_stime, peak_memory() >> 20]))
"""


class Run(NamedTuple):
    answer: str
    seconds: float
    megabytes: int


def encode(path: Path, features: str = "default") -> Run:
    """Encodes in a separate process. Its limits of time and memory are far above those of the tests."""
    done = subprocess.run(
        [sys.executable, "-c", WORKER, str(path), features],
        capture_output=True,
        text=True,
        timeout=240,
        env=environment(),
        check=False,
        preexec_fn=lambda: __import__("resource").setrlimit(
            __import__("resource").RLIMIT_CPU, (3 * SECONDS, 3 * SECONDS)
        ),
    )
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr[-2000:]}"
    return Run(*json.loads(done.stdout))


Build = Callable[[], bytes]
CASES: dict[str, tuple[Build, str, str]] = {}


def case(expected: str, features: str = "default") -> Callable[[Build], Build]:
    """Registers a builder. `expected` is a part of the message, or "bytes" for a file that is encoded."""

    def register(build: Build) -> Build:
        CASES[build.__name__] = build, expected, features
        return build

    return register


def names(w: RawDwarf, kind: bytes, values: int) -> list[int]:
    """A chain of GNU annotations; returns the offset of its first DIE."""
    text, value = w.string(kind), w.string(b"v")
    chain: list[int] = []
    for _ in range(values):
        after = [(ANNOTATION, REF4, chain[-1])] if chain else []
        chain.append(w.die(GNU_ANNOTATION, (NAME, STRP, text), (CONST_VALUE, STRP, value), *after))
    return chain


# -- DWARF: data that many DIEs share ------------------------------------------------------------------


@case("shared data that expands")
def members_that_share_a_chain_of_tags() -> bytes:
    """30,000 members, each with the same 30,000 declaration tags: 900 million of them."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    chain = names(w, b"btf_decl_tag", 30000)
    w.die(STRUCT, (NAME, STRING, "s"), (SIZE, DATA1, 4), children=True)
    for _ in range(30000):
        w.die(MEMBER, (TYPE, REF4, int_), (PLACE, DATA1, 0), (ANNOTATION, REF4, chain[-1]))
    w.null()
    w.end()
    return w.kernel()


@case("shared data that expands")
def pointers_that_share_a_chain_of_tags() -> bytes:
    """Every type tag of every pointer becomes a type."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    chain = names(w, b"btf_type_tag", 30000)
    for _ in range(30000):
        w.die(POINTER, (TYPE, REF4, int_), (ANNOTATION, REF4, chain[-1]))
    w.end()
    return w.kernel()


@case("shared data that expands")
def a_chain_of_tags_to_and_fro() -> bytes:
    """It goes from unit to unit 60,000 times, and each unit has a name of a megabyte."""
    w = RawDwarf()
    text, value, count = w.string(b"btf_decl_tag"), w.string(b"v"), 30000
    starts = []
    for _ in range(2):
        w.begin(name="x" * 1_000_000)
        starts.append(len(w.info))
        for n in range(count):
            following = starts[0] + 13 * (n + 1)  # right for the second unit; those of the first are set below
            w.die(GNU_ANNOTATION, (NAME, STRP, text), (CONST_VALUE, STRP, value), (ANNOTATION, REF_ADDR, following))
        if len(starts) == 2:
            w.die(STRUCT, (NAME, STRING, "s"), (SIZE, DATA1, 4), (ANNOTATION, REF_ADDR, starts[0]))
        w.end()
    for n in range(count):
        struct.pack_into("<I", w.info, starts[0] + 13 * n + 9, starts[1] + 13 * n)
    return w.kernel()


@case("70000 declaration tags")
def more_tags_than_can_be_counted() -> bytes:
    """This must not be reported as lack of memory."""
    w = RawDwarf()
    w.begin()
    w.base_type()
    kind, value = w.string(b"btf_decl_tag"), w.string(b"v")
    w.die(STRUCT, (NAME, STRING, "s"), (SIZE, DATA1, 4), children=True)
    for _ in range(70000):
        w.die(GNU_ANNOTATION, (NAME, STRP, kind), (CONST_VALUE, STRP, value))
    w.null()
    w.end()
    return w.kernel()


@case("shared data that expands")
def names_that_are_tails_of_one_string() -> bytes:
    """100,000 names with 25 gigabytes of text, in half a megabyte. All of them would be written."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    start = w.string(b"a" * 500_000)
    for i in range(100_000):
        w.die(TYPEDEF, (NAME, STRP, start + 5 * i), (TYPE, REF4, int_))
    w.end()
    return w.kernel()


@case("shared data that expands")
def producers_that_are_one_string() -> bytes:
    """20,000 units; the producer's text would be searched for each."""
    w = RawDwarf()
    start = w.string(b"a" * 500_000)
    code = 1
    w.abbrev += uleb(code) + uleb(0x11) + b"\0" + uleb(0x25) + uleb(STRP) + b"\0\0"
    for _ in range(20_000):
        w.info += struct.pack("<IHIBBI", 12, 4, 0, 8, code, start)
    return w.kernel()


@case("shared data that expands")
def abbreviation_tables_that_overlap() -> bytes:
    """30,000 units; the table of each is the rest of the section from a different place on."""
    w = RawDwarf()
    table = b"".join(uleb(i + 1) + b"\x11\0\0\0" for i in range(100_000))
    places = [0]
    for i in range(30_000):
        places.append(places[-1] + len(uleb(i + 1)) + 4)
    for i in range(30_000):
        w.info += struct.pack("<IHIB", 7 + len(uleb(i + 1)), 4, places[i], 8) + uleb(i + 1)
    w.abbrev += table
    return w.kernel()


@case("shared data that expands", "default,force_cu_merging")
def abbreviation_tables_that_overlap_in_one_logical_unit() -> bytes:
    return abbreviation_tables_that_overlap()


@case("more than 256 attributes without bytes")
def dies_of_one_byte_with_very_many_attributes() -> bytes:
    """200,000 DIEs, each with 200,000 attributes that are entirely in the abbreviation."""
    w = RawDwarf()
    w.abbrev += uleb(1) + b"\x11\1\0\0" + uleb(2) + b"\x0b\0" + (uleb(EXTERNAL) + uleb(PRESENT)) * 200_000 + b"\0\0"
    dies = b"\1" + b"\2" * 200_000 + b"\0"
    w.info += struct.pack("<IHIB", 7 + len(dies), 4, 0, 8) + dies
    return w.kernel()


@case("shared data that expands")
def location_lists_that_are_one() -> bytes:
    """A parameter is looked up in a list of 100,000 entries, and so is the next, 50,000 times."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    entry = struct.pack("<QQH", 1, 2, 1) + b"\x9f"
    w.sections[".debug_loc"] = entry * 100_000 + bytes(16)
    w.die(SUBPROGRAM, (NAME, STRING, "f"), (LOW_PC, ADDR, X86.text), children=True)
    for _ in range(50_000):
        w.die(PARAMETER, (NAME, STRING, "p"), (TYPE, REF4, int_), (LOCATION, SEC_OFFSET, 0))
    w.null()
    w.end()
    return w.kernel()


@case("shared data that expands")
def location_lists_with_one_long_expression() -> bytes:
    w = RawDwarf(version=5)
    w.begin()
    int_ = w.base_type()
    w.sections[".debug_loclists"] = b"\x05" + uleb(600_001) + b"\x96" * 600_000 + b"\x50" + b"\0"
    w.die(SUBPROGRAM, (NAME, STRING, "f"), (LOW_PC, ADDR, X86.text), children=True)
    for _ in range(50_000):
        w.die(PARAMETER, (NAME, STRING, "p"), (TYPE, REF4, int_), (LOCATION, SEC_OFFSET, 0))
    w.null()
    w.end()
    return w.kernel()


def heavy(w: RawDwarf, tag: int, size: int, *attributes: tuple[int, int, Any]) -> int:
    """A DIE with `size` further attributes of one byte each, all of them uninteresting. Returns its offset."""
    return w.die(tag, *attributes, *[(0x77, UDATA, 1)] * size)


@case("bytes")
def a_type_of_itself() -> bytes:
    """The size of a parameter would take 1,024 steps, each through 50 attributes, 3,000 times."""
    w = RawDwarf()
    w.begin()
    w.base_type()
    w.die(SUBPROGRAM, (NAME, STRING, "f"), (LOW_PC, ADDR, X86.text), children=True)
    at = w.at()
    heavy(w, 0x43, 50, (TYPE, REF4, at))
    for _ in range(3000):
        w.die(PARAMETER, (NAME, STRING, "p"), (TYPE, REF4, at))
    w.null()
    w.end()
    return w.kernel()


@case("shared data that expands")
def large_types_in_a_row() -> bytes:
    """The same without a cycle."""
    w = RawDwarf()
    w.begin()
    w.base_type()
    at = heavy(w, 0x43, 100)
    for _ in range(1000):
        at = heavy(w, 0x43, 100, (TYPE, REF4, at))
    w.die(SUBPROGRAM, (NAME, STRING, "f"), (LOW_PC, ADDR, X86.text), children=True)
    for _ in range(20_000):
        w.die(PARAMETER, (NAME, STRING, "p"), (TYPE, REF4, at))
    w.null()
    w.end()
    return w.kernel()


@case("shared data that expands")
def a_large_tag_of_many_members() -> bytes:
    """A declaration tag with 100,000 attributes, read 50,000 times."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    tag = heavy(w, GNU_ANNOTATION, 100_000, (NAME, STRING, "btf_decl_tag"), (CONST_VALUE, STRING, "v"))
    w.die(STRUCT, (NAME, STRING, "s"), (SIZE, DATA1, 4), children=True)
    for _ in range(50_000):
        w.die(MEMBER, (TYPE, REF4, int_), (PLACE, DATA1, 0), (ANNOTATION, REF4, tag))
    w.null()
    w.end()
    return w.kernel()


@case("shared data that expands")
def a_large_origin_of_many_parameters() -> bytes:
    w = RawDwarf()
    w.begin()
    w.base_type()
    origin = heavy(w, PARAMETER, 100_000, (NAME, STRING, "p"))
    w.die(SUBROUTINE, children=True)
    for _ in range(50_000):
        w.die(PARAMETER, (ORIGIN, REF4, origin))
    w.null()
    w.end()
    return w.kernel()


@case("shared data that expands")
def a_large_type_of_many_enumerations() -> bytes:
    """Whether an enumeration of eight bytes is signed depends on its type, however large that is."""
    w = RawDwarf()
    w.begin()
    w.base_type()
    type_ = heavy(w, 0x43, 100_000)
    for _ in range(50_000):
        w.die(0x04, (NAME, STRING, "e"), (SIZE, DATA1, 8), (TYPE, REF4, type_))
    w.end()
    return w.kernel()


# -- DWARF: searching in lists, long chains ------------------------------------------------------------


@case("bytes")
def origins_of_parameters_in_other_functions() -> bytes:
    """A parameter's origin outside the function's origin must not cause a search through all functions."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    abstract = w.die(SUBPROGRAM, (NAME, STRING, "g"), children=True)
    w.null()
    targets: list[int] = []
    for _ in range(60_000):
        w.die(SUBPROGRAM, children=True)
        targets.append(w.die(PARAMETER, (NAME, STRING, "p"), (TYPE, REF4, int_)))
        w.null()
    for target in targets:
        w.die(SUBPROGRAM, (ORIGIN, REF4, abstract), children=True)
        w.die(PARAMETER, (ORIGIN, REF4, target))
        w.null()
    w.end()
    return w.kernel()


@case("at most 65535")
def origins_of_parameters_in_a_long_list() -> bytes:
    """The parameters of one function must not be searched for each parameter of another."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    abstract = w.die(SUBPROGRAM, (NAME, STRING, "f"), children=True)
    targets = [w.die(PARAMETER, (NAME, STRING, "p"), (TYPE, REF4, int_)) for _ in range(300_000)]
    w.null()
    w.die(SUBPROGRAM, (ORIGIN, REF4, abstract), children=True)
    for target in targets:
        w.die(PARAMETER, (ORIGIN, REF4, target))
    w.null()
    w.end()
    return w.kernel()


@case("shared data that expands")
def bitfields_of_a_type_that_is_a_circle_of_typedefs() -> bytes:
    """The size of each of 240,000 bitfields leads through a cycle of 50,000 typedefs."""
    w = RawDwarf()
    w.begin()
    first = w.at()
    step = len(w.info)
    w.die(TYPEDEF, (NAME, STRING, "t"), (TYPE, REF4, first))
    step = len(w.info) - step
    for i in range(1, 50_000):
        w.die(TYPEDEF, (NAME, STRING, "t"), (TYPE, REF4, first + (i - 1) * step))
    struct.pack_into("<I", w.info, len(w.info) - 50_000 * step + step - 4, first + 49_999 * step)
    for name in ("a", "b", "c", "d"):
        w.die(STRUCT, (NAME, STRING, name), (SIZE, DATA1, 4), children=True)
        for _ in range(60_000):
            w.die(MEMBER, (TYPE, REF4, first), (PLACE, DATA1, 0), (BIT_SIZE, DATA1, 1))
        w.null()
    w.end()
    return w.kernel()


@case("bytes")
def variables_of_a_struct_without_instance_members() -> bytes:
    """A struct of size 1 is searched for members, but once for all variables of that type."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    type_ = w.die(STRUCT, (NAME, STRING, "s"), (SIZE, DATA1, 1), children=True)
    for _ in range(65_000):
        w.die(MEMBER, (TYPE, REF4, int_))
    w.null()
    for _ in range(400_000):
        w.die(VARIABLE, (NAME, STRING, "v"), (TYPE, REF4, type_), (LOCATION, EXPRLOC, HERE))
    w.end()
    return w.kernel()


HERE = b"\x03" + struct.pack("<Q", X86.percpu + 8)


@case("bytes")
def variables_in_a_file_with_many_sections() -> bytes:
    """The section of a variable must not be searched among all of them."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    for _ in range(200_000):
        w.die(VARIABLE, (NAME, STRING, "v"), (TYPE, REF4, int_), (LOCATION, EXPRLOC, b"\x03" + bytes(8)))
    w.end()
    return w.kernel(sections=[Section(".s", type="NOBITS", size=1, address=1 << 40) for _ in range(60_000)])


@case("takes too long")
def prototypes_that_fan_out() -> bytes:
    """Each pair of `const` chains of different lengths is a comparison of its own, and all of them match. The first of
    each has its size.
    """
    n = 8000
    w = RawDwarf()
    for all_the_same in (True, False):
        w.begin()
        types = [w.base_type()]
        for _ in range(n):
            types.append(w.die(CONST, (TYPE, REF4, types[-1]), (SIZE, DATA1, 4)))
        w.die(SUBPROGRAM, (NAME, STRING, "f"), (LOW_PC, ADDR, X86.text), children=True)
        for i in range(n):
            w.die(PARAMETER, (NAME, STRING, "p"), (TYPE, REF4, types[-1 if all_the_same else i + 1]))
        w.null()
        w.end()
    return w.kernel()


@case("bytes")
def uncertain_types_in_a_row() -> bytes:
    """Doubt about the last of 20,000 structs spreads to the first by one struct at a time."""
    w = RawDwarf()
    for unit in range(2):
        w.begin()
        int_ = w.base_type()
        w.die(STRUCT, (NAME, STRING, "s0"), (SIZE, DATA1, 4), children=True)
        w.die(MEMBER, (NAME, STRING, f"m{unit}"), (TYPE, REF4, int_), (PLACE, DATA1, 0))
        w.null()
        declared = w.die(STRUCT, (NAME, STRING, "s20000"), (DECLARATION, PRESENT, True))
        for i in range(20_000, 0, -1):
            target = w.die(POINTER, (TYPE, REF4, declared))
            declared = w.die(STRUCT, (NAME, STRING, f"s{i - 1}"), (DECLARATION, PRESENT, True))
            below = w.die(POINTER, (TYPE, REF4, declared))
            w.die(STRUCT, (NAME, STRING, f"s{i}"), (SIZE, DATA1, 8), children=True)
            w.die(MEMBER, (NAME, STRING, "p"), (TYPE, REF4, below), (PLACE, DATA1, 0))
            w.null()
            del target
        w.end()
    return w.kernel()


@case("bytes")
def structs_that_differ_in_elements_of_arrays() -> bytes:
    """All pairs of 8,000 structs would be compared, and for each pair everything that they reach: first by the search
    for uncertain types, which gives up and keeps everything; then by the de-duplication, as in the reference, whose
    steps are limited but enough for these.
    """
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    for i in range(8000):
        type_ = int_
        for digit in f"{i:014b}":
            type_ = w.die(POINTER if digit == "1" else CONST, (TYPE, REF4, type_))
        array = w.die(ARRAY, (TYPE, REF4, type_), children=True)
        w.die(SUBRANGE, (COUNT, DATA1, 4))
        w.null()
        pointer = w.die(POINTER, (TYPE, REF4, array))
        w.die(STRUCT, (SIZE, DATA1, 8), children=True)
        w.die(MEMBER, (NAME, STRING, "p"), (TYPE, REF4, pointer), (PLACE, DATA1, 0))
        w.null()
    w.end()
    return w.kernel()


# -- hash tables ---------------------------------------------------------------------------------------


@case("bytes")
def names_of_one_hash() -> bytes:
    """If the multiplication in the hash is known, one factor can be made 0, and the rest of the name does not count."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    zero = struct.pack("<Q", 0xE7037ED1A0B428DB)
    for i in range(150_000):
        text = zero + f"{i:06d}".encode()
        w.die(TYPEDEF, (NAME, STRP, w.string(text)), (TYPE, REF4, int_))
    w.end()
    return w.kernel()


@case("bytes")
def offsets_of_one_slot() -> bytes:
    """DIEs at offsets that a known multiplication maps to one slot of the table of types."""
    w = RawDwarf()
    w.begin()
    w.base_type()
    pad = len(w.info)
    w.die(TYPEDEF + 0x7000, (NAME, STRING, ""))  # an unknown tag: skipped
    pad = len(w.info) - pad
    w.die(POINTER)
    count = 0
    while count < 120_000:
        if ((len(w.info) * 2654435761 & 0xFFFFFFFF) >> 7) & 0x3FFFF < 0x4000:
            w.die(POINTER)
            count += 1
        else:
            w.die(TYPEDEF + 0x7000, (NAME, STRING, ""))
    w.end()
    return w.kernel()


# -- ELF ------------------------------------------------------------------------------------------------


@case("bytes")
def notes_that_overlap() -> bytes:
    """4,000 sections of notes, each with the same 20,000 notes."""
    return patched_sections(note(b"x", 1, b"") * 20_000, 4000, type=7)


@case("overlap")
def relocations_that_overlap() -> bytes:
    relocations = struct.pack("<QQq", 0, 0, 0) * 20_000
    return patched_sections(relocations, 4000, type=4, info=".debug_info", link=".symtab", entsize=24, etype="ET_REL")


def patched_sections(data: bytes, count: int, etype: str = "ET_EXEC", **fields: Any) -> bytes:
    """A kernel with `count` more sections that all consist of the same bytes of the file."""
    extra = [Section(".x", data, **fields), *(Section(".x", **fields) for _ in range(count))]
    made = kernel(extra_sections=extra, type=etype)
    out = bytearray(made.data)
    first = made.header_at[".x"]
    for i in range(1, count + 1):
        out[first + 64 * i + 24 : first + 64 * i + 40] = out[first + 24 : first + 40]
    return bytes(out)


@case("names are more than")
def kfuncs_that_are_tails_of_one_name() -> bytes:
    ids = Section(".BTF_ids", bytes(8), address=0xFFFFFFFF83000000)
    name = "__BTF_ID__func__" * 30_000
    made = kernel(
        extra_sections=[ids],
        extra_symbols=[Symbol(name, ids.address, 8, "OBJECT", ".BTF_ids", "LOCAL") for _ in range(20_000)],
    )
    return made.data


@pytest.mark.parametrize("name", CASES)
def test_ends_soon(name: str, tmp_path: Path) -> None:
    build, expected, features = CASES[name]
    path = tmp_path / f"{name}.elf"
    path.write_bytes(build())
    empty = tmp_path / "empty.elf"
    empty.write_bytes(kernel().data)
    base = encode(empty)
    run = encode(path, features)
    answer = run.answer.replace(str(path), "")
    if expected == "bytes":  # messages contain this word, too
        assert re.fullmatch(r"\d+ bytes", answer), answer
    assert any(part in answer for part in expected.split("|")), answer
    assert run.seconds < SECONDS, run
    assert run.megabytes - base.megabytes < MEGABYTES, run
