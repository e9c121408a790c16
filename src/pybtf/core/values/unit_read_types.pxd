# Types of a unit value that comes from bytes (see unit_read_types.py).

from pybtf.core.classes.classify cimport Classifier
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.strings.string_table cimport Strings
from pybtf.core.values.known_types cimport KnownTypes
from pybtf.core.values.unit_read cimport Reading

# After `begin_unit`: records, classes and tags. `known`: NULL where all types are kept; `whole`: all records are needed.
# Nonzero: fault in `v.fault`.
cdef int read_types(Reading *r, UnitValue *v, Classifier *c, Strings *strings, KnownTypes *known,
                    bint whole) noexcept nogil
