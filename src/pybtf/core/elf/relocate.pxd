# Records of relocations, and the operations of a machine's table (see relocate.py). One byte of such a table is an
# operation, and the width of the field in bytes << 4.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from pybtf.core.elf.symbols cimport load32, load64

cdef enum:
    RELOC_UNKNOWN = 0      # not a relocation type of the machine
    RELOC_LEAVE = 1        # known, but without effect on debug sections
    RELOC_SET = 2          # field = value
    RELOC_ADD = 3          # field += value
    RELOC_SUB = 4          # field -= value
    RELOC_SUM = 5          # field += value, and the sum is an address: the field has a part of the addend

cdef struct Entry:
    uint64_t offset
    uint64_t addend         # 0 with REL: the field has it
    uint32_t symbol
    uint32_t type

cdef inline void entry_read(Entry *e, const uint8_t *p, bint is64, bint swap, bint rela, bint mips64) noexcept nogil:
    # Reads the record at `p`, which has `relocation_size` bytes.
    cdef uint64_t info
    e.addend = 0
    if not is64:
        e.offset = load32(p, swap)
        info = load32(p + 4, swap)
        e.symbol = <uint32_t> (info >> 8)
        e.type = <uint32_t> (info & 0xFF)
        if rela:
            e.addend = <uint64_t> <int64_t> <int32_t> load32(p + 8, swap)
        return
    e.offset = load64(p, swap)
    if rela:
        e.addend = load64(p + 16, swap)
    if mips64:
        # Not one number but a symbol, a special symbol, and three types of a byte each, the last one first. A record
        # that combines several has a type that no machine has.
        e.symbol = load32(p + 8, swap)
        e.type = (<uint32_t> p[13] << 16) | (<uint32_t> p[14] << 8) | p[15]
        return
    info = load64(p + 8, swap)
    e.symbol = <uint32_t> (info >> 32)
    e.type = <uint32_t> info
