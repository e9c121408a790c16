from pybtf.core.accept.accept cimport Layer

cdef void check_fit(Layer *y) noexcept nogil
cdef void check_sorted(Layer *y) noexcept nogil
