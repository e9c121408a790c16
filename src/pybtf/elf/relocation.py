"""Relocating the debug sections of a relocatable file: which relocations there are, and what they mean.

A machine is one row: the types that set or change a field, and the highest number its ABI gives to any type.
Types up to there without an operation are left alone, as pahole leaves them: TLS offsets (a
thread-local variable has no address that BTF could use) and PC-relative ones. A higher number means that the
file is damaged or of a kind this program does not know, and is an error, for the alternative would be wrong
names and types.
"""

from __future__ import annotations

from pybtf.core.elf.relocate import OPERATIONS, RelocationError, apply_relocations
from pybtf.core.elf.symbols import SymbolSource
from pybtf.elf.constants import SHT_RELA, SHT_SYMTAB
from pybtf.elf.image import ElfImage, Section, machine_name
from pybtf.elf.symbols import symbol_source
from pybtf.errors import InputError
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Final

EM_MIPS: Final = 8
EM_IA_64: Final = 50
_OVERLAP: Final = 2
"""How often a file's bytes may be applied as relocations. If the sections do not overlap, once."""


# SPARC: 8, 16, 32, UA32, 64, UA64, UA16
_SPARC: Final = {1: 1, 2: 2, 3: 4, 23: 4, 32: 8, 54: 8, 55: 2}

# By e_machine: the number of the last relocation type, and bytes of the field by type, for setting, adding,
# subtracting, and for setting it to the sum of what it holds and the value. The numbers are those of the processor
# supplements of the System V ABI; which of them have an effect was measured, by giving every type in turn to the
# location of a variable, or to the value of an enumerator. pahole does not relocate for PA-RISC, AVR, OpenRISC and
# Xtensa: there, what assemblers write and linkers do with it was looked at. (Differences that a linker changes when
# it shortens code, such as DIFF32 of AVR and PDIFF32 of Xtensa, are in their fields.)
_MACHINES: Final[dict[int, tuple[Any, ...]]] = {
    2: (255, _SPARC),
    3: (43, {1: 4, 20: 2, 22: 1}),  # i386: 32, 16, 8
    4: (255, {1: 4, 2: 2, 3: 1}),  # m68k: 32, 16, 8
    EM_MIPS: (255, {1: 2, 2: 4, 18: 8}),  # MIPS: 16, 32, 64
    15: (255, {1: 4, 41: 4, 80: 8}),  # PA-RISC: DIR32, SECREL32, DIR64
    18: (255, _SPARC),  # with 64-bit registers
    20: (255, {1: 4, 24: 4, 25: 2}),  # PowerPC: ADDR32, UADDR32, UADDR16
    21: (255, {1: 4, 24: 4, 25: 2, 38: 8, 43: 8}),  # PowerPC64: and ADDR64, UADDR64
    22: (65, {1: 1, 3: 2, 4: 4, 22: 8}),  # s390: 8, 16, 32, 64
    40: (255, {2: 4, 5: 2, 8: 1}),  # Arm: ABS32, ABS16, ABS8
    # SuperH: DIR32. Its records have room for an addend, but assemblers and linkers leave that 0 and use the field.
    42: (255, {}, {}, {}, {1: 4}),
    43: (255, _SPARC),  # with 64 bits
    EM_IA_64: (255, {37: 4, 39: 8, 101: 4, 103: 8}),  # Itanium: DIR32LSB, DIR64LSB, SECREL32LSB, SECREL64LSB
    62: (42, {1: 8, 10: 4, 11: 4, 12: 2, 14: 1}),  # x86-64: 64, 32, 32S, 16, 8
    83: (255, {1: 4, 4: 2, 26: 1}),  # AVR: 32, 16, 8
    92: (255, {1: 4, 2: 2, 3: 1}),  # OpenRISC: 32, 16, 8
    94: (255, {}, {}, {}, {1: 4}),  # Xtensa: 32; as SuperH
    164: (255, {6: 4, 7: 2, 8: 1}),  # Hexagon: 32, 16, 8
    183: (1032, {257: 8, 258: 4, 259: 2}),  # AArch64: ABS64, ABS32, ABS16
    195: (255, {1: 1, 2: 2, 4: 4}),  # ARCv2: 8, 16, 32
    # RISC-V: 32, 64, SET8 to SET32; ADD16 to ADD64; SUB16 to SUB64. The 6-bit, 8-bit and ULEB128 differences
    # that its assembler also leaves in line and location lists have no effect in pahole.
    243: (255, {1: 4, 2: 8, 54: 1, 55: 2, 56: 4}, {34: 2, 35: 4, 36: 8}, {38: 2, 39: 4, 40: 8}),
    # BPF: 64_64, 64_32. ABS64, ABS32 and NODYLD32 (2 to 4), which clang writes into debug sections, have no effect, and
    # need none: BPF objects have no addends, so the fields hold offsets into sections that all begin at 0.
    247: (255, {1: 8, 10: 4}),
    252: (255, {1: 4}),  # C-SKY: ADDR32
    # LoongArch: 32, 64; ADD16, 32, 64; SUB16, 32, 64
    258: (126, {1: 4, 2: 8}, {48: 2, 50: 4, 51: 8}, {53: 2, 55: 4, 56: 8}),
    0x9026: (255, {1: 4, 2: 8}),  # Alpha: REFLONG, REFQUAD
}
# The same of a machine whose types depend on the byte order, if that is big: the MSB of Itanium.
_BIG_ENDIAN: Final[dict[int, tuple[Any, ...]]] = {EM_IA_64: (255, {36: 4, 38: 8, 100: 4, 102: 8})}
_TABLES: Final[dict[tuple[int, bool], bytes]] = {}  # those that have been asked for


def relocated(image: ElfImage, section: Section, addresses: memoryview) -> memoryview | bytearray:
    """The contents of `section` with its relocations applied: a private copy, or its data if it has none.

    `addresses`: see `section_addresses`. Raises `InputError` if the machine is not known, or a relocation is damaged.
    """
    relocations = image.relocations_of(section)
    data = image.data(section)
    if not relocations or not any(s.size for s in relocations):
        return data
    table = relocation_table(image)
    if table is None:
        raise InputError(
            image.place(section),
            f"relocations for the machine {machine_name(image.machine)}",
            "a machine whose relocations are known: " + ", ".join(machine_name(m) for m in sorted(_MACHINES)),
            "Link the file first.",
        )
    if len(relocations) > 1 and sum(s.size for s in relocations if s.offset + s.size <= image.size) > image.size:
        raise InputError(
            image.place(section), f"{len(relocations)} sections of relocations that overlap", "one, as linkers write it"
        )
    out = bytearray(data)
    for relocation in relocations:
        _charge(image, relocation)
        source = symbol_source(image, image.linked(relocation, SHT_SYMTAB, "symbol table"))
        _apply(image, relocation, out, source, addresses, table)
    return out


def _charge(image: ElfImage, relocation: Section) -> None:
    """Raise `InputError` if the sections of relocations applied so far are more than any file has, whatever each of
    them is for: they overlap. A section may be applied again.
    """
    if relocation.index in image.relocation_sections or relocation.offset + relocation.size > image.size:
        return
    image.relocation_sections.add(relocation.index)
    image.relocation_bytes += relocation.size
    if image.relocation_bytes > _OVERLAP * image.size:
        raise InputError(
            image.place(relocation),
            f"{image.relocation_bytes} bytes of relocations up to here, in sections that overlap",
            f"at most {_OVERLAP * image.size} for a file of this size",
        )


def is_mips64(image: ElfImage) -> bool:
    """Whether records of relocations hold a symbol, a special symbol and three types, instead of one number."""
    return image.machine == EM_MIPS and image.is64


def field_has_addend(image: ElfImage, kind: int, *, rela: bool) -> bool:
    """Whether what a field holds before a relocation of this type is a part of its value."""
    table = relocation_table(image)
    return not rela or (table is not None and kind < len(table) and table[kind] & 15 == OPERATIONS["sum"])


def relocation_table(image: ElfImage) -> bytes | None:
    """Operation | bytes << 4 by relocation type, of a machine that is known."""
    key = image.machine, image.little
    if key not in _TABLES:
        machine = (None if image.little else _BIG_ENDIAN.get(image.machine)) or _MACHINES.get(image.machine)
        if machine is None:
            return None
        last, *fields = machine
        cells = bytearray([OPERATIONS["leave"]]) * (last + 1)
        for operation, widths in zip(("set", "add", "sub", "sum"), fields, strict=False):
            for kind, width in widths.items():
                cells[kind] = OPERATIONS[operation] | width << 4
        _TABLES[key] = bytes(cells)
    return _TABLES[key]


def _apply(
    image: ElfImage,
    relocation: Section,
    out: bytearray,
    symbols: SymbolSource,
    addresses: memoryview,
    table: bytes,
) -> None:
    rela = relocation.type == SHT_RELA
    size = (8 if image.is64 else 4) * (3 if rela else 2)
    if relocation.entsize != size:
        raise InputError(image.place(relocation), f"entries of {relocation.entsize} bytes", f"{size}")
    data = image.data(relocation)
    if len(data) % size:
        raise InputError(image.place(relocation), f"{len(data)} bytes", f"a multiple of {size}")
    try:
        apply_relocations(
            out,
            data,
            symbols,
            addresses,
            table,
            rela=rela,
            mips64=is_mips64(image),
        )
    except RelocationError as error:
        found = f"relocation {error.index}: {error.found}"
        if error.type is not None:
            found += f" for {machine_name(image.machine)}"
        raise InputError(image.place(relocation, error.index * size), found, error.expected) from None
