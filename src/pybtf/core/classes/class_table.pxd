# Interning of class records (see class_table.py).

from libc.stdint cimport uint32_t
from pybtf.core.classes.class_record cimport ClassTable

cdef ClassTable *classes_new(size_t expected) noexcept nogil
cdef void classes_delete(ClassTable *t) noexcept nogil
cdef uint32_t class_intern(ClassTable *t, const uint32_t *record, uint32_t n) noexcept nogil
