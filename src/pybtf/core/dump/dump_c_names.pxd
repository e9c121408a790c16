from libc.stdint cimport uint8_t, uint32_t
from pybtf.core.btf.record_layout cimport wire_forward_kind, wire_kind
from pybtf.core.btf.kinds cimport *
from pybtf.core.btf.type_view cimport TypeView, is_enum, view_record
from pybtf.core.dump.dump_c_words cimport Words

cdef enum:                      # Names.marks
    SOUND = 1                   # C can have the name
    FAULTY = 2
    TAGS = 28                   # 4, 8, 16: a struct, a union, an enum has it (tag_bit)
    DECLARED_TAG = 32           # one of these is a declaration
    EMPTY = 64                  # and SOUND
    HERE = 128                  # in the record that is looked at
    NOT_HERE = 127

cdef struct Names:              # of a BTF
    Words words
    uint8_t *marks              # by offset; 0: nothing has this name
    size_t steps
    size_t most                 # of them
    uint32_t bad                # the id at which it takes too many steps, or 0
    bint mixed                  # a name has DECLARED_TAG and several of TAGS

cdef inline bint needs_name(const TypeView *v, uint32_t id) noexcept nogil:
    # Whether a member of this type needs a name. The others may be alone, or declare nothing.
    cdef uint32_t kind = wire_kind(view_record(v, id)) if 0 < id < v.n else 0
    return kind == KIND_PTR or kind == KIND_ARRAY

cdef inline uint8_t tag_bit(const uint32_t *r) noexcept nogil:
    # For a struct, union or enum, or a declaration of one, a mark that tells which of the three; 0 for others.
    cdef uint32_t kind = wire_kind(r)
    if kind == KIND_FWD:
        kind = wire_forward_kind(r)
    if is_enum(kind):
        return 16
    return 4 if kind == KIND_STRUCT else 8 if kind == KIND_UNION else 0
