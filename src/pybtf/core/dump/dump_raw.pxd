from libc.stdint cimport uint32_t
from pybtf.core.btf.type_view cimport TypeView
from pybtf.core.dump.text_buffer cimport Text

cdef const char *kind_text(uint32_t kind) noexcept nogil
cdef const char *encoding_text(uint32_t word) noexcept nogil
cdef const char *linkage_text(uint32_t linkage) noexcept nogil
cdef const char *forward_text(const uint32_t *r) noexcept nogil
cdef void raw_type(const TypeView *v, Text *t, uint32_t id) noexcept nogil
