# Variables of one unit (see variables.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.elf.function_table cimport FunctionTable
from pybtf.core.model.dwarf_unit cimport Annotation, Unit, Variable
from pybtf.core.model.encoded_unit cimport UnitValue, VarRecord
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

# The range that holds an address, if its section is wanted; else NULL.
cdef SectionRange *section_of(const VariableRules *rules, uint64_t address) noexcept nogil

# Bytes of a variable of type `id`; 0 what has none.
cdef uint64_t variable_size(Unit *u, uint32_t id) noexcept nogil

# The DIE with name, type and annotations of variable `i`, if it is one of the file with an address. NULL: it does not
# count, or `v.counts` says why, or there is a fault.
cdef Variable *candidate(Unit *u, UnitValue *v, uint32_t i) noexcept nogil

# Whether a variable with this name and type belongs into BTF by where it is: 1, and `r` has section and offset; 0: it is
# left out, and counted; -1: fault. Then the same by its size, which is noted in `r`; and the keeping of it.
cdef int add_variable_to_section(UnitValue *v, VarRecord *r, uint64_t die, uint64_t address, const VariableRules *rules,
                        FunctionTable symbols) noexcept nogil
cdef int fit_variable(UnitValue *v, VarRecord *r, uint64_t die, uint64_t size) noexcept nogil
cdef int keep_variable(UnitValue *v, VarRecord *r, uint64_t die, const Annotation *anns, uint32_t n_anns) noexcept nogil

cdef int collect_variables(Unit *u, UnitValue *v, const VariableRules *rules, FunctionTable symbols) noexcept nogil
