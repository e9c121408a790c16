# Digests of types, the same in every object (see type_digest.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.classes.class_record cimport ClassTable
from pybtf.core.strings.string_table cimport Strings
from pybtf.core.support.memory cimport U64s

cdef struct Digests:            # by class, two words each, as far as they have been asked for
    U64s of
    uint64_t text_left          # bytes of names that may still be read, each time one is
    bint too_long               # they did not suffice: the last digests are of no use

# Digests of all classes up to now. False: no memory, or `too_long`.
cdef bint digests_extend(Digests *d, const ClassTable *classes, const Strings *strings) noexcept nogil

# The digest of a class record; both 0: it has none. All that it refers to are classes that have been asked for. If
# `too_long`, it is of no use.
cdef void record_digest(Digests *d, const uint32_t *record, const Strings *strings, uint64_t *digest) noexcept nogil
cdef void digests_free(Digests *d) noexcept nogil
