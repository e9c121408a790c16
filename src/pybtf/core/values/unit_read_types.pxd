# Types of a unit value that comes from bytes (see unit_read_types.py).

from libc.stdint cimport uint32_t
from pybtf.core.classes.classify cimport Classifier
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.strings.string_table cimport Strings
from pybtf.core.support.met_table cimport MetTable
from pybtf.core.values.unit_read cimport Reading

# After `begin_unit`: records, classes and tags. `known`: NULL where all types are kept; `whole`: all records are needed.
# Nonzero: fault in `v.fault`.
cdef int read_types(Reading *r, UnitValue *v, Classifier *c, Strings *strings, MetTable *known,
                    bint whole) noexcept nogil

# Whether name, elements and size of a record are such as its kind has that is made of DWARF, and whether each element
# of a kind has a name.
cdef bint has_right_words(const uint32_t *p, uint32_t kind) noexcept nogil
cdef bint named_elements(uint32_t kind) noexcept nogil
