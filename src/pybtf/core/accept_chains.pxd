from pybtf.core.accept cimport Layer

cdef void check_chains(Layer *y) noexcept nogil
