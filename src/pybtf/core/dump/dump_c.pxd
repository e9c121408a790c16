# A header of C in the making.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.btf.type_view cimport TypeView
from pybtf.core.dump.dump_names cimport NameUses
from pybtf.core.dump.text_buffer cimport Text
from pybtf.core.support.memory cimport U32s

cdef enum:                      # CDump.status
    C_OK = 0
    C_MEMORY = 1
    C_CYCLE = 2                 # `bad` contains itself, or is made of itself
    C_DEEP = 3                  # types that nest too deeply
    C_KIND = 4                  # `bad` cannot stand in a declaration
    C_EFFORT = 5

cdef enum:                      # CDump.state, by id
    ORDERING = 1                # what it needs is being put in order
    ORDERED = 2                 # it has its place
    WRITING = 4                 # what it needs is being written
    WRITTEN = 8
    DECLARED = 16               # a forward declaration has been written; of a typedef, itself
    REFERENCED = 32             # by another type
    LOOKED_AT = 64              # of a number: whether C calls it so

cdef enum:
    MAX_CHAIN = 256             # pointers, qualifiers, typedefs... in a row
    MAX_DEPTH = 1000            # structs in structs, prototypes in prototypes

cdef struct CDump:
    const TypeView *v
    Text out
    uint8_t *state              # by id
    uint8_t *alignment          # by id, of structs and unions; 0: not known yet
    uint32_t *use               # by id: it is the n-th to have its name; 0: not known yet
    NameUses tags               # of structs, unions, enums
    NameUses identifiers        # of typedefs and enumerators
    U32s queue                  # ids, in the order in which they are to be written
    U32s chain                  # what a declaration is made of
    uint32_t depth
    uint64_t effort             # steps left
    int status
    uint32_t bad
    bint unlike                 # something is as C has it not: a member without size, a number by another name

cdef inline int c_fail(CDump *d, int status, uint32_t id) noexcept nogil:
    # Remembers the first failure. All that follows does as little as possible.
    if d.status == C_OK:
        d.status = status
        d.bad = id
    return -1

cdef inline bint c_step(CDump *d, uint32_t id) noexcept nogil:
    # To be asked at each step. 0: stop.
    if d.status != C_OK:
        return 0
    if d.effort == 0 or d.out.status:
        c_fail(d, C_EFFORT, id)
        return 0
    d.effort -= 1
    return 1

cdef inline bint c_enter(CDump *d, uint32_t id) noexcept nogil:
    # To be asked before a recursion, and to be followed by c_leave if the answer is 1.
    if d.depth >= MAX_DEPTH:
        c_fail(d, C_DEEP, id)
        return 0
    d.depth += 1
    return 1

cdef void c_emit(CDump *d, uint32_t id, uint32_t inside) noexcept nogil
cdef void c_declaration(CDump *d, uint32_t id, const char *name, uint32_t use, uint32_t level) noexcept nogil
