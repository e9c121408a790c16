# What the names of the members of a type will be, judging by a base (see models.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.basestrings cimport BaseStrings
from pybtf.core.hashing cimport SALT, SALT2, fold
from pybtf.core.memory cimport U32s, prefetch

cdef enum:
    BY_MEMBER = 0x80000000      # key of a type without a name: | the name of its first element

cdef struct Model:
    uint32_t key                # offset of the name in the base's strings
    uint32_t count              # names; 0: free
    uint32_t first              # in `names`

cdef struct Models:
    uint32_t *names             # offsets in the base's strings, a run of them for each model
    Model *slots
    size_t mask

cdef inline size_t model_slot(uint32_t key, uint32_t count, size_t mask) noexcept nogil:
    return <size_t> fold((<uint64_t> key << 32 | count) ^ SALT, SALT2) & mask

cdef inline const uint32_t *model_of(const Models *m, uint32_t key, uint32_t count) noexcept nogil:
    # The names of `count` members or enumerators of the type with this key, NULL if there is none such.
    cdef size_t i
    if m == NULL or m.slots == NULL:
        return NULL
    i = model_slot(key, count, m.mask)
    while m.slots[i].count:
        if m.slots[i].key == key and m.slots[i].count == count:
            return m.names + m.slots[i].first
        i = (i + 1) & m.mask
    return NULL

cdef inline void model_expect(const Models *m, uint32_t key, uint32_t count) noexcept nogil:
    # Asks for the memory that `model_of` will need.
    if m != NULL and m.slots != NULL:
        prefetch(m.slots + model_slot(key, count, m.mask))

cdef bint models_index(Models *m, const BaseStrings *strings, const U32s *words, const uint64_t *offs,
                       uint32_t n) noexcept nogil
cdef void models_free(Models *m) noexcept nogil
