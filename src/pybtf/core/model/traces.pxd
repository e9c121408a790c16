# What was noted of functions and variables by name, if asked for: why each description is in BTF, or is not.

from libc.stdint cimport uint32_t
from pybtf.core.support.memory cimport grow

cdef enum:                      # Trace.what, apart from COUNT_* of encoded_unit.pxd; all are below 32
    TRACE_DECLARED = 29         # a function that is only declared
    TRACE_EXCLUDED = 30         # a function of a unit in a language that is left out
    TRACE_EXCLUDED_VAR = 31
    TRACE_NONE = 0xFFFFFFFF     # no such index

cdef struct Trace:              # one DW_TAG_subprogram or top-level DW_TAG_variable
    uint32_t die
    uint32_t name               # string id
    uint32_t what
    uint32_t state              # index of the state, if the function is remembered
    uint32_t parameter          # the first that is not where the convention says, or that has no name
    uint32_t found              # the register it is in, 0xFFFF none known; above that, which one was due, from 0
    uint32_t optimized          # the first that has no place of its own

cdef struct Traces:
    Trace *p
    uint32_t n, cap

cdef inline Trace *trace_push(Traces *t, uint32_t die, uint32_t name, uint32_t what) noexcept nogil:
    # NULL: no memory.
    cdef Trace *r
    if not grow(t.p, t.cap, t.n + 1):
        return NULL
    r = t.p + t.n
    t.n += 1
    r.die = die
    r.name = name
    r.what = what
    r.state = r.parameter = r.found = r.optimized = TRACE_NONE
    return r
