from pybtf.core.accept.accept cimport Layer

cdef void check_chains(Layer *y) noexcept nogil
