# Structs of split BTF that its base has too, but of another size (see namesakes.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.memory cimport U32s
from pybtf.core.typegraph cimport BaseTypes

cdef bint other_sizes(const BaseTypes *base, const uint32_t *words, const uint64_t *offs, uint32_t strings, const uint32_t *own, size_t n, U32s *found) noexcept nogil
