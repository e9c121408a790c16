# Which types must be kept although an earlier unit has one of their class (see certify.py).

from pybtf.core.encode.encoder cimport Encoder

cdef int certify(Encoder *e) noexcept nogil
