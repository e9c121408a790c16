# What types mean, as numbers that two BTFs share: equal numbers, equal meaning. See diff_meaning.py.

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.btf.type_view cimport TypeView
from pybtf.core.support.memory cimport U32s, U64s

cdef enum:                      # Numbers.status
    DIFF_OK = 0
    DIFF_MEMORY = 1
    DIFF_LONG_NAME = 2
    DIFF_LARGE = 3

cdef enum:                      # numbers of references that are not keys
    REF_NEW = 0
    REF_VOID = 1
    REF_CYCLE = 2               # to a type that is made of itself
    REF_FIRST = 3
    REF_BUSY = 0xFFFFFFFF

cdef enum:                      # what a key is about: its first word. References have that of their kind, below 32
    KEY_CONTENT = 32            # | kind
    KEY_ENTITY = 64             # | category

cdef enum:                      # categories of what has a name of its own
    OF_STRUCT = 0
    OF_UNION = 1
    OF_ENUM = 2
    OF_TYPEDEF = 3
    OF_FUNCTION = 4
    OF_VARIABLE = 5
    OF_FORWARD = 6
    OF_NUMBER = 7
    OF_SECTION = 8
    OF_NOTHING = 9

cdef enum:
    MAX_NAME = 0x10000

cdef struct Numbers:            # of keys, which are sequences of words, and of names
    U32s keys                   # one after the other
    U64s starts                 # by number, from REF_FIRST on: where its key begins; and the end
    uint32_t *slots             # hash table of numbers
    uint32_t mask
    const char **names          # by number, from 1 on
    uint32_t *lengths
    uint32_t names_cap
    uint32_t lengths_cap
    uint32_t n_names            # and the number of the next one
    uint32_t *name_slots
    uint32_t name_mask
    U32s key                    # the one that is being made
    U64s sorting
    int status

cdef struct Side:
    const TypeView *v
    uint32_t strings            # bytes of strings, those of the base included
    uint32_t *names             # by offset of a string: number of the name; 0: nobody has asked
    uint32_t *refs              # by id: number of what a reference to it means; REF_NEW, REF_BUSY
    uint32_t *contents          # by own id with a category, and of prototypes: number of what is said of it
    uint64_t *sizes             # by id: bytes of a value
    uint32_t *tags              # by id: the last DECL_TAG that is about it
    uint32_t *more_tags         # by id of a DECL_TAG: the one before
    uint32_t *entries           # by id of a VAR: where in `words` its entry of a DATASEC is
    uint32_t *sections          # by id of a VAR: that DATASEC
    uint32_t *stack
    size_t stack_cap
    uint32_t bad                # the type that `status` is about

cdef bint side_open(Side *s, const TypeView *v, uint32_t strings) noexcept nogil
cdef void side_free(Side *s) noexcept nogil
cdef void side_number(Numbers *t, Side *s) noexcept nogil
cdef uint32_t category_of(const TypeView *v, uint32_t id) noexcept nogil
cdef int by_value(const void *a, const void *b) noexcept nogil
