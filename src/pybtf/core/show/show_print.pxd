from libc.stdint cimport uint32_t
from pybtf.core.show.show_types cimport Level, Show

cdef enum:
    TYPE_COLUMN = 26            # width of types
    NAME_COLUMN = 21            # of names, in structs
    UNION_NAME_COLUMN = 19
    WIDE_NAME_COLUMN = 53       # where types are expanded

cdef void put_definition(Show *s, uint32_t id) noexcept nogil
