"""The ELF file around the DWARF, and facts of whole units: symbols, sections, compression, producers."""

from __future__ import annotations

import struct
import zlib
from typing import Any

from tests.builders.cases_units import second
from tests.builders.dwarfwriter import Unit, die, dwarf
from tests.builders.elfwriter import SHF_GROUP, SHN_XINDEX, Section, Symbol
from tests.builders.kernelish import (
    FLAVOURS,
    INT,
    OBJECTS,
    Flavour,
    function,
    kernel,
    relocatable,
    standard,
    unit,
    variable,
)
from tests.builders.synthetic import TEXT, X86, base, case, functions, of, parameter, subprogram

# -- the ELF file ----------------------------------------------------------------------------------


@case
def object_file() -> bytes:
    return relocatable().data


@case
def object_file_rel() -> bytes:
    """REL relocations: the addend is in the field. ARM."""
    return relocatable(flavour=FLAVOURS["arm"], rela=False).data


@case
def object_file_s390x() -> bytes:
    return relocatable(flavour=FLAVOURS["s390x"]).data


def _object_files() -> None:
    """One for each machine that has only object files. Those of BPF have no addends. Those of SuperH have records with
    room for them, but the reference reads only REL correctly.
    """
    for name, flavour in OBJECTS.items():

        def build(flavour: Flavour = flavour, rela: bool = name not in ("bpf", "bpfeb", "sh")) -> bytes:
            return relocatable(flavour=flavour, rela=rela).data

        build.__name__ = f"object_file_{name}"
        case(build)


_object_files()


@case
def sections_compressed_one_by_one() -> bytes:
    written = dwarf([unit(standard(X86)), second()])
    return kernel(
        written,
        debug={".debug_abbrev": Section(".debug_abbrev", written.sections[".debug_abbrev"], compress=0)},
    ).data


@case
def sections_compressed_the_old_way() -> bytes:
    """`.zdebug_info`: "ZLIB", the size in big-endian order, the stream."""
    written = dwarf([unit(standard(X86)), second()])
    sections = {
        name.replace(".debug", ".zdebug"): b"ZLIB" + len(data).to_bytes(8, "big") + zlib.compress(data, 0)
        for name, data in written.sections.items()
    }
    return kernel(written._replace(sections=sections)).data


@case
def sections_with_bits_of_groups() -> bytes:
    """Sections of a COMDAT group are not read; of two sections with one name the first counts."""
    written = dwarf([unit([INT])])
    fake = dwarf([unit([base("fake", 4)])]).sections
    return kernel(
        written, extra_sections=[Section(name, data, flags=SHF_GROUP) for name, data in fake.items()]
    ).data


@case
def sections_named_twice() -> bytes:
    written = dwarf([unit([INT])])
    twin = dwarf([unit([base("uint", 4, 7)])]).sections
    return kernel(written, extra_sections=[Section(name, data) for name, data in twin.items()]).data


@case
def symbols_without_functions() -> bytes:
    """No function symbol at all: no function is emitted, variables are."""
    return of(INT, function(X86), variable(X86), extra_symbols=[])


@case
def symbols_with_extended_index() -> bytes:
    """SHN_XINDEX: the section of `counter` is in SYMTAB_SHNDX."""
    entries = [0, 0, 2]
    table = b"".join(n.to_bytes(4, "little") for n in entries)
    return kernel(
        symbols=[Symbol("f", TEXT, 16), Symbol("counter", X86.percpu, 4, "OBJECT", SHN_XINDEX)],
        extra_sections=[Section(".symtab_shndx", table, 18, link=".symtab", align=4, entsize=4)],
    ).data


@case
def symbol_in_another_section() -> bytes:
    """A variable at the start of its section needs a symbol in that very section."""
    return kernel(symbols=[Symbol("f", TEXT, 16), Symbol("counter", X86.percpu, 4, "OBJECT", ".text")]).data


@case
def percpu_section_at_zero() -> bytes:
    """As on x86-64 before 6.15: per-CPU variables have addresses from 0 on."""
    flavour = X86._replace(percpu=0)
    return kernel([unit([INT, variable(flavour), variable(flavour, "second", offset=4)])], flavour).data


@case
def two_percpu_sections() -> bytes:
    """As `ld -r` may leave them: variables at the start of either have a symbol."""
    after = 0x100
    again = Section(".data..percpu", bytes(64), flags=3, address=X86.percpu + after, align=16)
    places = [Symbol("counter", X86.percpu, 4, "OBJECT", 2), Symbol("first", X86.percpu + after, 4, "OBJECT", 3)]
    variables = [variable(X86), variable(X86, "first", offset=after), variable(X86, "second", offset=after + 4)]
    return kernel([unit([INT, *variables])], symbols=places, extra_sections=[again]).data


@case
def clang_producer() -> bytes:
    """The same unexpected register, from clang and from gcc."""

    def of_producer(name: str, offset: int, producer: str) -> Unit:
        return Unit(
            die(
                "compile_unit",
                ("name", "string", "c.c"),
                ("producer", "string", producer),
                ("language", "data1", 29),
                children=[
                    base("int", 4, label=f"int {name}"),
                    subprogram(
                        name,
                        offset,
                        children=[
                            parameter("a", f"int {name}"),
                            parameter("b", f"int {name}", ("location", "exprloc", [("reg5",)])),
                        ],
                    ),
                ],
            )
        )

    return kernel(
        [of_producer("c", 16, "clang version 19"), of_producer("g", 32, "GNU C23")],
        symbols=functions("c", "g"),
    ).data


@case
def languages_of_all_kinds() -> bytes:
    """No language, a language as udata, an unknown one; nothing is excluded by default."""

    def of_language(name: str, *language: Any) -> Unit:
        return Unit(
            die("compile_unit", ("name", "string", name), *language, children=[base(f"int {name}", 4)])
        )

    return kernel(
        [
            of_language("a"),
            of_language("b", ("language", "udata", 0x8001)),
            of_language("c", ("language", "data2", 0xFFFF)),
            of_language("d", ("language", "data1", 0x1C)),
        ]
    ).data


@case
def rust_members_by_offset() -> bytes:
    """Rust: the members of structs and unions are sorted by offset, equal ones keep their order. Not so in C."""

    def of_language(name: str, language: int) -> Unit:
        places = [4 * (index * 7919 % 23) for index in range(41)]
        members = [
            die(
                "member",
                ("name", "string", f"{name}{index}"),
                ("type", "ref4", "int"),
                ("data_member_location", "data1", place),
            )
            for index, place in enumerate(places)
        ]
        types = [
            die(tag, ("name", "string", f"{name}_{count}"), ("byte_size", "data1", 92), children=members[:count])
            for tag in ("structure_type", "class_type")
            for count in (1, 2, 3, 8, 9, 41)
        ]
        unit = die("compile_unit", ("language", "data1", language), children=[INT, *types])
        return Unit(unit)

    return kernel([of_language("r", 0x1C), of_language("c", 0x0C)]).data


@case
def section_count_in_section_0() -> bytes:
    """e_shnum and e_shstrndx do not fit their fields: they are in section 0."""
    whole = kernel()
    shnum, names = struct.unpack_from("<HH", whole.data, 60)
    data = bytearray(whole.data)
    struct.pack_into("<HH", data, 60, 0, 0xFFFF)
    struct.pack_into("<Q", data, whole.header_at[""] + 32, shnum)
    struct.pack_into("<I", data, whole.header_at[""] + 40, names)
    return bytes(data)
