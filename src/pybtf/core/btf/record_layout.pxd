# The BTF type record: 32-bit words in host byte order, `name`, `info`, `third`, then what its kind adds (docs/rules.md,
# 1.3).
#
# Only this file knows how long a record is and where its references and names are. A test compares it with the table in
# pybtf/btf/kinds.py.

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.btf.kinds cimport *

cdef enum:                      # words of a record
    W_NAME = 0
    W_INFO = 1
    W_THIRD = 2                 # size, or the type referred to
    W_EXTRA = 3                 # INT, VAR, DECL_TAG: one word; ARRAY: element, index, nelems; or the elements
    WIRE_KINDS = KIND_ENUM64 + 1        # kinds of the format, the 0 of void included
    WIRE_INFO_RESERVED = 0x60FF0000     # bits of the info word without meaning
    WIRE_KIND_FLAG = 0x80000000         # bit of the info word: what it says depends on the kind
    WHOLE = 0xFFFFFFFF          # component of a DECL_TAG: the whole type, and no member or parameter

cdef enum:                      # sets of kinds
    LINKS = (1 << KIND_PTR | 1 << KIND_TYPEDEF | 1 << KIND_VOLATILE | 1 << KIND_CONST | 1 << KIND_RESTRICT
             | 1 << KIND_FUNC | 1 << KIND_TYPE_TAG)
    THIRD_IS_TYPE = LINKS | 1 << KIND_FUNC_PROTO | 1 << KIND_VAR | 1 << KIND_DECL_TAG
    PRIMITIVES = 1 << KIND_INT | 1 << KIND_ENUM | 1 << KIND_FWD | 1 << KIND_FLOAT | 1 << KIND_ENUM64
    WITH_TYPED_ELEMENTS = 1 << KIND_STRUCT | 1 << KIND_UNION | 1 << KIND_FUNC_PROTO

cdef struct RefSpan:            # references or names of a record: p[0], p[stride], ... `count` of them
    uint32_t *p
    uint32_t count
    uint32_t stride

cdef inline uint64_t per_kind(uint32_t kind, uint64_t words) noexcept nogil:
    # In a word that has two bits for each kind, those of this one.
    return words << 2 * kind

cdef inline uint32_t wire_info(uint32_t kind, uint32_t vlen) noexcept nogil:
    # The info word of a record without the kind flag.
    return kind << 24 | vlen

cdef inline uint32_t wire_kind(const uint32_t *r) noexcept nogil:
    return (r[W_INFO] >> 24) & 0x1F

cdef inline uint32_t wire_vlen(const uint32_t *r) noexcept nogil:
    return r[W_INFO] & 0xFFFF

cdef inline bint wire_third_is_type(uint32_t kind) noexcept nogil:
    return (THIRD_IS_TYPE >> kind) & 1

cdef inline bint wire_has_typed_elements(uint32_t kind) noexcept nogil:
    # Members or parameters: the second word of each is a type.
    return (WITH_TYPED_ELEMENTS >> kind) & 1

cdef inline uint32_t wire_fixed(uint32_t kind) noexcept nogil:
    # words after the first three, whatever vlen says
    cdef uint64_t fixed = per_kind(KIND_INT, 1) | per_kind(KIND_VAR, 1) | per_kind(KIND_DECL_TAG, 1)
    fixed |= per_kind(KIND_ARRAY, 3)
    return (fixed >> 2 * kind) & 3 if kind < 32 else 0

cdef inline uint32_t wire_each(uint32_t kind) noexcept nogil:
    # words per element
    cdef uint64_t each = per_kind(KIND_ENUM, 2) | per_kind(KIND_FUNC_PROTO, 2)
    each |= per_kind(KIND_STRUCT, 3) | per_kind(KIND_UNION, 3) | per_kind(KIND_DATASEC, 3) | per_kind(KIND_ENUM64, 3)
    return (each >> 2 * kind) & 3 if kind < 32 else 0

cdef inline uint32_t wire_size(const uint32_t *r) noexcept nogil:
    cdef uint32_t kind = wire_kind(r)
    return 3 + wire_fixed(kind) + wire_each(kind) * wire_vlen(r)

cdef inline uint32_t wire_forward_kind(const uint32_t *r) noexcept nogil:
    # The kind a FWD declares.
    if r[1] >> 31:
        return KIND_UNION
    return KIND_STRUCT

cdef inline bint wire_is_link(uint32_t kind) noexcept nogil:
    # Whether a record has three words, of which the third is the only reference.
    return (LINKS >> kind) & 1

cdef inline size_t wire_words(uint32_t info) noexcept nogil:
    # Length of a record in words, 0 if its kind does not exist.
    cdef uint32_t kind = (info >> 24) & 31
    cdef size_t vlen = info & 0xFFFF
    if kind == 0 or kind >= WIRE_KINDS:
        return 0
    return 3 + wire_fixed(kind) + wire_each(kind) * vlen

cdef inline size_t wire_whole(const uint32_t *words, size_t at, size_t end) noexcept nogil:
    # Length in words of the record at `at`, 0 if its kind does not exist or it does not end within `end`.
    cdef size_t size
    if end - at < 3:
        return 0
    size = wire_words(words[at + 1])
    return size if size <= end - at else 0

cdef inline RefSpan wire_names(uint32_t *r) noexcept nogil:
    # The names of elements: members, enumerators, parameters. The type's own name is r[W_NAME].
    cdef RefSpan s
    cdef uint32_t kind = wire_kind(r)
    s.p = r + W_EXTRA
    s.stride = wire_each(kind)
    s.count = 0 if kind == KIND_DATASEC or s.stride == 0 else wire_vlen(r)
    return s

cdef inline bint wire_is_primitive(uint32_t kind) noexcept nogil:
    # Kinds without references.
    return (PRIMITIVES >> kind) & 1

cdef struct Extremes:           # of what the records of a section name and refer to, the largest
    uint32_t name
    uint32_t ref

cdef inline uint32_t larger(uint32_t a, uint32_t b) noexcept nogil:
    return a if a > b else b

cdef inline void wire_look(const uint32_t *r, Extremes *x) noexcept nogil:
    # Takes a record into account. With as few branches as can be: kinds follow each other in no order.
    cdef uint32_t kind = wire_kind(r)
    cdef uint32_t each = wire_each(kind)
    cdef uint32_t types = 0xFFFFFFFF if wire_has_typed_elements(kind) else 0    # name, type
    cdef const uint32_t *p = r + W_EXTRA
    cdef const uint32_t *end = p + <size_t> each * wire_vlen(r)
    x.name = larger(x.name, r[0])
    x.ref = larger(x.ref, r[2] if wire_third_is_type(kind) else 0)
    if kind == KIND_ARRAY:
        x.ref = larger(x.ref, larger(p[0], p[1]))
    elif kind == KIND_DATASEC:
        while p < end:
            x.ref = larger(x.ref, p[0])
            p += each
    else:
        while p < end:
            x.name = larger(x.name, p[0])
            x.ref = larger(x.ref, p[1] & types)
            p += each

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
