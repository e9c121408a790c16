# Functions and variables of a unit value that comes from bytes (see unit_read_symbols.py).

from pybtf.core.classes.classify cimport Classifier
from pybtf.core.elf.function_table cimport FuncTable, FunctionTable
from pybtf.core.functions.function_instances cimport Observer
from pybtf.core.functions.variables cimport VariableRules
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.strings.string_table cimport Strings
from pybtf.core.support.met_table cimport MetTable
from pybtf.core.values.unit_read cimport PayloadUnit, Reading

# To be called when the types have their classes. `known`: types that have been met, NULL where all are kept. Nonzero: fault in `v.fault`.
cdef int read_functions(Reading *r, const PayloadUnit *g, UnitValue *v, Observer *o, Classifier *c, Strings *strings,
                        MetTable *known, const FuncTable *table) noexcept nogil
cdef int read_variables(Reading *r, const PayloadUnit *g, UnitValue *v, Strings *strings, const VariableRules *rules,
                        FunctionTable symbols) noexcept nogil
