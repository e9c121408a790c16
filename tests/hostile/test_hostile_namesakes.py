"""Nearly equal types of one name, and how long they may be compared; functions of one name with many symbols or
prototypes; and what many parameters share. The limits are those of test_hostile.py.
"""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

from pybtf.errors import InputError
from pybtf.merging.compiler_btf import merge_compiled
from pybtf.options import make_options
from tests.builders import near
from tests.builders.conflictswriter import Writer, written
from tests.builders.dwarfwriter import uleb
from tests.builders.elfwriter import SHF_ALLOC, SHF_EXECINSTR, Section, Symbol, elf
from tests.builders.rawbtf import raw_btf
from tests.builders.rawdwarf import ADDR, DATA1, EXPRLOC, REF4, STRING, STRP, RawDwarf
from tests.encode.test_merge_values import exported
from tests.hostile.test_hostile import (
    BIT_SIZE,
    CONST,
    LOCATION,
    LOW_PC,
    MEMBER,
    NAME,
    ORIGIN,
    PARAMETER,
    PLACE,
    POINTER,
    SECONDS,
    SIZE,
    SPECIFICATION,
    STRUCT,
    SUBPROGRAM,
    SUBROUTINE,
    TYPE,
    TYPEDEF,
    VARIABLE,
    X86,
    encode,
)

FUNC, FUNC_PROTO = 12 << 24, 13 << 24
PIECE = b"\x55\x93\x08"  # the first word of a parameter, in a register
SIGNATURES = "default,true_signature"
SHARED = "shared data that expands"


def in_a_row(structs: int, others: int, members: int = 0) -> bytes:
    """Structs that each refer to the one before, after some other members; and other types. The numbers of both decide
    how long comparing may take.
    """
    w = RawDwarf()
    w.begin()
    to = other = int_ = w.base_type()
    for _ in range(structs):
        at = w.die(STRUCT, (NAME, STRING, "t"), (SIZE, DATA1, 8), children=True)
        for _ in range(members):
            w.die(MEMBER, (TYPE, REF4, int_), (PLACE, DATA1, 0))
        w.die(MEMBER, (NAME, STRING, "p"), (TYPE, REF4, to), (PLACE, DATA1, 0))
        w.null()
        to = w.die(POINTER, (TYPE, REF4, at))
    for _ in range(others):
        other = w.die(POINTER, (TYPE, REF4, other))
    w.end()
    return w.kernel()


def test_namesakes_in_a_row(tmp_path: Path) -> None:
    """Each pair of them is compared to the end, so the time grows with the cube of their number. With 8,192 steps for
    each type of the file, it would be half a minute here.
    """
    path = tmp_path / "file"
    path.write_bytes(in_a_row(3000, 500_000))
    run = encode(path)
    assert "takes too long" in run.answer
    assert run.seconds < SECONDS, run


def test_some_may_be_compared(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(in_a_row(500, 0))
    assert encode(path).answer.endswith(" bytes")


def test_large_ones_may_be_compared(tmp_path: Path) -> None:
    """Few types with very many members: the number of types does not show how much there is to compare."""
    path = tmp_path / "file"
    path.write_bytes(in_a_row(100, 0, 2000))
    assert encode(path).answer.endswith(" bytes")


def test_many_functions_of_many_clones(tmp_path: Path) -> None:
    """Looking at all clones for each function in a compiler's BTF takes quadratic time: minutes for 10 MB."""
    words = [0, FUNC_PROTO, 0] + [1, FUNC, 1] * 60_000
    sections = [
        Section(".text", bytes(256), flags=SHF_ALLOC | SHF_EXECINSTR, address=4096),
        Section(".BTF", raw_btf(words, b"\0a\0")),
    ]
    path = tmp_path / "file"
    path.write_bytes(elf(sections, [Symbol("a.isra.0", 4096 + number % 256) for number in range(60_000)]).data)
    start = time.process_time()
    with pytest.raises(InputError, match="a name or prototype that very many share"):
        merge_compiled(str(path), make_options("default", 1))
    assert time.process_time() - start < SECONDS



def function(w: RawDwarf, *attributes: tuple[int, int, object]) -> None:
    w.die(SUBPROGRAM, (NAME, STRING, "f"), (LOW_PC, ADDR, X86.text), *attributes, children=True)


def test_parameters_of_a_struct_with_many_members(tmp_path: Path) -> None:
    """The member at a parameter's only piece is searched for among all, and none is there. Each is one byte here."""
    w = RawDwarf(5)
    w.begin()
    w.base_type()
    w.abbrev += uleb(100) + uleb(MEMBER) + b"\0" + uleb(PLACE) + b"\x21\x05\0\0"  # DW_FORM_implicit_const, 5
    type_ = w.die(STRUCT, (NAME, STRING, "s"), (SIZE, DATA1, 16), children=True)
    w.info += bytes([100]) * 500_000
    w.null()
    function(w)
    for _ in range(60_000):
        w.die(PARAMETER, (NAME, STRING, "p"), (TYPE, REF4, type_), (LOCATION, EXPRLOC, PIECE))
    w.null()
    w.end()
    path = tmp_path / "file"
    path.write_bytes(w.kernel())
    run = encode(path, SIGNATURES)
    assert SHARED in run.answer
    assert run.seconds < 2, run


def test_a_long_name_and_many_members(tmp_path: Path) -> None:
    """A parameter's name is made from its own and that of a member: 900 MB of names from 0.4 MB."""
    w = RawDwarf()
    name = w.string(b"a" * 300_000)
    w.info += struct.pack("<IHIB", 0, 4, 0, 8)
    w.die(0x11, (NAME, STRING, "a.c"), (0x25, STRING, "clang version 19.0.0"), (0x13, DATA1, 12), children=True)
    int_ = w.base_type()
    for number in range(3000):
        type_ = w.die(STRUCT, (SIZE, DATA1, 16), children=True)
        w.die(MEMBER, (NAME, STRING, f"m{number}"), (TYPE, REF4, int_), (PLACE, DATA1, 0))
        w.null()
        function(w, (0x36, DATA1, 3))  # DW_CC_nocall
        w.die(PARAMETER, (NAME, STRP, name), (TYPE, REF4, type_), (LOCATION, EXPRLOC, PIECE))
        w.null()
    w.end()
    path = tmp_path / "file"
    path.write_bytes(w.kernel())
    run = encode(path, SIGNATURES)
    assert SHARED in run.answer
    assert run.megabytes < 200, run


def test_prototypes_with_many_parameters(tmp_path: Path) -> None:
    """Equal parameters must count as steps of a comparison: there are 100,000 times 60,000 of them."""
    w = RawDwarf()
    for unit in range(2):
        w.begin()
        int_ = w.base_type()
        const = w.die(CONST, (TYPE, REF4, int_))
        prototype = w.die(SUBROUTINE, children=True)
        for number in range(60_000):
            w.die(PARAMETER, (TYPE, REF4, const if unit and not number else int_))
        w.null()
        pointer = w.die(POINTER, (TYPE, REF4, prototype))
        for _ in range(100_000 if unit else 1):
            function(w)
            w.die(PARAMETER, (NAME, STRING, "p"), (TYPE, REF4, pointer), (LOCATION, EXPRLOC, b"\x55"))
            w.null()
        w.end()
    path = tmp_path / "file"
    path.write_bytes(w.kernel())
    run = encode(path)
    assert "takes too long" in run.answer
    assert run.seconds < 2, run


@pytest.mark.parametrize("what", ["parameters", "structs", "variables"])
def test_long_chains_that_many_share(what: str, tmp_path: Path) -> None:
    """A thousand links must not be followed for each of 400,000 DIEs, to see whether they end."""
    w = RawDwarf()
    w.begin()
    int_ = w.base_type()
    if what == "parameters":
        function(w)
        at = w.die(PARAMETER, (NAME, STRING, "p"), (TYPE, REF4, int_))
        tag, link = PARAMETER, ORIGIN
    elif what == "structs":
        at = w.die(STRUCT, (SIZE, DATA1, 4))
        tag, link = STRUCT, SPECIFICATION
    else:
        at = w.die(VARIABLE, (NAME, STRING, "v"), (TYPE, REF4, int_))
        tag, link = VARIABLE, SPECIFICATION
    for number in range(401_000):
        made = w.die(tag, (link, REF4, at))
        at = made if number < 1000 else at
    if what == "parameters":
        w.null()
    w.end()
    path = tmp_path / "file"
    path.write_bytes(w.kernel())
    run = encode(path)
    assert SHARED in run.answer, run
    assert run.seconds < 2, run


def test_structs_that_lead_to_one_long_chain(tmp_path: Path) -> None:
    """An undecided type meets a declaration. Searching the whole chain for mentions of it, for each struct, takes 20 s.
    """
    w = Writer()
    for items in near.met():
        w.unit(items)
    w.begin()
    at = w.base_type()
    for _ in range(40_000):
        at = w.die(POINTER, (TYPE, REF4, at))
    for number in range(40_000):
        w.die(STRUCT, (NAME, STRING, f"n{number}"), (SIZE, DATA1, 8), children=True)
        w.die(MEMBER, (NAME, STRING, "p"), (TYPE, REF4, at), (PLACE, DATA1, 0))
        w.null()
    w.end()
    path = tmp_path / "file"
    path.write_bytes(written(w))
    run = encode(path)
    assert run.answer.endswith(" bytes")
    assert run.seconds < 5, run


def behind_many_typedefs(what: str, count: int = 60_000) -> bytes:
    """A thousand steps lead to the size of each of many parameters; of members of structs on the stack, which may be
    packed; and of the units of bitfields.
    """
    w = RawDwarf()
    w.begin()
    type_ = int_ = w.base_type()
    for number in range(1000):
        type_ = w.die(TYPEDEF, (NAME, STRING, f"t{number}"), (TYPE, REF4, type_))
    parameters = [[type_] * count] * 4
    if what != "parameters":
        parameters = [[int_] * 6]
        bits = ((BIT_SIZE, DATA1, 1),) if what == "bitfields" else ()
        for number in range(4):
            parameters[0].append(w.die(STRUCT, (NAME, STRING, f"s{number}"), (SIZE, DATA1, 4), children=True))
            for _ in range(count):
                w.die(MEMBER, (NAME, STRING, "m"), (TYPE, REF4, type_), (PLACE, DATA1, 0), *bits)
            w.null()
    for each in parameters:
        function(w)
        for ref in each:
            w.die(PARAMETER, (NAME, STRING, "p"), (TYPE, REF4, ref))
        w.null()
    w.end()
    return w.kernel()


@pytest.mark.parametrize("what", ["parameters", "members", "bitfields"])
def test_what_is_behind_many_typedefs(what: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(behind_many_typedefs(what))
    run = encode(path)
    assert SHARED in run.answer, run
    assert run.seconds < 2, run


def test_members_behind_many_typedefs_in_an_object(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(behind_many_typedefs("members"))
    with pytest.raises(InputError, match="shared"):
        exported(path, "default")
