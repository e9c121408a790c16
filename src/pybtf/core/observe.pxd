# Functions and variables of one unit, as the encoder wants them (see observe.py, variables.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.classify cimport Classifier
from pybtf.core.functable cimport FuncTable
from pybtf.core.memory cimport U8s, U32s
from pybtf.core.signature cimport Machine
from pybtf.core.strings cimport Strings
from pybtf.core.unit cimport Unit
from pybtf.core.value cimport UnitValue

cdef struct Observer:           # scratch of one worker
    uint32_t file               # whose entries of the function table count
    U32s record
    U8s name                    # of a parameter that a member stands for
    U32s align                  # of uncertain_location

cdef int observe_functions(Unit *u, UnitValue *v, Observer *o, Classifier *c, Strings *strings,
                           const FuncTable *table, const Machine *machine, bint true_signature) noexcept nogil
