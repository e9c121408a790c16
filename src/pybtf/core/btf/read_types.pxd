# Types as Python objects, made without running Python.

from cpython.object cimport PyObject
from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.btf.kinds cimport *

cdef extern from *:
    """
    /* Fills a slot of a frozen instance by its descriptor. */
    static inline int pybtf_set_slot(PyObject *descriptor, PyObject *instance, PyObject *value) {
        return Py_TYPE(descriptor)->tp_descr_set(descriptor, instance, value);
    }
    /* An instance with nothing in it yet. */
    static inline PyObject *pybtf_new(PyObject *type) {
        return PyType_GenericAlloc((PyTypeObject *) type, 0);
    }
    /* The same of a class derived from tuple. A plain tuple may not be made so: CPython has just one that is empty, and
       3.14 takes any other, when it is freed, for something else. */
    static inline PyObject *pybtf_new_row(PyObject *type, Py_ssize_t size) {
        PyObject *row = PyType_GenericAlloc((PyTypeObject *) type, size);
    #if PY_VERSION_HEX >= 0x030E0000
        if (row)
            ((PyTupleObject *) row)->ob_hash = -1;  /* not computed yet */
    #endif
        return row;
    }
    static inline void pybtf_set_item(PyObject *row, Py_ssize_t index, PyObject *value) {
        Py_INCREF(value);
        PyTuple_SET_ITEM(row, index, value);
    }
    """
    int set_slot "pybtf_set_slot"(object descriptor, object instance, object value) except -1
    object new "pybtf_new"(object type)
    object new_row "pybtf_new_row"(object type, Py_ssize_t size)
    void set_item "pybtf_set_item"(object row, Py_ssize_t index, object value)
    PyObject *PyDict_GetItemWithError(object names, object offset) except? NULL

cdef enum:                      # kinds whose flag means something
    FLAGGED = (1 << KIND_STRUCT | 1 << KIND_UNION | 1 << KIND_ENUM | 1 << KIND_FWD | 1 << KIND_DECL_TAG
               | 1 << KIND_TYPE_TAG | 1 << KIND_ENUM64)

cdef class TypeIndex:
    cdef object data            # keeps what lies in it alive
    cdef readonly TypeIndex base
    cdef const char *text       # strings, which are terminated
    cdef size_t text_start      # offset of the first of them; those before are the base's
    cdef size_t text_end
    cdef uint32_t *words
    cdef size_t n_words
    cdef uint32_t *starts       # of records, in words; and the end
    cdef readonly uint32_t first_id
    cdef readonly uint32_t end_id
    cdef uint32_t *heads        # of chains of ids whose names have one hash
    cdef uint32_t *after        # the next one, by id
    cdef uint32_t mask
    cdef readonly dict names    # by offset, as far as they have been asked for
    cdef uint64_t room          # bytes that these may still take
    cdef object place           # of the strings, for messages
    cdef object grow(self, size_t *cap)
    cdef const char *string(self, size_t offset) noexcept
    cdef str name_at(self, uint32_t offset)
    cdef bint is_sound(self, const uint32_t *r) noexcept
    cdef object fill(self, object made, const uint32_t *r, list slots, object row)
    cdef tuple rows(self, const uint32_t *r, object row)
    cdef object hash_names(self)
