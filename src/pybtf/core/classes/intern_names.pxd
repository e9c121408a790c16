# The names of all types of a unit, interned in place (see intern_names.py).

from pybtf.core.classes.classify cimport Classifier
from pybtf.core.model.encoded_unit cimport UnitValue

# Nonzero: `c.failed`.
cdef int intern_names(Classifier *c, UnitValue *v) noexcept nogil
