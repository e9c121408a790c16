from libc.stdint cimport uint32_t
from pybtf.core.btf.type_view cimport TypeView
from pybtf.core.dump.text_buffer cimport Text

cdef struct Json:
    const TypeView *v
    Text *t
    bint pretty
    bint first                  # nothing stands yet in the object or array that is open
    uint32_t depth              # of indentation, in steps

cdef void json_begin(Json *j) noexcept nogil
cdef void json_type(Json *j, uint32_t id) noexcept nogil
cdef void json_end(Json *j) noexcept nogil
