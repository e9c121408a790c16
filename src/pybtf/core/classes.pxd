# Interning of class records (see classes.py).

from libc.stdint cimport uint32_t
from pybtf.core.memory cimport U32s
from pybtf.core.records cimport ClassTable
from pybtf.core.value cimport UnitValue

cdef struct Classifier:         # scratch of one worker
    U32s record
    U32s stack                  # pairs (small id, next reference)
    U32s seen                   # by key: number of the last unit that has it, plus 1
    U32s keys                   # class of the key of a named struct, by small id

cdef ClassTable *classes_new(size_t expected) noexcept nogil
cdef void classes_delete(ClassTable *t) noexcept nogil
cdef uint32_t class_intern(ClassTable *t, const uint32_t *record, uint32_t n) noexcept nogil
cdef int classify_unit(Classifier *c, ClassTable *t, UnitValue *v) noexcept nogil
cdef uint32_t class_of_ref(Classifier *c, UnitValue *v, uint32_t id) noexcept nogil
cdef uint32_t class_find(ClassTable *t, const uint32_t *record, uint32_t n) noexcept nogil
