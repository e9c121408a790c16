# What a run works on (see inputs.py). No user of one needs to know more than `Run` (run.py).

from libc.stdint cimport uint32_t
from pybtf.core.dedup.base cimport Base, Space
from pybtf.core.elf.function_table cimport FunctionTable
from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.model.debug_sections cimport DebugSections
from pybtf.core.model.faults cimport Fault
from pybtf.core.model.losses cimport Losses
from pybtf.core.values.unit_read cimport PayloadUnit
from pybtf.core.worker cimport Context

# Points a unit at a buffer, which is to be held as long as it is read.
cdef void point_at(PayloadUnit *g, values) except *

cdef class Inputs:
    cdef Context x
    cdef Encoder e
    cdef uint32_t units         # of this round
    cdef Fault bad              # what ended the run
    cdef uint32_t bad_unit
    cdef Losses losses          # of an encoding that degrades
    cdef uint32_t *section_names
    cdef uint32_t n_section_names
    cdef FunctionTable symbols  # of the file in work
    cdef FunctionTable functions    # of all files
    cdef list buffers           # what the sections are in
    cdef list pieces            # objects whose values are read, see pipeline/loaded.py
    cdef object digest          # what `take_values` was given
    cdef object block_digest
    cdef object find
    cdef readonly object sections
    cdef Base base
    cdef tuple variables        # what `start` gives to `set_variables`
    cdef Space space
    cdef uint32_t first         # id of the first own type

    cdef set_file(self, sections, FunctionTable symbols, machine, info_file)
    cdef set_sections(self, sections)
    cdef set_split(self, DebugSections *to, rows)
    cdef point(self, DebugSections *to, sections)
    cdef set_languages(self, languages, only_languages)
    cdef set_tables(self)
    cdef set_variables(self, ranges, names, force)
    cdef text(self, uint32_t sid)
