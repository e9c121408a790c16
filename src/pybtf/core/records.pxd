# Class records: one interned, unit-independent description of a type.
#
# A class is what a type is "by name": its own words, with every reference replaced by the class of the target, and
# a reference to a named struct or union (declared or defined) replaced by a key made of kind and name only. Two
# types of different units with the same class are the same type unless a name in reach has several definitions.
# A class id is a word index into the table's chunks; 0 is void.

from libc.stdint cimport uint32_t

cdef enum:                      # BTF kinds, and two of our own
    KIND_INT = 1
    KIND_PTR = 2
    KIND_ARRAY = 3
    KIND_STRUCT = 4
    KIND_UNION = 5
    KIND_ENUM = 6
    KIND_FWD = 7
    KIND_TYPEDEF = 8
    KIND_VOLATILE = 9
    KIND_CONST = 10
    KIND_RESTRICT = 11
    KIND_FUNC = 12
    KIND_FUNC_PROTO = 13
    KIND_VAR = 14
    KIND_DATASEC = 15
    KIND_FLOAT = 16
    KIND_DECL_TAG = 17
    KIND_TYPE_TAG = 18
    KIND_ENUM64 = 19
    KIND_KEY_STRUCT = 32        # "struct NAME", whether declared or defined
    KIND_KEY_UNION = 33

cdef enum:                      # words of a record
    REC_KIND = 0                # kind | kind_flag << 31
    REC_NAME = 1                # string id
    REC_THIRD = 2               # size, or class of the type referred to; ARRAY: class of the element
    REC_COUNT = 3               # number of elements that follow
    REC_HEAD = 4                # STRUCT, UNION: (name, class, offset); ENUM: (name, value); ENUM64: (name, low, high);
                                # FUNC_PROTO: (name, class); ARRAY: (nelems); INT: (encoding word);
                                # DECL_TAG: (component index)

cdef struct ClassTable:
    uint32_t **chunks           # chunks[id >> CHUNK_BITS][id & CHUNK_MASK] is the first word of record `id`

cdef enum:
    CHUNK_BITS = 16
    CHUNK_MASK = 65535

cdef inline const uint32_t *class_record(const ClassTable *t, uint32_t id) noexcept nogil:
    return t.chunks[id >> CHUNK_BITS] + (id & CHUNK_MASK)

cdef inline uint32_t record_kind(const uint32_t *r) noexcept nogil:
    return r[0] & 0xFF
