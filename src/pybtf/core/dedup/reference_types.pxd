# The phase of reference types (see reference_types.py). A DEDUP_* status.

from libc.stdint cimport uint32_t
from pybtf.core.dedup.phases cimport Work

cdef int dedup_references(Work *w, uint32_t *map) noexcept nogil
