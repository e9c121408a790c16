# One type as people read it: what printing it needs.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from pybtf.core.dump.text_buffer cimport Text
from pybtf.core.btf.type_view cimport TypeView, View

cdef enum:                      # Show.status
    SHOW_OK = 0
    SHOW_MEMORY = 1
    SHOW_CYCLE = 2              # `bad` contains itself, or is made of itself
    SHOW_DEEP = 3
    SHOW_EFFORT = 4

cdef enum:
    SHOW_MAX_CHAIN = 256
    SHOW_MAX_DEPTH = 256        # structs in structs

cdef enum:                      # Facts.state
    FACTS_NEW = 0
    FACTS_BUSY = 1
    FACTS_KNOWN = 2

cdef enum:                      # MemberLayout.meets: what there is to say of a bit-field here, or in front
    MEETS_NOTHING = 0
    MEETS_PREVIOUS = 1          # it begins in a unit in which another member lies
    MEETS_NEXT = 2              # a bit-field was in front, in whose unit it lies
    MEETS_UNIT = 3              # bits of the unit are left out; so they may be with MEETS_PREVIOUS
    MEETS_BOUNDARY = 4          # the rest of the unit is left out
    MEETS_BOUNDARY_NEXT = 5     # both

cdef struct MemberLayout:       # of one member of a struct
    uint32_t offset             # in bytes; of a bit-field, of the unit it lies in
    uint32_t bit                # of a bit-field: within the unit
    uint32_t bits               # its width, 0: it is none
    uint32_t size               # in bytes
    uint32_t hole               # bytes in front of it that nothing uses
    uint32_t bit_hole           # bits in front of it
    uint32_t align              # that it must have been given; 0: its type's
    int meets                   # MEETS_*

cdef struct Facts:              # of one struct or union
    uint8_t state
    bint packed
    uint32_t marked             # the round in which something else showed that it is packed
    bint ends_flexible          # its last member is an array without a size
    bint embeds_flexible        # it has a struct that does, at any depth, also by a typedef
    uint32_t natural            # alignment that follows from its members
    uint32_t align              # that it must have been given; 0: the natural one
    uint32_t holes
    uint32_t hole_bytes
    uint32_t bit_holes
    uint32_t bit_hole_bits
    uint32_t padding
    uint32_t bit_padding
    uint32_t sum_members
    uint32_t sum_bits           # of bit-fields
    uint32_t with_holes         # members whose types have holes
    uint32_t holes_inside
    uint32_t with_bit_holes
    uint32_t bit_holes_inside
    uint32_t paddings
    uint32_t padding_inside
    uint32_t bit_paddings
    uint32_t bit_padding_inside
    uint32_t forced
    uint32_t forced_holes
    uint32_t forced_bytes
    uint32_t flexible_end
    uint32_t flexible_middle
    uint32_t biggest            # bytes of the biggest element of a member, of the first that has one so big; 0: none
    uint32_t biggest_name       # of that member, which may be one of a member,
    uint32_t biggest_offset     # in its own struct
    uint32_t biggest_size

cdef struct Slot:               # of a member of a struct that is reorganized, in its present place
    int64_t offset              # in bytes
    int64_t size
    int64_t hole                # after it
    uint32_t bits
    uint32_t bit
    uint32_t align              # of its first place

cdef struct Plan:               # to reorganize a struct
    uint32_t id
    uint32_t count              # of members
    uint32_t *before            # the record, to be put back
    MemberLayout *layouts
    Slot *slots
    uint32_t align              # of the struct as it was
    int64_t padding
    int64_t size
    uint32_t steps
    bint endless                # moving goes round in circles
    uint32_t moved              # what the last step has done: the member that was there
    uint32_t behind             # is now after this one
    uint32_t to_padding         # bytes where it was that are padding now
    bint shown                  # a text of it has been made,
    bint packed                 # in which it was packed: it stays so in those that follow, or not

cdef struct Called:             # what stands after a type
    uint32_t stars
    bint apart                  # `* ` in front of it, as pahole has it where the struct has no name
    const char *name
    bint missing                # a member without a name: where it stands in a column, pahole prints `(null)`

cdef struct Level:              # of nesting: what is printed there, and how
    uint32_t level              # tabs
    int type_column
    int comment_column
    uint32_t base               # offset of what is printed, in bytes
    bint relative               # offsets count from the struct that a member is in
    bint in_union               # what is printed is, directly or not, in one
    bint flexible               # of the member: an array without a size may stand there
    bint quiet                  # no offsets
    bint sums                   # lines at the end of a struct
    uint32_t cacheline          # the last one that a line was printed for
    Called suffix               # what stands after a brace
    bint braces                 # of the member: it ends with a brace, at `brace`
    size_t brace
    size_t uncounted            # characters after it that have no place in a column

cdef struct Format:
    bint hex
    bint expand                 # members of structs in place of their names
    bint expand_pointers        # also of what members point to
    bint quiet                  # no comments
    bint relative               # offsets of what is expanded count from its own struct
    bint no_packed              # no attribute `__packed__` after structs,
    bint no_aligned             # and no `__aligned__` anywhere
    bint flat                   # arrays of arrays as one, with as many elements
    bint biggest                # a line for the member with the biggest element

cdef struct Show:
    const TypeView *v
    Text out
    Facts *facts                # by id
    uint16_t *within            # by id: how often what is printed is within it; for `expand_pointers` only
    Format format
    uint32_t line_size          # bytes of a cache line
    uint32_t *tags              # of the function that is printed: ids of its tags, then those of parameters, in order
    uint32_t n_tags
    uint32_t n_function_tags
    Plan *plan                  # of the struct that is being reorganized
    uint32_t round              # of texts that know of each other
    uint32_t depth
    uint64_t effort
    int status
    uint32_t bad

cdef inline void show_fail(Show *s, int status, uint32_t id) noexcept nogil:
    if s.status == SHOW_OK:
        s.status = status
        s.bad = id

cdef inline bint show_step(Show *s, uint32_t id) noexcept nogil:
    # To be asked at each step. 0: stop.
    if s.status != SHOW_OK:
        return 0
    if s.effort == 0 or s.out.status:
        show_fail(s, SHOW_EFFORT, id)
        return 0
    s.effort -= 1
    return 1

cdef inline bint show_enter(Show *s, uint32_t id) noexcept nogil:
    # To be asked before a recursion, and to be followed by `s.depth -= 1` if the answer is 1.
    if not show_step(s, id):
        return 0
    if s.depth >= SHOW_MAX_DEPTH:
        show_fail(s, SHOW_DEEP, id)
        return 0
    s.depth += 1
    return 1

cdef class Shower:
    cdef View view
    cdef Show s
    cdef bint remember
    cdef size_t whole           # bytes of all texts together
    cdef size_t left            # steps of all texts in which something is expanded, and of them
    cdef size_t given           # those that the last one has got
    cdef uint32_t asked         # the type that is being printed or measured, for messages
    cdef dict tags              # by function: components, 0 for the function itself, and ids; or None
    cdef take_tags(self, uint32_t id)
    cdef check(self)
    cdef void ask(self, uint32_t id) noexcept
    cdef learn(self, uint32_t id)
    cdef bint look_into(
        self, uint32_t id, uint32_t outer, bytes around, uint8_t *marks, bint pointers, list found) except -1
    cdef bytes made(self, uint32_t id)
