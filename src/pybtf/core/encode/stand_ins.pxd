# What stands for a type that BTF cannot express (see stand_ins.py).

from libc.stdint cimport uint32_t
from pybtf.core.model.dwarf_unit cimport Type, Unit
from pybtf.core.model.encoded_unit cimport UnitValue

# Whether kernels refuse what `translate` makes of the type; a fault in the value, then.
cdef bint unfit(Unit *u, UnitValue *v, Type *t) noexcept nogil

# Makes something of a type that BTF can express, if the fault in the value says that it cannot; notes what was lost and
# takes the fault away. False: nothing can stand for it, or there is no memory.
cdef bint stand_in(Unit *u, UnitValue *v, Type *t) noexcept nogil

# Gives a type to what must have one of some size: members, parameters and elements; and takes away members that kernels
# do not take there. To be called before the first type is translated. `n_known`: string ids up to this one are functions that may
# be written. Nonzero: no memory.
cdef int fit_parts(Unit *u, UnitValue *v, uint32_t n_known) noexcept nogil
