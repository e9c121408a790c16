from pybtf.core.accept.accept cimport Layer

cdef void resolve_all(Layer *y) noexcept nogil
