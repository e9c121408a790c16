# The BTF type record as words (Documentation/bpf/btf.rst): name, info, size or type, then what the kind has.

from libc.stdint cimport uint32_t
from pybtf.core.records cimport *

cdef inline uint32_t wire_kind(const uint32_t *r) noexcept nogil:
    return (r[1] >> 24) & 0x1F

cdef inline uint32_t wire_vlen(const uint32_t *r) noexcept nogil:
    return r[1] & 0xFFFF

cdef inline bint wire_third_is_type(uint32_t kind) noexcept nogil:
    # PTR, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, FUNC_PROTO, VAR, DECL_TAG, TYPE_TAG
    return (0x67F04 >> kind) & 1

cdef inline uint32_t wire_fixed(uint32_t kind) noexcept nogil:
    # words after the first three, whatever vlen says
    if kind == KIND_INT or kind == KIND_VAR or kind == KIND_DECL_TAG:
        return 1
    if kind == KIND_ARRAY:
        return 3
    return 0

cdef inline uint32_t wire_each(uint32_t kind) noexcept nogil:
    # words per element
    if kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_DATASEC or kind == KIND_ENUM64:
        return 3
    if kind == KIND_ENUM or kind == KIND_FUNC_PROTO:
        return 2
    return 0

cdef inline uint32_t wire_named_each(uint32_t kind) noexcept nogil:
    # words per element, if elements begin with a name
    return 0 if kind == KIND_DATASEC else wire_each(kind)

cdef inline uint32_t wire_size(const uint32_t *r) noexcept nogil:
    cdef uint32_t kind = wire_kind(r)
    return 3 + wire_fixed(kind) + wire_each(kind) * wire_vlen(r)
