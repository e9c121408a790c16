# From the type list and the map of the de-duplication to bytes (see emit.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.support.memory cimport U8s, U32s

cdef enum:
    NO_NUMBER = 0xFFFFFFFF

cdef struct Layout:
    uint32_t *number            # id in the output by id in the list, NO_NUMBER if it is not there
    uint32_t types              # types in the output, void included
    uint64_t type_size          # bytes
    uint64_t string_size
    uint32_t kinds[32]          # types in the output by kind

cdef int emit_layout(const Encoder *e, const uint32_t *map, Layout *out) noexcept nogil
cdef uint8_t *emit_header(const Layout *l, uint8_t *out, bint swap) noexcept nogil
cdef void emit_types(const Encoder *e, const uint32_t *map, const Layout *l, uint8_t *out) noexcept nogil
cdef void emit_strings(const Encoder *e, char *out) noexcept nogil
cdef bytes raw_btf(U32s *words, U8s *text, bint swap)
cdef void emit_count(Layout *out, U32s *words, uint64_t strings) noexcept nogil
