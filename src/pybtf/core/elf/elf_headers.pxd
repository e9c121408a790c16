# Headers of ELF files and sections, of either class and byte order (System V gABI, chapter 4); symbols are in
# symbols.pxd.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.elf.symbols cimport load16, load32, load64

cdef struct FileHeader:         # what it says of the section table
    uint64_t shoff
    uint64_t shentsize
    uint64_t shnum
    uint64_t shstrndx

cdef struct SectionHeader:
    uint32_t name               # offset of its name
    uint32_t type
    uint64_t flags
    uint64_t addr
    uint64_t offset
    uint64_t size
    uint32_t link
    uint32_t info
    uint64_t addralign
    uint64_t entsize

cdef inline void read_file_header(const uint8_t *p, bint is64, bint swap, FileHeader *h) noexcept nogil:
    h.shoff = load64(p + 40, swap) if is64 else load32(p + 32, swap)
    p += 58 if is64 else 46
    h.shentsize = load16(p, swap)
    h.shnum = load16(p + 2, swap)
    h.shstrndx = load16(p + 4, swap)

cdef inline size_t section_entry_size(bint is64) noexcept nogil:
    # Bytes of an entry of the section table.
    return 64 if is64 else 40

cdef inline void read_section_header(const uint8_t *p, bint is64, bint swap, SectionHeader *h) noexcept nogil:
    # The entry of the section table at `p`.
    h.name = <uint32_t> load32(p, swap)
    h.type = <uint32_t> load32(p + 4, swap)
    if is64:
        h.flags = load64(p + 8, swap)
        h.addr = load64(p + 16, swap)
        h.offset = load64(p + 24, swap)
        h.size = load64(p + 32, swap)
        h.link = <uint32_t> load32(p + 40, swap)
        h.info = <uint32_t> load32(p + 44, swap)
        h.addralign = load64(p + 48, swap)
        h.entsize = load64(p + 56, swap)
    else:
        h.flags = load32(p + 8, swap)
        h.addr = load32(p + 12, swap)
        h.offset = load32(p + 16, swap)
        h.size = load32(p + 20, swap)
        h.link = <uint32_t> load32(p + 24, swap)
        h.info = <uint32_t> load32(p + 28, swap)
        h.addralign = load32(p + 32, swap)
        h.entsize = load32(p + 36, swap)

cdef inline size_t relocation_size(bint is64, bint rela) noexcept nogil:
    # Bytes of a relocation, with an addend or without.
    return (8 if is64 else 4) * (3 if rela else 2)
