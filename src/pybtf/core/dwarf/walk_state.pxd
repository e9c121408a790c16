# The state of a walk over the DIEs of a unit, and what every part of it uses (see walk_state.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.dwarf.abbrevs cimport AbbrevTable
from pybtf.core.dwarf.forms cimport A_REF, A_REF_ADDR, A_STR_ALT, A_STRING, A_STRP, A_STRX
from pybtf.core.dwarf.die_reader cimport Attr, Die, Reader, die_has
from pybtf.core.dwarf.type_units cimport TypeUnits
from pybtf.core.model.debug_sections cimport DebugSections, SplitUnit
from pybtf.core.model.dwarf_unit cimport NO_INDEX, Annotation, Enumerator, Function, Member, Param, Type, Unit, Variable
from pybtf.core.model.faults cimport Fault
from pybtf.core.model.losses cimport Losses
from pybtf.core.strings.lazy_names cimport NAME_AT, Names, name_cached, name_short
from pybtf.core.strings.string_table cimport Strings

cdef enum:                      # what the handler of a DIE tells the loop
    FAILED = -1
    DONE = 0                    # nothing more to read of this DIE
    OPENED = 1                  # a frame was opened: read its children
    SKIP = 2                    # pass over the children

cdef enum:                      # Frame.mode: whose children are being read
    IN_UNIT = 0
    IN_NAMESPACE = 1
    IN_STRUCT = 2
    IN_ENUM = 3
    IN_ARRAY = 4
    IN_SUBROUTINE = 5
    IN_FUNCTION = 6
    IN_BLOCK = 7
    IN_POINTER = 8
    IN_TYPEDEF = 9
    IN_VARIABLE = 10
    IN_PARAMETER = 11           # of a function
    IN_MEMBER = 12

cdef enum:                      # Walker.survey
    SURVEY_NONE = 0
    SURVEY_ALL = 1              # by all that the file itself refers to
    SURVEY_TAGS = 2             # by the type tags of pointers in the alternate file

cdef enum:
    MAX_DIMS = 64               # of an array; what is beyond does not count

cdef struct Frame:              # an object whose children are being read
    uint8_t mode
    uint32_t mark               # its first entry in the stack of members, enumerators, dimensions or parameters
    uint32_t anns_mark          # its first entry in the stack of annotations
    int index                   # children counted so far: members, parameters, type tags of a pointer; of IN_MEMBER and
                                # IN_PARAMETER, its own number; of IN_UNIT, whether it is imported
    uint64_t chain              # DW_AT_GNU_annotation of the object, 0 none
    Type type
    Function func
    Variable var

cdef struct UnitHeader:
    uint64_t offset             # of the header in .debug_info
    uint64_t end
    uint64_t first_die          # the root
    uint64_t abbrev
    uint64_t signature          # of a type unit
    uint64_t type_die           # and the DIE it stands for; 0: no type unit
    uint8_t version, address_size, offset_size, type
    const SplitUnit *split      # of a unit of split DWARF, else NULL

cdef inline uint32_t unit_ending_after(const UnitHeader *headers, uint32_t n, uint64_t at) noexcept nogil:
    # The first of `n` units that ends past an offset of .debug_info, `n` if none does. If any unit holds the offset,
    # it is this one.
    cdef uint32_t low = 0
    cdef uint32_t high = n
    cdef uint32_t middle
    while low < high:
        middle = low + (high - low) // 2
        if headers[middle].end <= at:
            low = middle + 1
        else:
            high = middle
    return low

cdef struct Import:             # where to go on when an imported partial unit has been read
    Reader reader               # its table is found by depth
    uint32_t bases

cdef struct Walker:
    Reader r
    Die d
    Unit u
    AbbrevTable table
    int without                 # WITHOUT_*
    Strings *strings
    const DebugSections *sections
    Names names
    bint want_decl_tags, want_type_tags, want_parameter_names
    Frame *frames
    uint32_t n_frames, cap_frames
    # children of open frames; a frame's own are the topmost when it closes
    Member *members
    uint32_t n_members, cap_members
    Enumerator *enumerators
    uint32_t n_enumerators, cap_enumerators
    Param *params
    uint32_t n_params, cap_params
    Annotation *anns
    uint32_t n_anns, cap_anns
    uint64_t *dims
    uint32_t n_dims, cap_dims
    uint64_t abbrev_bytes       # of abbreviation tables, since there is this walker
    uint64_t annotations        # read along chains
    uint64_t again              # bytes that were read out of turn (see read_again.pxd)
    uint64_t skipped_tags       # DIEs of unsupported tags that were passed over
    const TypeUnits *type_units
    uint64_t signatures_lost    # references by a signature that no type unit has
    # merge mode only: all unit headers, and which of them have been imported
    UnitHeader *headers
    uint8_t *imported
    uint32_t n_headers          # of this file; those of its alternate file follow
    uint32_t n_units            # of both
    uint8_t *needed             # NEED_*, by unit of the alternate file (see alternate_units.py); NULL: there is none
    uint8_t survey              # SURVEY_*: which of them are needed is being found out
    Import *imports
    uint32_t n_imports, cap_imports
    AbbrevTable *tables         # of imported units, by depth; that of the outermost unit is `table`
    uint32_t cap_tables
    AbbrevTable chain_table     # of the unit that a chain of annotations leads into
    # merge mode where an encoding degrades, and something is damaged (see left_out.py)
    uint8_t *lost               # by unit: it is left out; NULL: none may be
    bint gaps                   # there are units without a header, too
    Losses damage               # why they are, one for each
    Losses aside                # what `u.aside` points at
    uint64_t vain               # bytes of units that were walked for nothing
    uint32_t *order             # units in the order in which they were imported
    uint32_t n_order, cap_order
    Fault fault

cdef int walker_init(Walker *w, Strings *strings, const DebugSections *sections) noexcept nogil
cdef bint walker_expect(Walker *w, size_t bytes) noexcept nogil
# Gives back what grows with a unit, which has been read and is no longer needed. The next begins anew.
cdef void walker_shed(Walker *w) noexcept nogil
cdef void walker_free(Walker *w) noexcept nogil
cdef int walker_reset(Walker *w) noexcept nogil
cdef int no_memory(Walker *w) noexcept nogil
cdef bint has_name(Walker *w, const char *name, size_t length) noexcept nogil
cdef int add_type(Walker *w, Type *t) noexcept nogil
cdef uint32_t walk_new_name(Walker *w, int slot) noexcept nogil
cdef uint32_t walk_far_name(Walker *w, int slot) noexcept nogil
cdef uint32_t far_reference(Walker *w, int slot) noexcept nogil
cdef uint32_t outside(Walker *w, int slot) noexcept nogil
cdef uint64_t leads_to(const Walker *w, const Attr *a) noexcept nogil
cdef int walk_text(Walker *w, int slot, const char **text, size_t *size, bint *transient) noexcept nogil

cdef inline uint32_t walk_name(Walker *w, int slot) noexcept nogil:
    # The string id of a string attribute, 0 if absent or empty. A fault is left in the walker.
    cdef const Attr *a = &w.d.a[slot]
    cdef uint32_t sid
    if not die_has(&w.d, slot):
        return 0
    if a.cls == A_STRP and a.v < NO_INDEX:
        sid = name_cached(&w.names, a.v)
        if sid:
            return sid
    return walk_new_name(w, slot)

cdef inline uint32_t walk_name_word(Walker *w, int slot) noexcept nogil:
    # The name word (lazy_names.py) of a string attribute, 0 if absent or known to be empty. A fault is left in the
    # walker.
    cdef const Attr *a = &w.d.a[slot]
    if not die_has(&w.d, slot):
        return 0
    if a.cls == A_STRP and a.v < w.names.deferred:
        return NAME_AT | <uint32_t> a.v
    if a.cls == A_STRING and 0 < a.size <= 3:
        return name_short(w.r.c.base + a.v, a.size)
    if a.cls == A_STRX or a.cls == A_STR_ALT:
        return walk_far_name(w, slot)
    return walk_name(w, slot)

cdef inline uint32_t reference(Walker *w, int slot) noexcept nogil:
    # The DIE a reference attribute names, as a .debug_info offset; 0 none, NO_INDEX one that is not there. A fault is
    # left in the walker.
    cdef const Attr *a = &w.d.a[slot]
    if not die_has(&w.d, slot):
        return 0
    if a.cls != A_REF and a.cls != A_REF_ADDR:
        return far_reference(w, slot)
    if a.v >= w.sections.alternate_at:
        return outside(w, slot)
    return <uint32_t> a.v
