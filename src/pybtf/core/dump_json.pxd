from libc.stdint cimport uint32_t
from pybtf.core.textbuffer cimport Text
from pybtf.core.typeview cimport TypeView

cdef struct Json:
    const TypeView *v
    Text *t
    bint pretty
    bint first                  # nothing stands yet in the object or array that is open
    uint32_t depth              # of indentation, in steps

cdef void json_begin(Json *j) noexcept nogil
cdef void json_type(Json *j, uint32_t id) noexcept nogil
cdef void json_end(Json *j) noexcept nogil
