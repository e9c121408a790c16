# Declaration and type tags (see btf_tags.py).

from libc.stdint cimport uint64_t
from pybtf.core.dwarf.walk_state cimport Walker
from pybtf.core.model.dwarf_unit cimport Type

cdef int annotation_child(Walker *w, int component) noexcept nogil
cdef int annotation_chain(Walker *w, uint64_t at, int component) noexcept nogil
cdef int tag_slots(Walker *w, uint64_t at, Type *pointer) noexcept nogil
