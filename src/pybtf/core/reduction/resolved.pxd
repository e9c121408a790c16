# Declarations that are resolved for sure, and when (see resolved.py).

from libc.stdint cimport uint8_t, uint32_t
from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.reduction.analysis cimport Analysis

cdef struct Name:
    uint32_t key
    uint32_t last               # of the units that ask for it
    uint32_t first              # the first unit by which a declaration may be resolved
    uint32_t sure               # the first one by which it surely is; NO_UNIT none

cdef struct Mention:            # of a name by a class; first units in which its types ...
    uint32_t of
    uint32_t name               # number in `Questions.names`
    uint32_t next               # of the class, plus 1; 0 none
    uint32_t declared           # ... are usual, and the name is declared
    uint32_t defined            # ... are usual, and the name is defined
    uint32_t any_declared       # ... are any, and the name is declared
    uint32_t any_defined        # ... are any, and the name is defined
    uint32_t whole              # ... are any, after the first usual one, and the unit is kept whole

cdef struct Questions:
    Name *names
    uint32_t n_names, cap_names
    Mention *mentions
    uint32_t n_mentions, cap_mentions
    uint8_t *asked              # by class or variant: it mentions, declares or defines a name that is asked for

cdef int compare_numbers(const void *x, const void *y) noexcept nogil
cdef int list_resolved(Encoder *e, Analysis *a) noexcept nogil
