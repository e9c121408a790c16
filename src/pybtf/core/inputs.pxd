# The fields of a run (see inputs.py). No user of one needs to know more than `Run` (run.py).

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from pybtf.core.dedup.base cimport Base, Space
from pybtf.core.elf.function_table cimport FunctionTable
from pybtf.core.encode.emit cimport Layout
from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.model.debug_sections cimport DebugSections
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.model.faults cimport Fault
from pybtf.core.model.losses cimport Losses
from pybtf.core.support.monitor cimport Monitor
from pybtf.core.values.unit_read cimport PayloadUnit
from pybtf.core.worker cimport Context

# Points a unit at a buffer, which is to be held as long as it is read.
cdef void point_at(PayloadUnit *g, values) except *

cdef class Inputs:
    cdef Context x
    cdef Encoder e
    cdef UnitValue *values      # the ring: of unit `number`, the one at `number % window`
    cdef uint32_t window
    cdef Monitor monitor
    cdef uint32_t claimed       # units of this round that somebody has taken, and those that have been encoded
    cdef uint32_t consumed
    cdef uint32_t units
    cdef bint draining          # somebody is encoding
    cdef bint stopped
    cdef bint again             # the second round: units of which more must be kept
    cdef int64_t encode_ns
    cdef Fault bad              # what ended the run
    cdef uint32_t bad_unit
    cdef uint32_t bad_name
    cdef Losses losses          # of an encoding that degrades
    cdef set renamed            # string ids of names that were replaced
    cdef uint32_t *map          # of the de-duplication: `own_map`, or that of `space`
    cdef uint32_t *own_map
    cdef Layout layout
    cdef bytes btf              # while it is written: header, types from `types` on, strings
    cdef uint8_t *types
    cdef size_t own_words       # of the types that `data` wrote, which stay where they are
    cdef uint32_t *section_names
    cdef uint32_t n_section_names
    cdef FunctionTable symbols  # of the file in work
    cdef FunctionTable functions    # of all files
    cdef list buffers           # what the sections are in
    cdef list pieces            # objects whose values are read, see pipeline/loaded.py
    cdef object digest          # what `take_values` was given
    cdef object block_digest
    cdef object find
    cdef dict failures          # what `find` has raised, by piece
    cdef dict held              # what each worker reads of
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
