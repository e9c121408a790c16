# The scan of unit headers (see unit_headers.py).

from pybtf.core.model.faults cimport Fault
from pybtf.core.model.losses cimport Losses
from pybtf.core.worker cimport Context

cdef int scan_units(Context *x, Fault *fault, Losses *losses) noexcept nogil
