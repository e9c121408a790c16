# Variables of one unit (see variables.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.elf.function_table cimport FunctionTable
from pybtf.core.model.dwarf_unit cimport Unit
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.model.faults cimport Fault
from pybtf.core.strings.string_table cimport Strings

cdef struct SectionRange:       # addresses that belong to a section; ascending, without overlaps
    uint64_t address            # the first one
    uint64_t size
    uint64_t start              # address of the section
    uint32_t index
    bint included               # its variables are wanted

cdef struct VariableRules:
    SectionRange *sections
    uint32_t n_sections
    bint degrade                # the same, but these are noted as lost
    bint force                  # encode_force: leave out what cannot be named or has no type
    const Strings *strings

# Bytes of a variable of type `id`; 0 what has none.
cdef uint64_t variable_size(Unit *u, uint32_t id) noexcept nogil

cdef int collect_variables(Unit *u, UnitValue *v, const VariableRules *rules, FunctionTable symbols) noexcept nogil
