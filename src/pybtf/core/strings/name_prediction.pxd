# What the names of types and of their members will be, judging by a base (see name_prediction.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.strings.base_strings cimport BaseStrings
from pybtf.core.support.hashing cimport SALT, SALT2, fold, load_acquire, store_release
from pybtf.core.support.memory cimport U32s

cdef enum:
    BY_MEMBER = 0x80000000      # key of a type without a name: | the name of its first element

cdef struct Model:
    uint32_t key                # offset of the name in the base's strings
    uint32_t count              # of elements that have names
    uint32_t first              # the first of these in `names`
    uint32_t next               # the model that followed this one the last time, and the one before that; 0 none yet
    uint32_t other

cdef struct Models:
    uint32_t *names             # offsets in the base's strings, a run of them for each model; 0: of no use
    Model *all                  # from 1 on, in the order of the base; one more than there are is allocated
    uint32_t n                  # 0 included
    uint32_t *slots             # models by key and count; 0: free
    size_t mask

cdef inline size_t model_slot(uint32_t key, uint32_t count, size_t mask) noexcept nogil:
    return <size_t> fold((<uint64_t> key << 32 | count) ^ SALT, SALT2) & mask

cdef inline uint32_t model_find(const Models *m, uint32_t key, uint32_t count) noexcept nogil:
    # The model of the type with this key and so many members or enumerators, 0 if there is none such.
    cdef size_t i
    cdef uint32_t at
    if m == NULL or m.slots == NULL:
        return 0
    i = model_slot(key, count, m.mask)
    at = m.slots[i]
    while at:
        if m.all[at].key == key and m.all[at].count == count:
            return at
        i = (i + 1) & m.mask
        at = m.slots[i]
    return 0

cdef inline bint model_is(const Models *m, uint32_t at, uint32_t nameless, uint32_t count) noexcept nogil:
    # Whether there is this model, of a type with so many elements, and a name unless `nameless` is BY_MEMBER.
    return 0 < at < m.n and m.all[at].count == count and m.all[at].key & BY_MEMBER == nameless

cdef inline uint32_t model_after(const Models *m, uint32_t last) noexcept nogil:
    # The model that is likely to come after another one, or at first (0). There may be none of this number.
    cdef uint32_t at = load_acquire(&m.all[last].next)
    return at if at else last + 1

cdef inline uint32_t model_else(const Models *m, uint32_t last) noexcept nogil:
    # The next likely one.
    return load_acquire(&m.all[last].other)

cdef inline void model_follow(const Models *m, uint32_t last, uint32_t at) noexcept nogil:
    # Remembers that a model came after another one. Runs at the same time may mix what they remember; that is harmless.
    store_release(&m.all[last].other, model_after(m, last))
    store_release(&m.all[last].next, at)

cdef bint models_index(Models *m, const BaseStrings *strings, const U32s *words, const uint64_t *offs,
                       uint32_t n) noexcept nogil
cdef void models_free(Models *m) noexcept nogil
