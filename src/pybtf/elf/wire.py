"""The parts of an ELF file's layout that are read and written here: records and numbers, no behaviour.

An ELF file comes in two classes (32 and 64 bits) and two byte orders. The records of both classes hold the
same fields, so callers see one set of named tuples; `Wire` is the pair of choices that turns bytes into them
and back. Only `Phdr` changes its field order with the class; `Wire` hides that as well.

Source: the System V gABI, chapters 4 and 5 ("Object Files", "Program Loading").
"""

from __future__ import annotations

from struct import Struct

from pybtf.support import TYPE_CHECKING
from pybtf.support.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"\x7fELF"
IDENT_SIZE = 16
EI_CLASS = 4
EI_DATA = 5
EI_VERSION = 6
ELFCLASS32 = 1
ELFCLASS64 = 2
ELFDATA2LSB = 1
ELFDATA2MSB = 2
EV_CURRENT = 1

PN_XNUM = 0xFFFF
"""`e_phnum` when the true count is in `sh_info` of section 0."""


class Ehdr(NamedTuple):
    """ELF header, after `e_ident`."""

    type: int
    machine: int
    version: int
    entry: int
    phoff: int
    shoff: int
    flags: int
    ehsize: int
    phentsize: int
    phnum: int
    shentsize: int
    shnum: int
    shstrndx: int


class Shdr(NamedTuple):
    """Section header. `offset` and `size` are bytes in the file, except that SHT_NOBITS occupies none."""

    name: int
    type: int
    flags: int
    addr: int
    offset: int
    size: int
    link: int
    info: int
    addralign: int
    entsize: int


class Phdr(NamedTuple):
    """Program header, fields in the order of the 64-bit class."""

    type: int
    flags: int
    offset: int
    vaddr: int
    paddr: int
    filesz: int
    memsz: int
    align: int


class Wire:
    """The records of one class and byte order. The four instances are made by `wire_of`.

    `word_max` is the largest value of an offset or size field.
    """

    def __init__(self, is64: bool, little: bool) -> None:
        order = "<" if little else ">"
        self.is64 = is64
        self.little = little
        self.word_max = 0xFFFF_FFFF_FFFF_FFFF if is64 else 0xFFFF_FFFF
        self.ehdr = Struct(order + ("16xHHIQQQIHHHHHH" if is64 else "16xHHIIIIIHHHHHH"))
        self.shdr = Struct(order + ("IIQQQQIIQQ" if is64 else "IIIIIIIIII"))
        self.phdr = Struct(order + ("IIQQQQQQ" if is64 else "IIIIIIII"))
        self.u32 = Struct(order + "I")

    @property
    def word(self) -> int:
        """Size of an address in bytes, and the alignment a section header table needs."""
        return 8 if self.is64 else 4

    def read_ehdr(self, data: bytes | bytearray | memoryview) -> Ehdr:
        """The header at the start of `data`, which holds at least `ehdr.size` bytes."""
        return Ehdr._make(self.ehdr.unpack_from(data, 0))

    def pack_ehdr(self, ident: bytes, header: Ehdr) -> bytes:
        """`ident` (16 bytes) and the rest, as they lie in the file."""
        packed = bytearray(self.ehdr.pack(*header))
        packed[:IDENT_SIZE] = ident
        return bytes(packed)

    def iter_shdrs(self, table: bytes | bytearray | memoryview) -> Iterator[Shdr]:
        """All records of `table`, whose length is a multiple of `shdr.size`."""
        return map(Shdr._make, self.shdr.iter_unpack(table))

    def pack_shdr(self, header: Shdr) -> bytes:
        return self.shdr.pack(*header)

    def iter_phdrs(self, table: bytes | bytearray | memoryview) -> Iterator[Phdr]:
        """All records of `table`, whose length is a multiple of `phdr.size`."""
        if self.is64:
            yield from map(Phdr._make, self.phdr.iter_unpack(table))
            return
        for kind, offset, vaddr, paddr, filesz, memsz, flags, align in self.phdr.iter_unpack(table):
            yield Phdr(kind, flags, offset, vaddr, paddr, filesz, memsz, align)


_WIRES = {
    (elf_class, data): Wire(elf_class == ELFCLASS64, data == ELFDATA2LSB)
    for elf_class in (ELFCLASS32, ELFCLASS64)
    for data in (ELFDATA2LSB, ELFDATA2MSB)
}


def wire_of(ident: bytes | bytearray | memoryview) -> Wire | None:
    """The layout that `e_ident` (at least 6 bytes) names, or None where it names none that exists."""
    return _WIRES.get((ident[EI_CLASS], ident[EI_DATA]))
