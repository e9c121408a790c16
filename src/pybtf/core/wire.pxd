# BTF type records in memory: 32-bit words in host byte order, as in section 1.3 of the encoding rules.
#
# A record is `name`, `info`, `third`, then what its kind adds. The two functions below are the only places
# that know how long a record is and where its references are; everything else walks what they return.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.records cimport *
from pybtf.core.wirekinds cimport wire_each, wire_fixed

cdef enum:                      # words of a record
    W_NAME = 0
    W_INFO = 1
    W_THIRD = 2                 # size, or the type referred to
    W_EXTRA = 3                 # INT, VAR, DECL_TAG: one word; ARRAY: element, index, nelems; or the elements
    WIRE_KINDS = 20
    WIRE_INFO_RESERVED = 0x60FF0000
    WIRE_HEADER = 24
    WIRE_MAGIC = 0xEB9F

cdef enum:                      # WireError.code
    WIRE_OK = 0
    WIRE_KIND = 1               # a kind that does not exist
    WIRE_RESERVED = 2           # reserved bits of the info word are set
    WIRE_TRUNCATED = 3          # the section ends inside a record
    WIRE_NAME = 4               # a name beyond the string section
    WIRE_REFERENCE = 5          # a type id that does not exist
    WIRE_MEMORY = 6
    WIRE_TOO_MANY = 7           # more types than an id can count

cdef struct WireError:
    int code
    uint32_t id                 # of the offending record
    uint32_t value              # the offending word
    size_t word                 # index of the offending word

cdef struct RefSpan:            # references of a record: p[0], p[stride], ... `count` of them
    uint32_t *p
    uint32_t count
    uint32_t stride

cdef inline uint32_t wire_kind(const uint32_t *r) noexcept nogil:
    return (r[1] >> 24) & 31

cdef inline uint32_t wire_vlen(const uint32_t *r) noexcept nogil:
    return r[1] & 0xFFFF

cdef inline uint32_t wire_forward_kind(const uint32_t *r) noexcept nogil:
    # The kind a FWD declares.
    if r[1] >> 31:
        return KIND_UNION
    return KIND_STRUCT

cdef inline bint wire_is_link(uint32_t kind) noexcept nogil:
    # PTR, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, TYPE_TAG: three words, of which the third is the only reference.
    return (0x41F04 >> kind) & 1

cdef inline size_t wire_words(uint32_t info) noexcept nogil:
    # Length of a record in words, 0 if its kind does not exist.
    cdef uint32_t kind = (info >> 24) & 31
    cdef size_t vlen = info & 0xFFFF
    if kind == 0 or kind >= WIRE_KINDS:
        return 0
    return 3 + wire_fixed(kind) + wire_each(kind) * vlen

cdef inline bint wire_is_primitive(uint32_t kind) noexcept nogil:
    # INT, ENUM, FWD, FLOAT, ENUM64: kinds without references.
    return (0x900C2 >> kind) & 1

cdef inline RefSpan wire_refs(uint32_t *r) noexcept nogil:
    # ARRAY: element, then index; FUNC_PROTO: return type, then parameters.
    cdef RefSpan s
    cdef uint32_t kind = wire_kind(r)
    s.count = 0
    s.stride = 1
    s.p = r + W_THIRD
    if kind == KIND_STRUCT or kind == KIND_UNION:
        s.p = r + 4
        s.count = wire_vlen(r)
        s.stride = 3
    elif kind == KIND_FUNC_PROTO:
        s.count = 1 + wire_vlen(r)
        s.stride = 2
    elif kind == KIND_ARRAY:
        s.p = r + W_EXTRA
        s.count = 2
    elif kind == KIND_DATASEC:
        s.p = r + W_EXTRA
        s.count = wire_vlen(r)
        s.stride = 3
    elif not (kind == KIND_INT or kind == KIND_ENUM or kind == KIND_ENUM64 or kind == KIND_FLOAT or kind == KIND_FWD):
        s.count = 1
    return s

cdef int wire_index(const uint32_t *words, size_t n_words, uint32_t first_id, size_t base, size_t **offs,
                    uint32_t *n, size_t *cap, WireError *error) noexcept nogil
cdef int wire_check_names(uint32_t *words, const size_t *offs, uint32_t start, uint32_t n, uint32_t strings,
                          WireError *error) noexcept nogil
cdef int wire_check_refs(uint32_t *words, const size_t *offs, uint32_t start, uint32_t n,
                         WireError *error) noexcept nogil
cdef void wire_load(uint32_t *out, const uint8_t *src, size_t n_words, bint swap) noexcept nogil
cdef void wire_store(uint8_t *out, const uint32_t *src, size_t n_words, bint swap) noexcept nogil
cdef void wire_swap(uint8_t *words, size_t n_words) noexcept nogil
cdef size_t wire_compact(uint32_t *words, const size_t *offs, uint32_t start, uint32_t n, const uint32_t *map,
                         uint32_t *number) noexcept nogil
