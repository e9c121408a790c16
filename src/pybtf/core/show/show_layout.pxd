from libc.stdint cimport int64_t, uint32_t
from pybtf.core.btf.kinds cimport KIND_STRUCT
from pybtf.core.btf.record_layout cimport wire_kind, wire_vlen
from pybtf.core.show.show_types cimport Facts, MemberLayout, Show

cdef struct Ends:               # of the members that have been looked at, in bits
    int64_t end                 # of all of them
    int64_t unit                # of the unit that bit-fields share; 0: the last member is none
    int64_t first_end           # the same, as the first bit-field there has it
    int64_t solid               # of those that have a size

cdef uint32_t behind(Show *s, uint32_t id) noexcept nogil
cdef uint32_t elements(Show *s, uint32_t id) noexcept nogil
cdef int64_t size_of(Show *s, uint32_t id) noexcept nogil
cdef Facts *facts_of(Show *s, uint32_t id) noexcept nogil
cdef void study(Show *s, uint32_t id, Facts *f, MemberLayout *layouts) noexcept nogil
cdef void mark_packed(Show *s, uint32_t id) noexcept nogil
cdef bint is_packed(Show *s, uint32_t id) noexcept nogil

cdef inline bint is_empty(const uint32_t *r) noexcept nogil:
    # An empty class of C++, or what looks so: it has a byte to itself, but takes none.
    return r[2] == 1 and wire_vlen(r) == 0 and wire_kind(r) == KIND_STRUCT
