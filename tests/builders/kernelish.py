"""A kernel in miniature: the smallest ELF file with DWARF that has every kind of thing that pybtf encodes.

One unit, which declares `int`, `struct point { int x; int y; }`, a pointer to it, an array, a typedef, an
enum, `int f(int a)` at the address of the symbol `f`, and the per-CPU variable `counter`. Tests change one
thing at a time: the DIEs (`extra`, `dies`), the sections, or the finished bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.builders.dwarfwriter import Die, Dwarf, Unit, die, dwarf
from tests.builders.elfwriter import SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, Elf, Reloc, Section, Segment, Symbol, elf


class Flavour(NamedTuple):
    """A kind of machine. Tests name it by the key in `FLAVOURS`."""

    bits: int
    little: bool
    machine: str | int
    text: int  # address of .text
    percpu: int  # address of .data..percpu
    in_field: bool = False  # even with RELA, addends are in the fields, and the records have 0

    @property
    def address_size(self) -> int:
        return self.bits // 8

    @property
    def absolute(self) -> dict[int, int]:
        """The types of relocation that write an address, by size."""
        return ABSOLUTE[self.machine]


EM_ALPHA = 0x9026  # what Linux uses; the number of that name is another
ABSOLUTE: dict[str | int, dict[int, int]] = {
    "EM_X86_64": {4: 10, 8: 1},
    "EM_S390": {4: 4, 8: 22},
    "EM_ARM": {4: 2},
    "EM_PPC": {4: 1},
    "EM_68K": {4: 1},
    "EM_SPARC": {4: 3},
    "EM_SPARCV9": {4: 3, 8: 32},
    "EM_IA_64": {4: 37, 8: 39},
    "EM_CSKY": {4: 1},
    "EM_SH": {4: 1},
    "EM_ARC_COMPACT2": {4: 4},
    "EM_QDSP6": {4: 6},
    "EM_BPF": {4: 3, 8: 2},
    EM_ALPHA: {4: 1, 8: 2},
    "EM_PARISC": {4: 41, 8: 80},
    "EM_AVR": {4: 1},
    "EM_OPENRISC": {4: 1},
    "EM_XTENSA": {4: 1},
}

FLAVOURS = {
    "x86_64": Flavour(64, True, "EM_X86_64", 0xFFFFFFFF81000000, 0xFFFFFFFF82000000),
    "s390x": Flavour(64, False, "EM_S390", 0x100000, 0x200000),
    "arm": Flavour(32, True, "EM_ARM", 0xC0100000, 0xC0200000),
    "ppc": Flavour(32, False, "EM_PPC", 0xC0100000, 0xC0200000),
}

#: Machines whose object files alone matter.
OBJECTS = {
    "m68k": Flavour(32, False, "EM_68K", 0x10000, 0x20000),
    "sparc": Flavour(32, False, "EM_SPARC", 0x10000, 0x20000),
    "sparc64": Flavour(64, False, "EM_SPARCV9", 0x10000, 0x20000),
    "ia64": Flavour(64, True, "EM_IA_64", 0x10000, 0x20000),
    "alpha": Flavour(64, True, EM_ALPHA, 0x10000, 0x20000),
    "csky": Flavour(32, True, "EM_CSKY", 0x10000, 0x20000),
    "sh": Flavour(32, True, "EM_SH", 0x10000, 0x20000, in_field=True),
    "arc": Flavour(32, True, "EM_ARC_COMPACT2", 0x10000, 0x20000),
    "hexagon": Flavour(32, True, "EM_QDSP6", 0x10000, 0x20000),
    "bpf": Flavour(64, True, "EM_BPF", 0x10000, 0x20000),
    "bpfeb": Flavour(64, False, "EM_BPF", 0x10000, 0x20000),
}

#: Machines whose object files the reference does not relocate, each with a similar one of `OBJECTS`.
UNRELOCATED = {
    "hppa": (Flavour(32, False, "EM_PARISC", 0x10000, 0x20000), "m68k"),
    "hppa64": (Flavour(64, False, "EM_PARISC", 0x10000, 0x20000), "sparc64"),
    "avr": (Flavour(32, True, "EM_AVR", 0x10000, 0x20000), "csky"),
    "openrisc": (Flavour(32, False, "EM_OPENRISC", 0x10000, 0x20000), "m68k"),
    "xtensa": (Flavour(32, True, "EM_XTENSA", 0x10000, 0x20000, in_field=True), "csky"),
}

#: Lines of the unit that most tests leave alone. The labels are for references.
INT = die(
    "base_type", ("name", "string", "int"), ("byte_size", "data1", 4), ("encoding", "data1", 5), label="int"
)


def point() -> Die:
    return die(
        "structure_type",
        ("name", "string", "point"),
        ("byte_size", "data1", 8),
        label="point",
        children=[
            die(
                "member",
                ("name", "string", "x"),
                ("type", "ref4", "int"),
                ("data_member_location", "data1", 0),
            ),
            die(
                "member",
                ("name", "string", "y"),
                ("type", "ref4", "int"),
                ("data_member_location", "data1", 4),
            ),
        ],
    )


def function(
    flavour: Flavour, name: str = "f", type: Any = "int", offset: int = 0, label: str | None = "f"
) -> Die:
    return die(
        "subprogram",
        ("name", "string", name),
        ("type", "ref4", "int"),
        ("low_pc", "addr", flavour.text + offset),
        ("high_pc", "data4", 16),
        label=label,
        children=[
            die(
                "formal_parameter",
                ("name", "string", "a"),
                ("type", "ref4", type),
                ("location", "exprloc", [("fbreg", -20)]),
            ),
        ],
    )


def variable(flavour: Flavour, name: str = "counter", type: Any = "int", offset: int = 0) -> Die:
    return die(
        "variable",
        ("name", "string", name),
        ("type", "ref4", type),
        ("external", "flag", 1),
        ("location", "exprloc", [("addr", flavour.percpu + offset)]),
        label=name,
    )


def standard(flavour: Flavour) -> list[Die | bytes]:
    """The children of the unit, in the plainest forms."""
    return [
        INT,
        point(),
        die(
            "pointer_type",
            ("byte_size", "data1", flavour.address_size),
            ("type", "ref4", "point"),
            label="pointer",
        ),
        die(
            "array_type",
            ("type", "ref4", "int"),
            label="array",
            children=[die("subrange_type", ("type", "ref4", "int"), ("upper_bound", "data1", 6))],
        ),
        die("typedef", ("name", "string", "point_t"), ("type", "ref4", "point"), label="point_t"),
        die(
            "enumeration_type",
            ("name", "string", "colour"),
            ("byte_size", "data1", 4),
            ("type", "ref4", "int"),
            label="colour",
            children=[die("enumerator", ("name", "string", "RED"), ("const_value", "data1", 1))],
        ),
        function(flavour),
        variable(flavour),
    ]


def unit(children: Sequence[Die | bytes], producer: str = "GNU C11 12.2.0", **fields: Any) -> Unit:
    root = die(
        "compile_unit",
        ("name", "string", "unit.c"),
        ("language", "data1", 12),
        ("producer", "string", producer),
        children=children,
        label="unit",
    )
    return Unit(root, **fields)


def sections(flavour: Flavour) -> list[Section]:
    return [
        Section(".text", bytes(256), flags=SHF_ALLOC | SHF_EXECINSTR, address=flavour.text, align=16),
        Section(".data..percpu", bytes(64), flags=SHF_ALLOC | SHF_WRITE, address=flavour.percpu, align=16),
    ]


def symbols(flavour: Flavour) -> list[Symbol]:
    return [
        Symbol("f", flavour.text, 16, "FUNC", ".text"),
        Symbol("counter", flavour.percpu, 4, "OBJECT", ".data..percpu"),
    ]


def kernel(
    units: Sequence[Unit] | Dwarf | None = None,
    flavour: Flavour = FLAVOURS["x86_64"],
    *,
    extra_sections: Sequence[Section] = (),
    extra_symbols: Sequence[Symbol] = (),
    debug: dict[str, bytes | Section] | None = None,
    compress: int | None = None,
    loaded: bool = False,
    **options: Any,
) -> Elf:
    """The whole file. `debug` replaces or adds debug sections; `loaded` adds a program header; other options are passed
    to `elfwriter.elf` (`symbols=None`: no symbol table).
    """
    if units is None:
        units = [unit(standard(flavour), address_size=flavour.address_size)]
    written = units if isinstance(units, Dwarf) else dwarf(units, little=flavour.little)
    contents: dict[str, bytes | Section] = {**written.sections, **(debug or {})}
    debugs = [
        data if isinstance(data, Section) else Section(name, data, compress=compress)
        for name, data in contents.items()
    ]
    options.setdefault("symbols", [*symbols(flavour), *extra_symbols])
    segments = [Segment([".text"])] if loaded else []
    return elf(
        [*sections(flavour), *extra_sections, *debugs],
        segments=segments,
        bits=flavour.bits,
        little=flavour.little,
        machine=flavour.machine,
        **options,
    )


def relocatable(
    units: Sequence[Unit] | None = None,
    flavour: Flavour = FLAVOURS["x86_64"],
    *,
    rela: bool = True,
    more: Mapping[str, Sequence[Reloc]] | None = None,
) -> Elf:
    """The same as an object file: every address and every offset into another section is a relocation.

    If records have the addend, the fields hold garbage, which exposes a reader that forgets a relocation. `more` are
    sections of 32 bytes with relocations.
    """
    if units is None:
        units = [unit(standard(flavour), address_size=flavour.address_size)]
    written = dwarf(units, little=flavour.little)
    data = {name: bytearray(content) for name, content in written.sections.items()}
    base = {".text": flavour.text, ".data..percpu": flavour.percpu}
    in_field = flavour.in_field or not rela
    relocations: dict[str, list[Reloc]] = {name: list(relocs) for name, relocs in (more or {}).items()}
    anchors = [Symbol(f".L{name}", 0, 0, "NOTYPE", name, "LOCAL") for name in [*base, *data]]
    for fixup in written.fixups:
        target, addend = fixup.target, fixup.value
        if not target:
            target = next(name for name, start in base.items() if start <= addend < start + 0x1000)
            addend -= base[target]
        field = addend if in_field else 0x5A5A5A5A5A5A5A5A
        field_bytes = (field & ((1 << 8 * fixup.size) - 1)).to_bytes(
            fixup.size, "little" if flavour.little else "big"
        )
        data[fixup.section][fixup.offset : fixup.offset + fixup.size] = field_bytes
        entry = Reloc(fixup.offset, f".L{target}", flavour.absolute[fixup.size], 0 if in_field else addend)
        relocations.setdefault(fixup.section, []).append(entry)
    plain = [section._replace(address=0) for section in sections(flavour)]
    return elf(
        [
            *plain,
            *(Section(name, bytes(32)) for name in more or {}),
            *(Section(name, bytes(content)) for name, content in data.items()),
        ],
        [
            *anchors,
            *(symbol._replace(value=symbol.value - base[str(symbol.section)]) for symbol in symbols(flavour)),
        ],
        relocations,
        bits=flavour.bits,
        little=flavour.little,
        machine=flavour.machine,
        type="ET_REL",
        rela=rela,
    )
