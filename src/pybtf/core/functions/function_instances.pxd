# Functions and variables of one unit, as the encoder wants them (see function_instances.py, variables.py).

from libc.stdint cimport uint32_t
from pybtf.core.classes.classify cimport Classifier
from pybtf.core.elf.function_table cimport FuncTable
from pybtf.core.functions.calling_convention cimport Machine
from pybtf.core.model.dwarf_unit cimport Function, Param, Unit
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.strings.string_table cimport Strings
from pybtf.core.support.memory cimport U8s, U32s

cdef struct Observer:           # scratch of one worker
    uint32_t file               # whose entries of the function table count
    U32s record
    U8s name                    # of a parameter that a member stands for
    U32s align                  # of uncertain_location

cdef int observe_functions(Unit *u, UnitValue *v, Observer *o, Classifier *c, Strings *strings,
                           const FuncTable *table, const Machine *machine, bint true_signature) noexcept nogil

# What is to be said against an instance, S_*; -1: no memory. Whether a parameter is left out of the prototype, and the
# name of one that is in it (NO_STRING: no memory).
cdef int instance_flags(Unit *u, Function *f, Observer *o, const Machine *machine) noexcept nogil
cdef bint dropped(Function *f, Param *p, bint changed) noexcept nogil
cdef uint32_t param_name(Observer *o, Classifier *c, Strings *strings, Param *p) noexcept nogil
