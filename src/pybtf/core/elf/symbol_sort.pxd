# Sorting symbols by base name (see symbol_sort.py).

from libc.stdint cimport uint32_t, uint64_t

cdef struct Candidate:          # a function symbol that takes part, while it is sorted
    uint64_t word               # of the base name: the eight bytes by which it is sorted next
    uint64_t hash               # of the base name
    uint64_t value              # st_value
    uint32_t name               # offset in the string table
    uint32_t base               # length of the base name
    uint32_t flags              # SYM_*

# Up to 8 bytes as a big-endian number: it sorts as the bytes do. Its last byte is 0 if the name ends in it.
cdef uint64_t first_bytes(const char *name, size_t size) noexcept nogil

# Sort a[:n] by base name, bytewise; equal names stay in order. `word` must be the first one of each; it means nothing
# any more in the end. `spare` is as large as `a`. False: no memory.
cdef bint sort_symbols(Candidate *a, Candidate *spare, uint32_t n, const char *strtab) noexcept nogil
