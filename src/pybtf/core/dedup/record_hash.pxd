# Hashes by which types meet their candidates. Only members of one chain are compared, and in full.

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.btf.kinds cimport KIND_ENUM, KIND_ENUM64, KIND_FWD, KIND_STRUCT, KIND_UNION
from pybtf.core.btf.record_layout cimport wire_vlen, wire_words
from pybtf.core.dedup.type_graph cimport TypeGraph, hash_more, hash_three, kind_of, record_of
from pybtf.core.support.hashing cimport SALT

cdef inline uint64_t hash_record(const uint32_t *r) noexcept nogil:
    # All words.
    cdef uint64_t h = hash_three(r)
    cdef size_t i = 3
    cdef size_t n = wire_words(r[1])
    while i + 1 < n:
        h = hash_more(h, r[i], r[i + 1])
        i += 2
    return hash_more(h, r[i], 0) if i < n else h

cdef enum:
    LOOKED_AT = 4               # members of a nameless struct of which the types count

cdef inline uint32_t kind_class(uint32_t kind) noexcept nogil:
    # Kinds of which one type may be equivalent to one of another have one class: a declaration and its definition.
    if kind == KIND_UNION or kind == KIND_FWD:
        return KIND_STRUCT
    return KIND_ENUM if kind == KIND_ENUM64 else kind

cdef inline uint64_t hash_members(const TypeGraph *g, const uint32_t *r) noexcept nogil:
    # STRUCT, UNION: everything but the types of the members. Without a name, also the names of the first types and what
    # they are: a kernel has hundreds of nameless unions with members of the same names. Equivalent types have those in
    # common, so all that a struct may be equivalent to are in its chain still, in the order they had.
    cdef uint64_t h = hash_three(r)
    cdef const uint32_t *p = r + 3
    cdef const uint32_t *end = p + 3 * <size_t> wire_vlen(r)
    while p < end:
        h = hash_more(h, p[0], p[2])
        p += 3
    if r[0] == 0:
        p = r + 3
        if end > p + 3 * LOOKED_AT:
            end = p + 3 * LOOKED_AT
        while p < end:
            if p[1]:
                h = hash_more(h, record_of(g, p[1])[0], kind_class(kind_of(g.nodes, p[1])))
            p += 3
    return h

cdef inline uint64_t hash_name(const uint32_t *r) noexcept nogil:
    return hash_more(SALT, r[0], 0)

cdef inline uint64_t hash_typedef(const uint32_t *r) noexcept nogil:
    # Never that of `hash_record`, also where the type is 0: typedefs of a base are not found by it.
    return hash_more(~SALT, r[0], r[1])
