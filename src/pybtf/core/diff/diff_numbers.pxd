from libc.stdint cimport uint32_t
from pybtf.core.diff.diff_meaning cimport Numbers, Side

cdef bint numbers_open(Numbers *t) noexcept nogil
cdef void numbers_free(Numbers *t) noexcept nogil
cdef uint32_t name_number(Numbers *t, Side *s, uint32_t offset) noexcept nogil
cdef uint32_t number_of_key(Numbers *t) noexcept nogil
