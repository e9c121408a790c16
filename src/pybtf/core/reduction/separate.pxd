# Whether odd types can be taken for usual ones (see separate.py).

from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.reduction.certify cimport Analysis

cdef int separate(Encoder *e, Analysis *a) noexcept nogil
cdef int contacts(Encoder *e, Analysis *a) noexcept nogil
