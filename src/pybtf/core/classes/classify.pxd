# The classes of the types of a unit (see classify.py).

from libc.stdint cimport uint32_t
from pybtf.core.classes.class_record cimport ClassTable
from pybtf.core.classes.record_cache cimport Seen
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.strings.lazy_names cimport Names
from pybtf.core.support.memory cimport U32s
from pybtf.core.support.met_table cimport MetTable

cdef enum:                      # Classifier.failed
    CLASSIFY_MEMORY = 1
    CLASSIFY_NAMES = 2          # more bytes of names than the unit may read
    CLASSIFY_EMPTY = 3          # a name that was deferred is empty: to be decoded again

cdef enum:
    UNKNOWN = 0xFFFFFFFF        # in `stands`: nothing is known yet of this type. 0 is void

cdef struct Classifier:         # of one worker
    ClassTable *classes
    MetTable *seen              # records that have been met (record_cache.py)
    Seen *last                  # the record looked up last; NULL where nothing is expected
    bint unguided               # nothing is ever expected (WITHOUT_GUESSES)
    Names *names
    U32s record                 # of a type that is not the one expected
    U32s stack                  # types being described: pairs (small id, next reference)
    U32s interned               # a record with interned names
    U32s twice                  # by key: number of the last unit that has it, plus 1
    U32s stands                 # by small id: what references to it stand for, a key or a class; or UNKNOWN
    bint plain                  # names that kernels refuse are replaced
    U32s renamed                # names that were replaced
    bint sparse                 # no type is dropped for its class: only what prototypes refer to needs one
    int failed

# What `classify_unit` does, step by step: room for the classes of a unit (False: no memory), a class for a type and what
# it refers to (nonzero: `c.failed`), and a note of a key that the unit may have already (False: no memory).
cdef bint classify_begin(Classifier *c, UnitValue *v) noexcept nogil
cdef int classify(Classifier *c, UnitValue *v, uint32_t id) noexcept nogil
cdef bint note_twice(Classifier *c, UnitValue *v, uint32_t key) noexcept nogil
cdef int classify_unit(Classifier *c, UnitValue *v) noexcept nogil
# For intern_names.py.
cdef bint names_settled(Classifier *c, int status) noexcept nogil
cdef bint make_plain(Classifier *c, uint32_t kind, uint32_t *name, uint32_t *elements, uint32_t n) noexcept nogil
cdef uint32_t class_of(Classifier *c, const uint32_t *record, uint32_t n) noexcept nogil
cdef int classify_fault(const Classifier *c, UnitValue *v) noexcept nogil
cdef void classifier_free(Classifier *c) noexcept nogil

cdef uint32_t class_of_new_ref(Classifier *c, UnitValue *v, uint32_t id) noexcept nogil

cdef inline uint32_t class_of_ref(Classifier *c, UnitValue *v, uint32_t id) noexcept nogil:
    # After `classify_unit`: the class or key of a reference to `id`; NO_CLASS: `c.failed`.
    return c.stands.p[id] if c.stands.p[id] != UNKNOWN else class_of_new_ref(c, v, id)
