# Whether what is about to be written is BTF (see verify.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.btf.type_section cimport WireError

cdef enum:                      # WireError.code, apart from those of type_section.pxd
    WIRE_MIDDLE = 16            # a name that begins in the middle of a string
    WIRE_ELEMENTS = 17          # elements of a kind that has none
    WIRE_TYPES = 18             # not as many types as were counted
    WIRE_STRINGS = 19           # a string section without the empty string, or without an end

cdef struct Written:            # what is about to be written; words in host byte order
    const uint32_t *words
    size_t n_words
    uint32_t first              # id of the first record
    uint32_t n                  # ids in use, 0 and those of the base included
    const char *base            # strings of the base; NULL and 0 without one
    uint32_t base_size
    const char *text            # own strings
    uint64_t size

cdef int verify(const Written *w, WireError *error) noexcept nogil
cdef object verify_error(const WireError *error)
