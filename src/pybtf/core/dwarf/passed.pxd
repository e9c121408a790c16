# Pages of the file that a worker has passed are given back: linkers keep the parts of units in order, and in what units say
# later parts of a section come later. Whoever needs such a page again gets it.

from libc.stdint cimport uint16_t, uint32_t, uint64_t
from pybtf.core.model.debug_sections cimport ABBREV_MAPPED, INFO_MAPPED, LOC_MAPPED, LOCLISTS_MAPPED, N_SPANS, DebugSections, Span
from pybtf.core.support.mapped_file cimport give_back

cdef enum:
    PASSED = 1 << 20            # bytes of a section after which they are given back

cdef struct Passed:             # up to where pages of these sections were given back
    uint64_t info
    uint64_t abbrev
    uint64_t lists

cdef inline void pass_span(const Span *s, uint64_t *given, uint64_t at) noexcept nogil:
    # Offset `at` of a section has been reached.
    at = min(at, s.n)
    if at >= given[0] + PASSED:
        give_back(s.p + given[0], at - given[0])
        given[0] = at

cdef inline void pass_info(const DebugSections *s, Passed *passed, uint64_t at) noexcept nogil:
    # Only where all units are one: otherwise a worker's `info` may be memory of its own.
    if s.mapped & INFO_MAPPED:
        pass_span(&s.info, &passed.info, at)

cdef inline void pass_abbrev(const DebugSections *s, Passed *passed, uint64_t at) noexcept nogil:
    if s.mapped & ABBREV_MAPPED:
        pass_span(&s.abbrev, &passed.abbrev, at)

cdef inline void pass_lists(const DebugSections *s, Passed *passed, uint16_t version, uint64_t at) noexcept nogil:
    if version >= 5:
        if s.mapped & LOCLISTS_MAPPED:
            pass_span(&s.loclists, &passed.lists, at)
    elif s.mapped & LOC_MAPPED:
        pass_span(&s.loc, &passed.lists, at)

cdef inline void pass_all(const DebugSections *s) noexcept nogil:
    # Where all units are one: from here on, hardly anything is read but a name now and then.
    cdef const Span *spans = &s.info
    cdef uint32_t i
    for i in range(N_SPANS):
        if s.mapped >> i & 1:
            give_back(spans[i].p, spans[i].n)
