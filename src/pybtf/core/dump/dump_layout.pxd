# Sizes and alignments as the C compiler that reads the header is going to have them.

from libc.stdint cimport int64_t, uint32_t
from pybtf.core.btf.kinds cimport *
from pybtf.core.btf.record_layout cimport wire_kind
from pybtf.core.btf.type_view cimport is_enum
from pybtf.core.dump.dump_c cimport CDump

cdef int check_chains(CDump *d) noexcept nogil
cdef int64_t size_of(const CDump *d, uint32_t id) noexcept nogil            # in bytes; 0 of what has none
cdef uint32_t alignment_of(CDump *d, uint32_t id) noexcept nogil            # in bytes; 0 of what has none
cdef bint is_packed(CDump *d, uint32_t id) noexcept nogil
cdef uint32_t widest_bits(CDump *d, uint32_t id) noexcept nogil     # of a bit-field of this type

cdef inline uint32_t bits_of(const uint32_t *r) noexcept nogil:
    # The width that a bit-field of this type can have in C; 0 if there are none.
    cdef uint32_t kind = wire_kind(r)
    if kind == KIND_INT and (r[3] >> 24) & INT_BOOL:
        return 1
    return 8 * r[2] if (kind == KIND_INT or is_enum(kind)) and r[2] <= 16 else 0
