# Class records: one interned, unit-independent description of a type.
#
# A class is what a type is "by name": its own words, with every reference replaced by the class of the target, and
# a reference to a named struct, union or enumeration (declared or defined) replaced by a key made of kind and name only.
# Two types of different units with the same class are the same type unless a name in reach has several definitions.
# Class ids count from 1 in order of arrival; 0 is void.

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcmp
from pybtf.core.btf.kinds cimport KIND_ARRAY, KIND_ENUM, KIND_ENUM64, KIND_STRUCT, KIND_UNION
from pybtf.core.btf.record_layout cimport (
    wire_each,
    wire_fixed,
    wire_has_typed_elements,
    wire_kind,
    wire_third_is_type,
    wire_vlen,
)
from pybtf.core.support.arena cimport Arena, Outgrown

cdef enum:                      # REC_KIND beyond those of BTF
    KIND_KEY_STRUCT = 32        # "struct NAME", whether declared or defined
    KIND_KEY_UNION = 33
    KIND_CYCLE = 34             # a type that reaches itself without passing a named struct: REC_NAME unit,
                                # REC_THIRD id, REC_COUNT kind
    KIND_KEY_ENUM = 35          # "enum NAME", with or without enumerators
    KIND_KEY_ENUM64 = 36
    KIND_VARIANT = 37           # types of class REC_NAME that reach the same (refine.py): words, a bit for each name

cdef enum:                      # words of a record
    REC_KIND = 0                # kind | kind_flag << 31
    REC_NAME = 1                # string id
    REC_THIRD = 2               # size, or class of the type referred to; ARRAY: class of the element
    REC_COUNT = 3               # number of elements that follow
    REC_HEAD = 4                # STRUCT, UNION: (name, class, offset); ENUM: (name, value); ENUM64: (name, low, high);
                                # FUNC_PROTO: (name, class); ARRAY: (nelems); INT: (encoding word);
                                # DECL_TAG: (component index)

cdef enum:
    CLASS_CHUNK_BITS = 16
    CLASS_CHUNK = 1 << CLASS_CHUNK_BITS
    CLASS_CHUNKS = 8192
    NO_CLASS = 0xFFFFFFFF       # out of memory

cdef struct ClassTable:         # see class_table.py; readers need only `records`
    uint32_t ***records         # records[id >> CLASS_CHUNK_BITS][id & (CLASS_CHUNK - 1)]
    uint32_t n_chunks           # of `records`
    uint32_t *heads
    uint32_t mask
    uint32_t n                  # ids in use, 0 included
    Outgrown outgrown           # `heads` that were
    Arena room                  # for records
    int busy

cdef inline const uint32_t *class_record(const ClassTable *t, uint32_t id) noexcept nogil:
    return t.records[id >> CLASS_CHUNK_BITS][id & (CLASS_CHUNK - 1)]

cdef inline uint32_t key_of_kind(uint32_t kind) noexcept nogil:
    # The kind of key that stands for a definition of this kind, if it has a name; 0: its class does.
    if kind == KIND_STRUCT:
        return KIND_KEY_STRUCT
    if kind == KIND_UNION:
        return KIND_KEY_UNION
    if kind == KIND_ENUM:
        return KIND_KEY_ENUM
    if kind == KIND_ENUM64:
        return KIND_KEY_ENUM64
    return 0

cdef inline uint32_t record_kind(const uint32_t *r) noexcept nogil:
    return r[0] & 0xFF

cdef inline uint32_t record_info(const uint32_t *r) noexcept nogil:
    # REC_KIND of a BTF record.
    return wire_kind(r) | r[1] & <uint32_t> 0x80000000

cdef inline uint32_t record_size(const uint32_t *r) noexcept nogil:
    # Words of the class record of a BTF record. Of an array the length alone is not in the head.
    cdef uint32_t kind = wire_kind(r)
    return REC_HEAD + wire_each(kind) * wire_vlen(r) + (1 if wire_fixed(kind) else 0)

cdef inline bint record_is(const uint32_t *w, const uint32_t *r, const uint32_t *stands) noexcept nogil:
    # Whether `w` is the class record of the BTF record `r`, whose references stand for what `stands` has for them.
    cdef uint32_t kind = wire_kind(r)
    cdef uint32_t each = wire_each(kind)
    cdef uint32_t third = r[2]
    cdef const uint32_t *p = r + 3
    cdef const uint32_t *end = p + each * wire_vlen(r)
    if w[REC_NAME] != r[0] or w[REC_KIND] != record_info(r) or w[REC_COUNT] != wire_vlen(r):
        return False
    if kind == KIND_ARRAY:
        third = stands[r[3]]
    elif wire_third_is_type(kind):
        third = stands[third]
    if w[REC_THIRD] != third:
        return False
    w += REC_HEAD
    if wire_has_typed_elements(kind):
        while p < end:
            if w[0] != p[0] or w[1] != stands[p[1]] or (each == 3 and w[2] != p[2]):
                return False
            p += each
            w += each
        return True
    if wire_fixed(kind):
        return w[0] == (r[5] if kind == KIND_ARRAY else r[3])
    return p == end or memcmp(w, p, <size_t> (end - p) * sizeof(uint32_t)) == 0
