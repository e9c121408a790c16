# The types of one piece of a compiler's BTF as a unit value in bytes (see btf_unit.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.btf.type_view cimport TypeView
from pybtf.core.support.memory cimport U8s, U32s, U64s

cdef enum:                      # what is wrong with a piece
    UNIT_OK = 0
    UNIT_MEMORY = 1
    UNIT_RECORD = 2             # a record that no compiler writes of C
    UNIT_REFERENCE = 3          # a reference to what is no type
    UNIT_SHARED = 4             # names or prototypes that are shared by far more than compilers have
    UNIT_FEATURE = 5            # a kind that has no stand-in, and whose feature is off
    UNIT_LARGE = 6

cdef struct Making:             # the piece at hand
    const TypeView *v
    int options                 # OPT_*
    uint64_t room               # bytes that names may still have
    uint64_t parameters         # that functions may still have
    uint32_t bad                # the id of what is wrong
    uint32_t next_small
    uint64_t nested             # arrays of arrays, of all pieces
    bint old                    # one of the pieces has what only gcc before 14 writes
    uint32_t int_id             # small id of the first base type "int"
    U32s small                  # by id: the id in the unit, 0 what is no type there
    U32s marks                  # by id: MARK_*
    U32s first_tag              # by id: its first DECL_TAG
    U32s next_tag               # by id of a DECL_TAG: the next of the same type
    U32s numbers                # by offset: the number of the string, 0 none yet
    U32s used                   # offsets in order of their numbers
    U32s words
    U8s out
    U64s addresses
