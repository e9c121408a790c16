from pybtf.core.accept cimport Layer

cdef void resolve_all(Layer *y) noexcept nogil
