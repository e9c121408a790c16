from libc.stdint cimport uint32_t
from pybtf.core.show.show_types cimport Plan, Show

cdef void plan_open(Show *s, Plan *p, uint32_t id) noexcept nogil
cdef void plan_close(Show *s, Plan *p) noexcept nogil
cdef bint plan_step(Show *s, Plan *p) noexcept nogil
