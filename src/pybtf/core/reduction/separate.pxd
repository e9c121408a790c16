# Whether odd types can be taken for usual ones (see separate.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.encode.encoder cimport APART, Encoder
from pybtf.core.reduction.analysis cimport COMMON, COMPARED, ODD, SEPARATE, UNCERTAIN, Analysis, Slot
from pybtf.core.support.check cimport CHECK

cdef enum:
    SLOTS_IN_MASK = 64          # those after them tell nothing apart: more is kept

cdef int separate(Encoder *e, Analysis *a) noexcept nogil
cdef void contacts(Encoder *e, Analysis *a) noexcept nogil
cdef uint64_t defined_slots(Analysis *a, uint32_t c) noexcept nogil
cdef bint told_apart(Analysis *a, uint32_t c, uint64_t usual, uint64_t separate) noexcept nogil

cdef inline bint is_mixed(Analysis *a, uint32_t c) noexcept nogil:
    # Whether odd types of the class may be taken for usual ones.
    return (a.marks[c] & (ODD | COMMON | SEPARATE)) == (ODD | COMMON)

cdef inline uint32_t first_usual(const Encoder *e, const Analysis *a, uint32_t c) noexcept nogil:
    # The unit with the usual type that stands for others of class `c`; NO_UNIT: it is still to come.
    return a.settled[c] if a.marks[c] & ODD else e.first_unit.p[c]

cdef inline bint may_be_undecided(Analysis *a, uint32_t entry, uint32_t u) noexcept nogil:
    # Whether this is a usual type of a mixed class, and some unit up to `u` has odd types of it. Otherwise no question
    # arises.
    if entry & APART or not a.watch[entry] & COMPARED or u < a.first_odd[entry]:
        return False
    return is_mixed(a, entry) and not a.marks[entry] & UNCERTAIN

cdef inline void check_slot(const Analysis *a, const Slot *x) noexcept nogil:
    # What a slot of a usual type of the unit at hand leads to; an entry with APART is odd, and so is MANY.
    CHECK(not x.named or a.here[x.to] == a.round, "a type mentions a name that its unit does not have")
    CHECK(not a.definition[x.to] & APART, "a usual type refers to an odd one")

cdef inline void earliest(uint32_t *at, uint32_t u) noexcept nogil:
    if u < at[0]:
        at[0] = u
