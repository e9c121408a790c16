# BTF that is open for reading: all records in one array by id, those of a base in front, and checked.

from libc.stdint cimport uint32_t
from pybtf.core.btf.kinds cimport *
from pybtf.core.btf.record_layout cimport wire_kind

cdef enum:                      # sets of kinds
    MODIFIERS = 1 << KIND_VOLATILE | 1 << KIND_CONST | 1 << KIND_RESTRICT
    CHAINS = (MODIFIERS | 1 << KIND_PTR | 1 << KIND_ARRAY | 1 << KIND_TYPEDEF | 1 << KIND_FUNC | 1 << KIND_VAR
              | 1 << KIND_DECL_TAG | 1 << KIND_TYPE_TAG)

cdef struct TypeView:
    uint32_t *words
    const size_t *offs          # of the record of each id, in words; offs[0] is not used
    uint32_t n                  # ids, void included
    uint32_t first_own          # 1, or the number of ids of the base
    const char *base_text
    uint32_t base_size
    const char *own_text        # continues the strings of the base
    uint32_t pointer_size

# Whether C calls a type of this name `long` or `unsigned long`.
cdef bint is_long(const char *name) noexcept nogil

cdef inline uint32_t *view_record(const TypeView *v, uint32_t id) noexcept nogil:
    return v.words + v.offs[id]

cdef inline const char *view_name(const TypeView *v, uint32_t offset) noexcept nogil:
    if offset < v.base_size:
        return v.base_text + offset
    return v.own_text + (offset - v.base_size)

cdef inline bint is_chain(uint32_t kind) noexcept nogil:
    # Kinds that are about one type.
    return (CHAINS >> kind) & 1

cdef inline bint is_modifier(uint32_t kind) noexcept nogil:
    return (MODIFIERS >> kind) & 1

cdef inline bint is_composite(uint32_t kind) noexcept nogil:
    return kind == KIND_STRUCT or kind == KIND_UNION

cdef inline bint is_enum(uint32_t kind) noexcept nogil:
    return kind == KIND_ENUM or kind == KIND_ENUM64

cdef inline uint32_t chain_next(const uint32_t *r) noexcept nogil:
    # What a record of a chain kind is about; an array, its elements.
    return r[3] if wire_kind(r) == KIND_ARRAY else r[2]

cdef inline bint kind_flag(const uint32_t *r) noexcept nogil:
    return r[1] >> 31

cdef inline uint32_t member_bits(const uint32_t *r, const uint32_t *m) noexcept nogil:
    # The width of a member if it is a bit-field, else 0.
    return m[2] >> 24 if kind_flag(r) else 0

cdef inline uint32_t member_offset(const uint32_t *r, const uint32_t *m) noexcept nogil:
    return m[2] & 0xFFFFFF if kind_flag(r) else m[2]

cdef class View:
    cdef TypeView v
    cdef readonly object data   # keeps the strings alive
    cdef object base_data
    cdef readonly str name
    cdef str base_name
    cdef size_t cap
    cdef size_t own_words       # where own records begin in `words`
    cdef size_t n_words         # of all records
    cdef size_t own_size        # bytes of own strings
    cdef readonly bint little
    cdef take(self, View below)
    cdef load(self, bytes data, str name, tuple header, uint32_t first_id, size_t at, uint32_t below)
    cdef fail(self, uint32_t id, size_t word, str found, str expected)
