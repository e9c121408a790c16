# From a unit header to a unit value (see worker.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.classes.class_record cimport ClassTable
from pybtf.core.classes.classify cimport Classifier
from pybtf.core.dwarf.passed cimport Passed
from pybtf.core.dwarf.type_units cimport TypeUnits
from pybtf.core.dwarf.walk_state cimport UnitHeader, Walker
from pybtf.core.elf.function_table cimport FuncTable, FunctionTable
from pybtf.core.encode.translate cimport KnownStrings
from pybtf.core.functions.calling_convention cimport Machine
from pybtf.core.functions.function_instances cimport Observer
from pybtf.core.functions.variables cimport VariableRules
from pybtf.core.model.debug_sections cimport DebugSections
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.strings.string_table cimport Strings
from pybtf.core.support.memory cimport U8s, U32s
from pybtf.core.support.met_table cimport MetTable
from pybtf.core.values.unit_read cimport PayloadUnit, Reading

cdef enum:
    MAX_LANGUAGES = 64

cdef struct Context:            # shared by all workers, never written while they run
    DebugSections sections
    DebugSections alternate     # what `sections.alternate` points at
    UnitHeader *headers
    uint32_t n_units            # with those of the alternate file, which are the last
    uint32_t n_own              # without them
    TypeUnits type_units
    uint32_t first_unit         # number of the first unit, counted from the first of several files
    uint32_t file               # number of the file
    int info_file               # .debug_info is mapped from this open file, and units are read from it; -1: it is not
    uint64_t info_at            # where it begins in the file
    bint merge                  # all units are one logical unit
    bint gaps                   # some have been passed over, as their headers are damaged
    bint exporting              # of functions and variables only the names are made ready; the rest is up to export.py
    PayloadUnit *payload_units  # units that come from payloads of objects, not from DWARF: `n_units` of them, or NULL
    uint64_t values_size        # bytes of all payloads
    MetTable *known_types       # types that were met in payloads, by digest; NULL where everything is kept
    bint little
    bint tracing                # what becomes of functions and variables is noted by name
    bint track_dies             # and which DIE each type is of
    bint keep_all               # no type is dropped before the de-duplication
    int without                 # WITHOUT_*
    Strings *strings
    ClassTable *classes
    MetTable *seen              # records that have been met (record_cache.py)
    const FuncTable *table
    Machine machine
    VariableRules variables
    KnownStrings known
    int options
    uint32_t languages[MAX_LANGUAGES]
    int n_languages
    bint only_languages         # encode only these; otherwise all but these

cdef struct Worker:
    DebugSections sections      # those of the context, but that `info` may have one unit only, in `unit`
    U8s unit
    Passed passed
    Walker walker
    U32s picked                 # names of functions and variables, in work
    Classifier classifier
    Observer observer
    Reading reading             # used where units come from payloads

cdef int worker_init(Worker *w, const Context *x) noexcept nogil
cdef void worker_free(Worker *w) noexcept nogil
cdef int decode_unit(Worker *w, const Context *x, uint32_t number, UnitValue *v, FunctionTable symbols) noexcept nogil
cdef void value_reset(UnitValue *v) noexcept nogil
cdef void value_free(UnitValue *v) noexcept nogil
