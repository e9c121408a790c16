from libc.stdint cimport uint32_t
from pybtf.core.show.show_types cimport Show

cdef enum:
    TYPE_COLUMN = 26            # width of types
    NAME_COLUMN = 21            # of names, in structs
    UNION_NAME_COLUMN = 19

cdef struct Frame:              # what is printed at one level
    uint32_t level              # tabs
    int type_column
    int comment_column
    uint32_t base               # offset of what is printed, in bytes
    bint in_union               # what is printed is, directly or not, in one
    bint flexible               # of the member: an array without a size may stand there
    uint32_t cacheline          # the last one that a line was printed for

cdef void put_composite(Show *s, uint32_t id, Frame *frame, bint outermost) noexcept nogil
cdef void put_definition(Show *s, uint32_t id) noexcept nogil
