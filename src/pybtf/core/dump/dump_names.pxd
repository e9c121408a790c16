# How often each name has been used: the second `struct a` of a header is to be called `struct a___2`.

from libc.stdint cimport uint32_t, uint64_t

cdef struct NameUse:
    const char *name            # NULL: the slot is free
    uint64_t hash
    uint32_t count

cdef struct NameUses:
    NameUse *slots
    uint32_t mask               # their number - 1; 0 before the first name
    uint32_t n

cdef uint32_t name_used(NameUses *u, const char *name) noexcept nogil    # how often, this time included; 0: no memory
cdef void names_free(NameUses *u) noexcept nogil
