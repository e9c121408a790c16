# A unit value into bytes (see unit_export.py).

from libc.stdint cimport uint64_t
from pybtf.core.classes.classify cimport Classifier
from pybtf.core.functions.calling_convention cimport Machine
from pybtf.core.functions.function_instances cimport Observer
from pybtf.core.model.dwarf_unit cimport Unit
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.strings.string_table cimport Strings
from pybtf.core.support.memory cimport U8s, U32s, U64s
from pybtf.core.values.type_digest cimport Digests

cdef struct Writing:            # units of one object
    Strings *strings
    const Machine *machine
    bint true_signature
    bint swap
    U32s places                 # by string id: how the string is named in the unit at hand, 0 none yet
    U32s used                   # string ids in order of their places
    size_t first_used           # how many of them are the first strings
    uint64_t text               # bytes of all
    Digests digests
    U32s record                 # scratch: the prototype at hand, as a class has it
    U32s words                  # of the unit at hand
    size_t first_words          # how many of them stand before the first strings
    U8s out                     # all units so far
    U64s addresses              # of functions and variables of all units, in order
    uint64_t die                # what cannot be written, 0 nothing

# Appends a unit that is decoded up to the names of its types. Nonzero: fault in `v.fault`, or `w.die`.
cdef int export_unit(Writing *w, Unit *u, UnitValue *v, Observer *o, Classifier *c) noexcept nogil
cdef void writing_free(Writing *w) noexcept nogil
