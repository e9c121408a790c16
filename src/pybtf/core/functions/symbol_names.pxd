# Names of functions and variables (see symbol_names.py). `picked`: in work. Both return NAMES_*.

from pybtf.core.functions.variables cimport VariableRules
from pybtf.core.model.dwarf_unit cimport Unit
from pybtf.core.strings.lazy_names cimport Names
from pybtf.core.support.memory cimport U32s

cdef int intern_function_names(Unit *u, Names *names, U32s *picked, bint everything) noexcept nogil
# With `everything`, no rules are needed.
cdef int intern_variable_names(Unit *u, Names *names, U32s *picked, const VariableRules *rules,
                               bint everything) noexcept nogil
