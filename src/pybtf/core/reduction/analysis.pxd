# What is known of classes, names and units while it is found out what must be kept (see analysis.py).

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from pybtf.core.btf.kinds cimport *
from pybtf.core.classes.class_record cimport *
from pybtf.core.encode.encoder cimport CLASS_BITS, Encoder
from pybtf.core.support.memory cimport U32s

cdef struct Refs:               # the references of a class record
    uint32_t third              # 0 none
    const uint32_t *first       # `n` more, `step` words apart: name, class...
    uint32_t n, step

cdef struct Shape:              # a struct, union or typedef, to be sorted
    uint64_t shape              # hash of what chooses its chain of candidates
    uint64_t blind              # hash of its content without the elements of arrays
    uint32_t id

cdef struct Slot:               # a name that a class mentions directly; first units in which its types ...
    uint32_t to                 # a key, or the class of a typedef or nameless struct in between
    uint32_t named              # whether it is a key
    uint32_t declared           # ... are usual, and the name is declared
    uint32_t defined
    uint32_t odd_declared       # ... are odd, and the name is declared
    uint32_t odd_defined        # ... are odd, and the name has an odd definition
    uint32_t odd_usual          # ... are odd, and the name has a usual definition

cdef struct Mask:               # what some types of a class have in the first 64 of its slots, a bit for each
    uint32_t next               # of the class, plus 1; 0 none
    bint odd                    # whether these types are
    uint64_t defined            # usual types: a definition; odd types: one that is surely another than the usual one
    uint64_t same_class         # odd types: a definition of the usual class, but odd
    uint32_t wild               # odd types: 1 if something wild is met at once

cdef struct Variants:           # of a class that is not compared, as far as they have been met
    uint32_t name               # of a plain class (see unit_names.py): the only name it mentions; 0: it is not plain
    uint32_t known[2]           # of a plain class: with the name declared, and defined; else the last two; 0 none yet
    uint32_t defined[2]         # for each of these: of a plain class, the first unit that has it; else, if there are
                                # no more than 32 slots, a bit for each that is a name and that the unit defines

cdef enum:                      # marks of a class or a key
    OCCURS = 1                  # some unit has a type of this class
    FULL = 2                    # a definition, not a declaration
    WILD = 4                    # comparisons of such types depend on more than the class
    CONFLICT = 8                # of a key: its definitions differ in some way
    MINOR = 16                  # not the usual definition of its name
    ODD = 32                    # some type of the class is odd
    LOOSE = 64                  # all of its types are wild, and may be taken for such of other classes
    COMMON = 128                # of an odd class: some type is usual
    SEPARATE = 256              # no odd type of the class can be taken for a usual one
    UNCERTAIN = 512             # all types of the class are kept
    TWICE = 1024                # of a key: some unit has it more than once
    NEAR = 2048                 # it has slots
    UNCLEAR = 4096              # of a key: the usual definition is still to be chosen
    ENUM_KEY = 8192
    ARRAYS = 32768              # it leads to an array before a name

cdef enum:                      # tints of a class in the unit at hand, while the class list is rewritten
    UNDECIDED = 1               # usual types that may be taken for odd ones; what is not compared and refers to them
    LEADING = 2                 # in leading.py, of a class or key: it reaches a compared one of these

cdef enum:                      # of a class: what is to be done where a unit has a type of it
    WATCHED = 1                 # its entry may change, or decides something
    CONTESTED = 2               # it defines or declares a name that may have several definitions
    REACHING = 4                # it is compared, and may reach a mixed class
    TAINTED = 8                 # its first usual type may reach an undecided type
    TAINTED_ODD = 16            # one of the others that are kept may
    COMPARED = 32               # libbpf compares its types by what they reach
    VARIES = 64                 # it is not compared, and has slots; not WATCHED besides: only its variant is asked for
    TRACKED = 128               # `settled` or `odd_units` is of interest
    WANTED = WATCHED | CONTESTED | TAINTED | TAINTED_ODD | TRACKED

cdef enum:
    IS_DISTURBED = 2            # Analysis.odd: the unit has undecided types, or tainted ones

cdef enum:
    MANY = 0xFFFFFFFF           # Analysis.definition: the unit has the name more than once

cdef struct Analysis:           # arrays are indexed by class or key, unless something else is said
    uint32_t n
    uint64_t *blind             # as in Shape
    uint64_t *shape
    uint32_t *key               # of a class that has one and occurs
    uint32_t *first_key         # by name, of its own size: the keys of that name, linked by `next_key`
    uint32_t *next_key
    uint32_t *full              # by key: classes that define it
    uint32_t *declared          # by key: classes that declare it
    uint32_t *first_member      # by key: the classes it may stand for, linked by `next_member`
    uint32_t *next_member
    uint32_t *visited           # the `stamp` of the search that last met it
    uint32_t *depth             # structs, unions and prototypes on the longest way down to a name
    uint32_t *usual             # by key: the usual definition
    uint32_t *count             # types of it; then odd ones; then the units that have an odd one
    uint32_t *here              # by key: the `round` it was last met in
    uint32_t *definition        # by key, in that unit: the entry that defines it; 0 it is only declared; MANY
    uint32_t *users             # in work: where a list begins, mostly of those that refer to it (`links`)
    uint32_t *first_odd         # the first unit with an odd type
    uint32_t *slots_at          # first of its `slots`
    uint32_t *n_slots
    uint32_t *masks_at          # first mask, plus 1
    uint32_t *event             # by key: the unit by which a declaration is surely resolved, NO_UNIT none
    Variants *variants
    uint32_t *settled           # the first unit with a decided type; of a class that is not compared, with one that
                                # refers to a decided type; NO_UNIT none yet
    uint32_t *contact           # by key: the first unit in which it could be resolved to an odd definition
    uint16_t *marks
    uint8_t *tint               # in work: what its types are in the unit at hand; each pass has its own values, and
                                # leaves zeros behind
    uint8_t *watch              # what is to be done with its types: WATCHED and so on
    uint8_t *odd                # by unit: it has odd types; IS_DISTURBED
    size_t next_state           # the first function state that was not looked at
    bint loose                  # some class is
    bint mixed                  # some class is not separate
    bint many_plain             # a good part of all types are such of which only the variant is asked for
    bint disturbed              # the unit at hand has a tainted type
    uint32_t stamp              # number of the search at hand
    uint32_t round              # how often a unit was entered: what `here` is compared with
    uint32_t seeds              # marks that `doubt` has given, since it was 0
    uint64_t effort             # steps that may still be taken
    bint tired                  # they did not suffice: every unit is kept whole
    Slot *slots
    uint32_t all_slots, cap_slots
    Mask *masks
    uint32_t n_masks, cap_masks
    U32s common                 # classes that are odd here and usual there
    U32s before                 # in work: what a comparison has met before (array_masking.py)
    U32s links                  # in work: who refers to what; pairs, the next link of the same target and a class
    U32s todo                   # in work: what a search has still to look at
    U32s watched                # of the unit at hand, small ids of types that something has to be asked of
    U32s tracked                # ... of types that are tracked
    U32s plain                  # ... of those of which only the variant is asked for
    U32s met                    # keys, each with a unit that asks for it: see leading.py
    U32s partners               # of leading.py: pairs of a unit and a class
    U32s handed                 # ... classes for which a type of another unit is to stand
    U32s late                   # ... units that are to be kept whole for these
    U32s firsts                 # of refine.py, by class or variant: the first unit with a type that stands for others
    U32s more                   # ... of the unit at hand: small ids of such types that append_unit.py has dropped
    U32s scratch                # ... in work: a record
    uint32_t *odd_units         # of undecided.py: `count` in its last sense

cdef void refs_of(const uint32_t *r, Refs *out) noexcept nogil
cdef bint spend(Analysis *a, uint64_t steps) noexcept nogil
cdef void doubt(Analysis *a, uint32_t c, uint16_t mark) noexcept nogil
cdef int visit(Analysis *a, uint32_t c) noexcept nogil
cdef int push_targets(Encoder *e, Analysis *a, uint32_t c) noexcept nogil

cdef inline uint32_t reference(const Refs *f, uint32_t k) noexcept nogil:
    # Number k of `f.n` + 1, the last of which is `third`: a class or key; 0 void, or none.
    return f.third if k == f.n else f.first[k * f.step + 1]

cdef inline bint is_compared(const uint32_t *r) noexcept nogil:
    # Whether libbpf compares types of this class by what they reach.
    cdef uint32_t kind = record_kind(r)
    return kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_TYPEDEF

cdef inline bint is_key(const uint32_t *r) noexcept nogil:
    cdef uint32_t kind = record_kind(r)
    return (
        kind == KIND_KEY_STRUCT or kind == KIND_KEY_UNION or kind == KIND_KEY_ENUM or kind == KIND_KEY_ENUM64
    )

cdef inline uint32_t class_of_entry(const Encoder *e, const Analysis *a, uint32_t entry) noexcept nogil:
    # The class of an entry of the class list, which may have been rewritten to a variant of it, or have APART.
    cdef uint32_t c = entry & CLASS_BITS
    return c if c < a.n else class_record(e.classes, c)[REC_NAME]
