# From the type list of an encoding on a base to the bytes of split BTF (see emit_split.py).

from libc.stdint cimport uint32_t
from pybtf.core.encode.emit cimport Layout
from pybtf.core.encode.encoder cimport Encoder

cdef void split_names(Encoder *e) noexcept nogil
cdef int split_layout(Encoder *e, uint32_t first, uint32_t strings, const uint32_t *map, Layout *out) noexcept nogil
