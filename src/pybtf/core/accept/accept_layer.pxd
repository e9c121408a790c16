from pybtf.core.accept.accept cimport Layer as Types

cdef class Layer:
    cdef Types y
    cdef readonly Layer base
    cdef readonly bytes data
    cdef readonly Py_ssize_t text_at
    cdef check_memory(self)
