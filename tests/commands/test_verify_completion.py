"""`pybtf verify` of BPF objects: what a loader leaves alone, and objects that lack what it needs."""

from __future__ import annotations

import struct

import pytest

from pybtf.btf import BTF
from pybtf.btf.header import read_header
from pybtf.btf.kinds import Linkage
from pybtf.btf.types import Datasec, Func, FuncProto, Int, Param, SectionVar, Type, Var
from pybtf.elf.image import ElfImage
from pybtf.errors import Place
from pybtf.verify.completion import complete
from tests.builders.elfwriter import Section, Symbol, bare
from tests.commands.test_verify_objects import BPF, INT, bpf_object, btf_of, completed, entries, variable


def test_only_what_is_extern_becomes_global() -> None:
    """Only these are counted. Entries that are already in place are not counted either."""
    config = [INT, variable("a"), Datasec(".kconfig", 4, (SectionVar(2, 0, 4),))]
    found, btf = completed(config)
    assert found.said == []
    symbols: list[Type] = [
        INT, FuncProto(0, (Param("named", 1), Param("", 1), Param("", 0))), Func("f", 2, Linkage.GLOBAL),
        variable("v", 0), Datasec(".ksyms", 8, (SectionVar(3, 0, 4), SectionVar(4, 4, 4))),
    ]  # fmt: skip
    found, btf = completed(symbols)
    assert found.said == []
    proto = btf.type(2)
    assert isinstance(proto, FuncProto)
    assert [param.name for param in proto.params] == ["named", "dummy_ksym", ""]
    assert entries(btf, 5) == (8, [(6, 0, 4), (4, 4, 4)])


def test_each_function_of_the_kernel_is_the_same_variable() -> None:
    types: list[Type] = [INT, FuncProto(0, ()), *(Func(name, 2, Linkage.EXTERN) for name in "fg")]
    types += [variable("v", 0, Linkage.EXTERN), Datasec(".ksyms", 0, tuple(SectionVar(n, 0, 0) for n in (3, 4, 5)))]
    found, btf = completed(types)
    assert entries(btf, 6) == (12, [(7, 0, 4), (7, 4, 4), (5, 8, 4)])
    assert found.said == ["sizes of sections: 1", "offsets of variables: 2", "extern variables and functions: 3"]


@pytest.mark.parametrize("numbers", [(Int("c", 1, 8), INT), (Int("i", 4, 24), INT), (Int("l", 8, 32), INT)])
def test_the_int_is_the_first_of_32_bits(numbers: tuple[Int, Int]) -> None:
    again = Int("again", 4, 32)
    _, btf = completed([*numbers, again, variable("v", 0), Datasec(".ksyms", 0, (SectionVar(4, 0, 0),))])
    var = btf.type(4)
    assert isinstance(var, Var)
    assert var.type == 2


@pytest.mark.parametrize("id", [0, 1, 3])
@pytest.mark.parametrize("name", [".data", ".kconfig", ".ksyms"])
def test_an_entry_that_is_no_variable_is_for_the_judge(name: str, id: int) -> None:
    """Void, the int, and the section itself."""
    found, btf = completed([INT, variable("a"), Datasec(name, 0, (SectionVar(id, 0, 4), SectionVar(2, 4, 4)))])
    size, rows = entries(btf, 3)
    assert size == {".data": 16, ".kconfig": 0, ".ksyms": 8}[name]
    assert id in [row[0] for row in rows]
    assert found.missing == []


def test_ids_of_no_type_are_left_to_the_judge() -> None:
    data = btf_of([INT, variable("a"), Datasec(".data", 0, (SectionVar(2, 0, 4),))])
    broken = data.replace(struct.pack("<3I", 2, 0, 4), struct.pack("<3I", 4, 0, 4))
    found = complete(broken, ElfImage("prog.bpf.o", bpf_object(broken)))
    assert found.data == broken
    assert "type id 4; expected below 4" in found.missing[0]


@pytest.mark.parametrize("of", [0, 1])
def test_a_function_whose_type_is_no_prototype_is_for_the_judge(of: int) -> None:
    data = btf_of([INT, Func("f", 1, Linkage.EXTERN), Datasec(".ksyms", 0, (SectionVar(2, 0, 0),))])
    at = 24 + 16 + 8
    data = data[:at] + of.to_bytes(4, "little") + data[at + 4 :]
    found = complete(data, ElfImage("prog.bpf.o", bpf_object(data)))
    btf = BTF.from_bytes(found.data)
    assert entries(btf, 3) == (4, [(4, 0, 4)])
    assert btf.data[24:40] == data[24:40]


def test_what_a_configuration_without_a_size_is() -> None:
    """A loader refuses it, and nothing is laid out."""
    types: list[Type] = [INT, FuncProto(0, ()), variable("f", 2, Linkage.EXTERN), variable("i", 1, Linkage.EXTERN)]
    found, btf = completed([*types, Datasec(".kconfig", 0, (SectionVar(4, 0, 4), SectionVar(3, 0, 4)))])
    assert entries(btf, 5) == (0, [(4, 0, 4), (3, 0, 4)])
    assert found.said == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (".other", ".other is no section of the file"),
        (".rodata", ".rodata is an empty section of the file"),
        (".data", "variable lost of .data has no symbol"),
        (".bss", "variable lost of .bss has no symbol"),
    ],
)
def test_what_a_loader_misses(name: str, said: str) -> None:
    found, btf = completed([INT, variable("lost"), Datasec(name, 0, (SectionVar(2, 0, 4),))])
    assert found.missing == [f"a loader refuses the object: {said}"]
    assert entries(btf, 3)[0] == {".data": 16, ".bss": 8}.get(name, 0)


def test_an_object_without_symbols() -> None:
    data = btf_of([INT, variable("a"), Datasec(".data", 0, (SectionVar(2, 0, 4),))])
    sections = [Section(".data", bytes(16)), Section(".BTF", data)]
    image = ElfImage("prog.bpf.o", bare(sections, None, machine=BPF, etype=1))
    assert complete(data, image).missing == ["a loader refuses the object: variable a of .data has no symbol"]


def test_a_symbol_of_another_section_is_not_that_of_the_variable() -> None:
    data = btf_of([INT, variable("a"), Datasec(".data", 0, (SectionVar(2, 0, 4),))])
    sections = [Section(".data", bytes(16)), Section(".bss", type="NOBITS", size=8), Section(".BTF", data)]
    symbols = [Symbol("a", 4, 4, "OBJECT", ".bss")]
    found = complete(data, ElfImage("prog.bpf.o", bare(sections, symbols, machine=BPF, etype=1)))
    assert found.missing == ["a loader refuses the object: variable a of .data has no symbol"]


# Where the bytes go


def laid_out(data: bytes, *, strings_first: bool = False, tail: bytes = b"") -> bytes:
    """The same types and strings in another layout."""
    header = read_header(data, Place("x"))
    start, end = header.section("type")
    text, text_end = header.section("str")
    types, strings = data[start:end], data[text:text_end]
    if strings_first:
        new = header._replace(type_off=len(strings) + -len(strings) % 4, str_off=0)
        return new.pack()[: header.hdr_len] + strings + bytes(-len(strings) % 4) + types + tail
    return data[: header.hdr_len] + types + strings + tail


FUNCTION: list[Type] = [
    INT, FuncProto(0, ()), Func("f", 2, Linkage.EXTERN), Datasec(".ksyms", 0, (SectionVar(3, 0, 0),)),
]  # fmt: skip


def test_what_is_behind_the_strings_stays_there() -> None:
    data = laid_out(btf_of(FUNCTION), tail=b"behind")
    found = complete(data, ElfImage("prog.bpf.o", bpf_object(data)))
    assert found.data.endswith(b"\0dummy_ksym\0behind")
    assert BTF.from_bytes(found.data).type(5).name == "dummy_ksym"


def test_strings_in_front_of_the_types() -> None:
    """Nothing is written if they would have to move. Changes in place are written."""
    data = laid_out(btf_of(FUNCTION), strings_first=True)
    image = ElfImage("prog.bpf.o", bpf_object(data))
    assert complete(data, image).missing == ["not completed, strings before the types"]
    plain = laid_out(btf_of([INT, variable("v", 0), Datasec(".ksyms", 0, (SectionVar(2, 0, 0),))]), strings_first=True)
    found = complete(plain, ElfImage("prog.bpf.o", bpf_object(plain)))
    assert entries(BTF.from_bytes(found.data), 3) == (4, [(2, 0, 4)])
    assert len(found.data) == len(plain)
