# Reading ELF symbols of either class and byte order (see symbols.py).

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from pybtf.core.elf.elf_constants cimport *
from pybtf.core.support.cursor cimport bswap16, bswap32, bswap64

cdef struct SymbolView:         # a symbol table and what it refers to, as bytes
    const uint8_t *symtab
    uint32_t n                  # symbols
    const char *strtab
    uint64_t strtab_size        # below 2^32
    const uint8_t *shndx        # SHT_SYMTAB_SHNDX: `n` words, or NULL
    bint is64
    bint swap

cdef struct Symbol:             # one entry of a symbol table, whatever its class
    uint64_t value
    uint64_t size
    uint32_t name               # offset in strtab, not checked
    uint32_t section            # 0 undefined; SHN_LORESERVE.. is reserved unless `extended`
    uint8_t type                # STT_*
    bint extended               # `section` comes from SHT_SYMTAB_SHNDX

cdef class SymbolSource:        # owns the buffers behind its view
    cdef SymbolView view
    cdef Py_buffer symtab_buffer
    cdef Py_buffer strtab_buffer
    cdef Py_buffer shndx_buffer

cdef inline uint64_t load16(const uint8_t *p, bint swap) noexcept nogil:
    cdef uint16_t v
    memcpy(&v, p, 2)
    return bswap16(v) if swap else v

cdef inline uint64_t load32(const uint8_t *p, bint swap) noexcept nogil:
    cdef uint32_t v
    memcpy(&v, p, 4)
    return bswap32(v) if swap else v

cdef inline uint64_t load64(const uint8_t *p, bint swap) noexcept nogil:
    cdef uint64_t v
    memcpy(&v, p, 8)
    return bswap64(v) if swap else v

cdef inline size_t symbol_size(bint is64) noexcept nogil:
    # Bytes of an entry of a symbol table.
    return 24 if is64 else 16

cdef inline uint8_t symbol_type(const uint8_t *p, bint is64) noexcept nogil:
    # STT_* of the entry at `p`.
    return p[4 if is64 else 12] & 15

cdef inline void read_symbol(const SymbolView *v, uint32_t index, Symbol *s) noexcept nogil:
    # Symbol `index`, which must be below `v.n`.
    cdef const uint8_t *p
    s.extended = False
    p = v.symtab + index * symbol_size(v.is64)
    s.type = symbol_type(p, v.is64)
    if v.is64:
        s.section = <uint32_t> load16(p + 6, v.swap)
        s.value = load64(p + 8, v.swap)
        s.size = load64(p + 16, v.swap)
    else:
        s.value = load32(p + 4, v.swap)
        s.size = load32(p + 8, v.swap)
        s.section = <uint32_t> load16(p + 14, v.swap)
    s.name = <uint32_t> load32(p, v.swap)
    if s.section == SHN_XINDEX and v.shndx != NULL:
        s.section = <uint32_t> load32(v.shndx + <size_t> index * 4, v.swap)
        s.extended = True

cdef inline bint name_ok(const SymbolView *v, uint32_t offset) noexcept nogil:
    # Whether there is a string at this offset that ends within the string table.
    return offset < v.strtab_size and v.strtab[v.strtab_size - 1] == 0

cdef inline uint64_t name_budget(const SymbolView *v) noexcept nogil:
    # A total length of names that a real symbol table stays far below.
    return 16 * v.strtab_size + 256 * <uint64_t> v.n
