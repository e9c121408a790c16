# Whether odd types can be taken for usual ones (see separate.py).

from pybtf.core.certify cimport Analysis
from pybtf.core.encoder cimport Encoder

cdef int separate(Encoder *e, Analysis *a) noexcept nogil
cdef int contacts(Encoder *e, Analysis *a) noexcept nogil
