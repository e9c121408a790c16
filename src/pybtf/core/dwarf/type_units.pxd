# Type units by signature (see type_units.py).

from libc.stdint cimport uint32_t, uint64_t

cdef struct TypeUnits:          # open addressing
    uint64_t *signatures
    uint32_t *dies              # offset of the type in .debug_info; 0: free
    uint64_t mask
    uint32_t n

cdef int type_unit_add(TypeUnits *t, uint64_t signature, uint64_t die) noexcept nogil
cdef uint64_t type_unit_find(const TypeUnits *t, uint64_t signature) noexcept nogil
cdef void type_units_free(TypeUnits *t) noexcept nogil
