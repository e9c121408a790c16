# Names that kernels take (see plain_names.py).

from libc.stdint cimport uint32_t
from pybtf.core.strings.string_table cimport Strings
from pybtf.core.support.memory cimport U32s

# The name itself if it is plain, or the one that takes its place; NO_STRING: no memory.
cdef uint32_t plain_name(Strings *strings, uint32_t sid) noexcept nogil

# Replaces each of `n` interned names that stands `step` words after the one before, unless it is plain, by one that is.
# Those that were replaced are appended to `renamed`. False: no memory.
cdef bint plain_names(Strings *strings, U32s *renamed, uint32_t *name, uint32_t n, uint32_t step) noexcept nogil

# Whether names of this kind, and of its elements, are those of C.
cdef bint has_plain_names(uint32_t kind) noexcept nogil

cdef enum:
    LONGEST_PLAIN = 127         # bytes; kernels before 6.1 take no more

cdef inline bint is_plain(unsigned char c, bint first) noexcept nogil:
    # Whether a name may have this character, at the start or later.
    return c'a' <= c <= c'z' or c'A' <= c <= c'Z' or c == c'_' or (c'0' <= c <= c'9' and not first)
