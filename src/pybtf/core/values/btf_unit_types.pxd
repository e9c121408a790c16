# One piece of a compiler's BTF on its way to a unit value (see btf_unit_types.py, btf_unit.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.btf.kinds cimport KIND_DATASEC, KIND_DECL_TAG, KIND_FUNC, KIND_VAR
from pybtf.core.btf.type_view cimport TypeView
from pybtf.core.support.memory cimport U8s, U32s, U64s

cdef enum:                      # what is wrong with a piece
    UNIT_OK = 0
    UNIT_MEMORY = 1
    UNIT_RECORD = 2             # a record that no compiler writes of C
    UNIT_REFERENCE = 3          # a reference to what is not a type
    UNIT_SHARED = 4             # names or prototypes that are shared by far more than compilers have
    UNIT_FEATURE = 5            # a kind that has no stand-in, and whose feature is off
    UNIT_LARGE = 6

cdef enum:                      # kinds that are not types of a unit value
    NO_TYPES = 1 << KIND_FUNC | 1 << KIND_VAR | 1 << KIND_DATASEC | 1 << KIND_DECL_TAG

cdef struct Making:             # the piece at hand
    const TypeView *v
    int options                 # OPT_*
    uint64_t room               # bytes that names may still have
    uint64_t parameters         # that functions may still have
    uint64_t clones             # symbols of clones that may still be looked at
    uint32_t bad                # the id of what is wrong
    uint32_t next_small
    uint64_t nested             # arrays of arrays, of all pieces
    bint old                    # one of the pieces has what only gcc before 14 writes
    uint32_t int_id             # small id of the first base type "int"
    U32s small                  # by id: the id in the unit, 0 what is not a type there
    U32s marks                  # by id: MARK_*
    U32s first_tag              # by id: its first DECL_TAG
    U32s next_tag               # by id of a DECL_TAG: the next of the same type
    U32s places                 # by offset: how the string is named in the unit, 0 none yet
    U32s used                   # offsets in order of their places
    uint64_t text               # bytes of these strings, with their NULs
    U32s words                  # head, records, tags, functions, variables
    U8s out
    U64s addresses

# An array of `n` zeros. False: no memory.
cdef bint zeros(U32s *a, size_t n) noexcept nogil

# The place of a string as the next word; UNIT_*.
cdef int put_name(Making *m, uint32_t offset) noexcept nogil

# Whether a name may be looked up: many may share a long one.
cdef bint look_at(Making *m, uint32_t offset) noexcept nogil

# Records and tags of types; fills in their part of the head. UNIT_*.
cdef int put_types(Making *m, uint32_t *head) noexcept nogil

# How many tags a type, function or variable will have, and these; `places`: how many members or parameters there are.
cdef uint32_t count_tags(Making *m, uint32_t id) noexcept nogil
cdef int put_tags(Making *m, uint32_t id, bint of_type, uint32_t places) noexcept nogil
