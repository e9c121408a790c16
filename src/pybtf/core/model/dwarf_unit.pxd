# One logical compilation unit while it is decoded: the three tables of the DWARF reader (types, functions,
# the rest) and what hangs from them. All references are `.debug_info` offsets of DIEs until `resolve.py` turns
# them into small ids (index in `types`, 1.., 0 = void). Strings are string ids (`string_table.pxd`; 0 = none), but
# names are name words (`lazy_names.py`). These names are string ids all the same: those of base types; of parameters,
# where true signatures are wanted; of functions and variables that are looked at, once symbol_names.py has seen to it.

from libc.stdint cimport int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from pybtf.core.model.dwarf_constants cimport *
from pybtf.core.model.faults cimport FAULT_MEMORY, FAULT_NONE, FAULT_SHARED, Fault, fault_set
from pybtf.core.model.losses cimport Losses, lose
from pybtf.core.support.memory cimport U32s, U64s, U8s

cdef enum:
    NO_INDEX = 0xFFFFFFFF
    TAG_TYPE_TAG = 0xFFFF       # pseudo DWARF tag of a slot made from a btf_type_tag annotation
    LONGEST_TYPE_CHAIN = 1024   # typedefs, qualifiers, array dimensions followed; what is longer has no end
    USUAL_TYPE_CHAIN = 16       # steps that are free: compilers make chains of far fewer
    SHARED_FREE = 65536         # what a unit may spend on what its DIEs share: so much, and so much more for each of its
    SHARED_PER_BYTE = 64        # own bytes (`Unit.left`)
    NAMES_FREE = 65536          # bytes of names that it may read, likewise: fifty times what the longest C++ names come to
    NAMES_PER_BYTE = 256

cdef enum:                      # Type.flags
    T_DECLARATION = 1
    T_VARIADIC = 2              # of a subroutine type
    T_VARIANTS = 2              # of a struct: it has members that depend on another (Rust), which are not read
    T_SIGNED = 2                # of an enumeration: so is the DIE it refers to, which is not a type
    T_CHAINED = 2               # of a type tag: GCC's, from a chain of annotations
    T_PACKED_KNOWN = 4          # `packed_structs.py` has decided
    T_PACKED = 8
    T_REF_LOCAL = 16            # `ref` is a small id from the start
    T_EMPTY_KNOWN = 32          # variables.py has looked for members that are part of an instance
    T_EMPTY = 64                # and found none
    T_BITS = 128                # some member is a bitfield, has its offset in bits, or is not a member but a base

cdef struct Type:
    uint32_t die
    uint32_t ref                # DW_AT_type
    uint32_t name
    uint32_t size               # DW_AT_byte_size, low 32 bits
    uint32_t first              # first member, enumerator or parameter; ARRAY: number of elements
    uint32_t count
    uint32_t spec               # DW_AT_specification, for nameless structs
    uint32_t anns               # first of its declaration tags in `anns`
    uint16_t n_anns
    uint16_t tag                # DW_TAG_*, or TAG_TYPE_TAG
    uint8_t encoding            # DW_ATE_*, base types only
    uint8_t flags

cdef enum:                      # Member.flags
    M_STATIC = 1
    M_INHERITANCE = 2
    M_VIRTUAL = 4
    M_DATA_BIT_OFFSET = 8

cdef struct Member:
    uint32_t name
    uint32_t ref
    uint64_t bit_offset         # from the start of the aggregate, final after the layout pass
    uint32_t byte_offset        # of the storage unit
    uint32_t storage            # DW_AT_byte_size, then the size of the storage unit in bytes
    uint8_t bitfield_size       # 0: not a bitfield
    int8_t legacy_bit_offset   # DW_AT_bit_offset
    uint8_t flags

cdef struct Enumerator:
    uint32_t name
    uint64_t value

cdef struct TypeParam:          # of a subroutine type
    uint32_t name
    uint32_t ref

cdef struct Param:              # of a function; of a subroutine type, while that is open
    uint32_t die
    uint32_t name
    uint32_t ref                # DW_AT_type; small id after resolution
    uint32_t origin             # DW_AT_abstract_origin (a DIE offset), 0 none
    uint32_t candidate_name     # true_signature: name of the member that survives, 0 none
    uint32_t candidate_ref      # and its type
    uint64_t first_word         # piece offsets met in the first machine word, one bit each
    uint64_t second_word
    uint64_t loc                # DW_AT_location as read: value, size and class (A_*) of the attribute
    uint32_t loc_size
    uint8_t loc_cls
    uint8_t named               # has a name, perhaps an empty one
    uint8_t has_type            # its own DW_AT_type is there
    uint16_t size               # bytes; 0 unknown
    int16_t reg                 # DWARF register at entry, -1 none
    uint8_t has_loc
    uint8_t has_const
    uint8_t const_at_entry
    uint8_t stack_at_entry
    uint8_t in_memory
    uint8_t optimized           # result of `calling_convention.py`
    uint8_t unexpected
    uint8_t due                 # if unexpected: which of the machine's parameter registers it should be in

cdef enum:                      # Function.flags
    F_DECLARATION = 1
    F_VARIADIC = 2
    F_INLINE = 4                # nonzero DW_AT_inline
    F_NOCALL = 8                # its own DW_AT_calling_convention is DW_CC_nocall
    F_SIGNATURE_CHANGED = 16
    F_REORDERED = 32
    F_OPTIMIZED = 64
    F_UNEXPECTED = 128
    F_HAS_ORIGIN = 256          # the attribute is there, whatever it says
    F_EMPTY_NAME = 512          # it has a name, an empty one
    F_ENDS = 1024               # its chain of origins and specifications is known to end
    F_ENDLESS = 2048            # or not to

cdef struct Function:
    uint64_t address            # DW_AT_low_pc, 0 if absent
    uint32_t die
    uint32_t name
    uint32_t ref                # return type
    uint32_t origin
    uint32_t spec
    uint32_t first              # first parameter in `params`
    uint32_t count
    uint32_t anns
    uint32_t bases              # in Unit.bases
    uint16_t n_anns
    uint16_t flags

cdef enum:                      # Variable.flags
    V_DECLARATION = 1
    V_EXTERNAL = 2
    V_TOP_LEVEL = 4
    V_ARTIFICIAL = 8
    V_ADDRESS = 16              # located by DW_OP_addr or addrx; `address` is valid

cdef struct Variable:
    uint64_t address
    uint32_t die
    uint32_t name
    uint32_t ref
    uint32_t spec
    uint32_t anns
    uint16_t n_anns
    uint8_t flags

cdef struct Annotation:         # btf_decl_tag
    uint32_t value
    int component               # member or parameter index, -1 the object itself

cdef struct Alias:              # a DIE that only says, by its signature, which type it stands for
    uint32_t die
    uint32_t target             # that type's DIE

cdef struct Bases:              # of one DWARF unit; in merge mode a logical unit has many
    uint64_t addr
    uint64_t loclists
    uint64_t lists              # what is added to offsets of location lists
    uint8_t version
    uint8_t offset_size         # 4 or 8
    uint8_t split               # it is a unit of split DWARF

cdef struct OffsetMap:          # DIE offset -> index, open addressing; the last entry of an offset wins
    uint32_t *slots             # pairs (offset, index + 1)
    uint32_t cap                # allocated
    uint32_t mask               # of the part in use
    uint32_t n

cdef struct Places:             # slots for the offsets of a unit, one for every four bytes
    uint8_t *slots              # (index - that of the block + 1) << 2 | the last two bits of the distance; 0: free
    uint32_t *blocks            # of 64 slots each: the index that came first; 0: none yet
    uint64_t start              # of the unit
    uint32_t span               # bytes from there on that have slots

cdef struct OffsetTable:        # as an OffsetMap, mostly for the offsets of a unit itself
    Places places
    uint32_t cap                # allocated slots
    uint32_t n                  # entries at most
    OffsetMap others            # offsets elsewhere, and those whose slot was taken; made for the first of them
    uint32_t n_others

cdef struct Unit:
    # facts of the unit header and its root DIE
    uint64_t offset             # of the unit header in .debug_info
    uint64_t end
    uint64_t bytes              # of .debug_info in all its DWARF units so far; bounds work on what DIEs share
    uint64_t left               # what it may still spend: bytes of location lists, further steps along chains of types,
                                # members that are searched, and links; 0: too much was shared, which is a fault
    uint64_t list_at            # offset of the last one that was
    uint8_t address_size
    uint8_t offset_size         # this and `version`, `*_base`: of the DWARF unit at hand (`unit_bases`)
    uint8_t version
    uint8_t is_clang
    uint32_t language
    uint32_t name
    uint64_t addr_base
    uint64_t loclists_base
    uint64_t lists_at
    uint8_t split
    Bases *bases
    uint32_t n_bases, cap_bases
    # tables; slot 0 of `types` is void
    Type *types
    uint32_t n_types, cap_types
    Member *members
    uint32_t n_members, cap_members
    Enumerator *enumerators
    uint32_t n_enumerators, cap_enumerators
    Param *params
    uint32_t n_params, cap_params
    TypeParam *type_params
    uint32_t n_type_params, cap_type_params
    Function *functions
    uint32_t n_functions, cap_functions
    Variable *variables
    uint32_t n_variables, cap_variables
    Annotation *anns
    uint32_t n_anns, cap_anns
    Alias *aliases
    uint32_t n_aliases, cap_aliases
    OffsetTable type_at         # .debug_info offsets of `types`
    OffsetMap function_at
    OffsetMap variable_at
    OffsetMap param_at          # parameters of functions
    Losses *aside               # faults that are set aside, to find the others; NULL: the first one ends it

cdef inline void unit_bases(Unit *u, uint32_t i) noexcept nogil:
    # Makes the bases of DWARF unit `i` those of the logical unit.
    u.addr_base = u.bases[i].addr
    u.loclists_base = u.bases[i].loclists
    u.lists_at = u.bases[i].lists
    u.split = u.bases[i].split
    u.version = u.bases[i].version
    u.offset_size = u.bases[i].offset_size

cdef inline bint set_aside(const Unit *u, Fault *f) noexcept nogil:
    # Notes a fault as one of a part of the unit that is going to be left out. False: it is one of the whole.
    if u.aside == NULL or f.code == FAULT_MEMORY or f.code == FAULT_SHARED or f.die == 0:
        return False
    if not lose(u.aside, f, True):
        f.code = FAULT_MEMORY
        return False
    f.code = FAULT_NONE
    return True

cdef inline int too_shared(const Unit *u, Fault *f, int section, uint64_t offset, uint64_t die) noexcept nogil:
    # The fault of a unit that has spent all it may. Nonzero.
    return fault_set(f, FAULT_SHARED, section, offset, die, <int64_t> (SHARED_PER_BYTE * u.bytes))

cdef inline bint may_step(Unit *u, uint32_t steps) noexcept nogil:
    # Whether a chain of types may be followed further, after so many steps. Any number of DIEs may lead into one.
    if steps < USUAL_TYPE_CHAIN:
        return True
    u.left -= u.left != 0
    return u.left != 0

cdef inline uint32_t base_size(const Type *t) noexcept nogil:
    # The bytes of a base type. pahole keeps their bits in 16 bits.
    return t.size & 0x1FFF

cdef inline bint odd_size(uint32_t size) noexcept nogil:
    # Whether a number has bytes that no INT has: not 1, 2, 4, 8 or 16.
    return size == 0 or size > 16 or size & (size - 1) != 0

cdef inline bint is_structure(uint16_t tag) noexcept nogil:
    return (
        tag == DW_TAG_structure_type or tag == DW_TAG_union_type or tag == DW_TAG_class_type
        or tag == DW_TAG_interface_type
    )

cdef inline bint is_annotation(uint16_t tag) noexcept nogil:
    return tag == DW_TAG_LLVM_annotation or tag == DW_TAG_GNU_annotation

cdef inline bint is_transparent(uint16_t tag) noexcept nogil:
    # Whether a type has size and alignment of the one it refers to: typedef, const, volatile, restrict, _Atomic.
    return (
        tag == DW_TAG_typedef
        or tag == DW_TAG_const_type
        or tag == DW_TAG_volatile_type
        or tag == DW_TAG_restrict_type
        or tag == DW_TAG_atomic_type
    )

cdef inline uint32_t strip_type(Unit *u, uint32_t id) noexcept nogil:
    # The type itself, without typedefs and const, volatile, restrict, _Atomic; 0 for void or a chain without end.
    cdef uint32_t step
    for step in range(LONGEST_TYPE_CHAIN):
        if id == 0 or id >= u.n_types or not may_step(u, step):
            return 0
        if not is_transparent(u.types[id].tag):
            return id
        id = u.types[id].ref
    return 0

cdef inline bint is_pointer(uint16_t tag) noexcept nogil:
    return tag == DW_TAG_pointer_type or tag == DW_TAG_reference_type or tag == DW_TAG_rvalue_reference_type

cdef inline uint64_t type_size(Unit *u, uint32_t id) noexcept nogil:
    # Size of a type in bytes (section 6.3 of the rules, without its exception for empty structs).
    cdef uint64_t count = 1
    cdef const Type *t
    cdef uint32_t step
    for step in range(LONGEST_TYPE_CHAIN):
        if id == 0 or id >= u.n_types or not may_step(u, step):
            return 0
        t = u.types + id
        if is_pointer(t.tag):
            return count * u.address_size
        if t.tag == DW_TAG_base_type:
            return count * base_size(t)
        if t.tag == DW_TAG_enumeration_type:
            return count * (t.size if t.size else 4)
        if t.tag == DW_TAG_subroutine_type:
            return count * (t.size if t.size else u.address_size)
        if is_structure(t.tag) or t.tag == DW_TAG_string_type:
            return count * t.size
        if t.tag == DW_TAG_array_type and t.count != 0:  # without any dimension it is as large as its element (Q31)
            count *= t.first
        id = t.ref
    return 0
