# Declaration and type tags (see annotations.py).

from libc.stdint cimport uint64_t
from pybtf.core.unit cimport Type
from pybtf.core.walker cimport Walker

cdef int annotation_child(Walker *w, int component) noexcept nogil
cdef int annotation_chain(Walker *w, uint64_t at, int component) noexcept nogil
cdef int tag_slots(Walker *w, uint64_t at, Type *pointer) noexcept nogil
