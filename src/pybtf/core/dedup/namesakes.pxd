# Structs of split BTF that its base has too, but of another size (see namesakes.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.dedup.type_graph cimport BaseTypes
from pybtf.core.support.memory cimport U32s

cdef bint other_sizes(const BaseTypes *base, const uint32_t *words, const uint64_t *offs, uint32_t strings,
                      const uint32_t *own, size_t n, U32s *found) noexcept nogil
