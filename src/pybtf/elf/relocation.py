"""Relocating the debug sections of a relocatable file: which relocations there are, and what they mean.

A machine is one row: the types that set or change a field, and the highest number its ABI gives to any type.
Types up to there without an operation are left alone, as the reference leaves them: TLS offsets (a
thread-local variable has no address that BTF could use) and PC-relative ones. A higher number means that the
file is damaged or of a kind this program does not know, and is an error, for the alternative would be wrong
names and types.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Final

from pybtf.core.relocate import OPERATIONS, RelocationError, apply_relocations
from pybtf.elf.constants import SHT_REL, SHT_RELA, SHT_SYMTAB
from pybtf.elf.image import ElfImage, Section, machine_name
from pybtf.elf.symbols import symbol_source
from pybtf.errors import InputError

EM_MIPS: Final = 8


@dataclass(frozen=True, slots=True)
class _Machine:
    """Fields by type: (operation, bytes), and the number of the last type that exists."""

    last: int
    fields: dict[int, tuple[str, int]]

    def table(self) -> bytes:
        """Operation | bytes << 4 by relocation type, as the compiled core wants it."""
        cells = bytearray([OPERATIONS["leave"]]) * (self.last + 1)
        for kind, (operation, width) in self.fields.items():
            cells[kind] = OPERATIONS[operation] | width << 4
        return bytes(cells)


_ADD_SUB_RISCV: Final = {
    **{33 + i: ("add", 1 << i) for i in range(4)},
    **{37 + i: ("sub", 1 << i) for i in range(4)},
    52: ("sub6", 1),
    53: ("set6", 1),
    **{54 + i: ("set", 1 << i) for i in range(3)},
    60: ("set_uleb", 0),
    61: ("sub_uleb", 0),
}

# By e_machine. The numbers are those of the processor supplements of the System V ABI.
_MACHINES: Final = {
    # i386: R_386_32, 16, 8
    3: _Machine(43, {1: ("set", 4), 20: ("set", 2), 22: ("set", 1)}),
    # x86-64: R_X86_64_64, 32, 32S, 16, 8
    62: _Machine(42, {1: ("set", 8), 10: ("set", 4), 11: ("set", 4), 12: ("set", 2), 14: ("set", 1)}),
}


def relocated(image: ElfImage, section: Section, addresses: array[int]) -> memoryview | bytearray:
    """The contents of `section` with its relocations applied: a private copy, or its data if it has none.

    `addresses`: see `section_addresses`. Raises `InputError` if the machine is not known, or a relocation is
    damaged.
    """
    relocations = [s for s in image.sections if s.info == section.index and s.type in (SHT_RELA, SHT_REL)]
    data = image.data(section)
    if not any(s.size for s in relocations):
        return data
    machine = _MACHINES.get(image.machine)
    if machine is None:
        raise InputError(
            image.place(section),
            f"relocations for the machine {machine_name(image.machine)}",
            "a machine whose relocations are known: " + ", ".join(machine_name(m) for m in sorted(_MACHINES)),
            "Link the file first.",
        )
    out = bytearray(data)
    for relocation in relocations:
        _apply(image, relocation, out, addresses, machine.table())
    return out


def _apply(image: ElfImage, relocation: Section, out: bytearray, addresses: array[int], table: bytes) -> None:
    rela = relocation.type == SHT_RELA
    size = (8 if image.is64 else 4) * (3 if rela else 2)
    if relocation.entsize != size:
        raise InputError(image.place(relocation), f"entries of {relocation.entsize} bytes", f"{size}")
    symtab = image.linked(relocation, SHT_SYMTAB, "symbol table")
    try:
        apply_relocations(
            out,
            image.data(relocation),
            symbol_source(image, symtab),
            addresses,
            table,
            rela=rela,
            mips64=image.machine == EM_MIPS and image.is64,
        )
    except RelocationError as error:
        found = f"relocation {error.index}: {error.found}"
        if error.type is not None:
            found += f" for {machine_name(image.machine)}"
        raise InputError(image.place(relocation, error.index * size), found, error.expected) from None
