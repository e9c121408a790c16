# BTF as a kernel reads it: one layer of types, what is found out about each, and what is wrong with them.
#
# Nothing in a layer may be believed. Records lie within their section once accept_meta.py has been through; every id
# and every offset of a name is compared with its end where it is used.

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from pybtf.core.btf.kinds cimport *
from pybtf.core.btf.record_layout cimport wire_each, wire_fixed

cdef enum:                      # rules, in the order of RULES in pybtf/verify/rules.py
    R_HDR_LEN
    R_HDR_TRUNCATED
    R_HDR_LONG
    R_MAGIC
    R_VERSION
    R_FLAGS
    R_NO_DATA
    R_SECTION_OFFSET
    R_SECTION_GAP
    R_SECTION_OVERLAP
    R_SECTION_LENGTH
    R_STRINGS_NOT_LAST
    R_TOO_LARGE
    R_LAYOUT_ALIGN
    R_LAYOUT_SMALL
    R_LAYOUT_MULTIPLE
    R_STRINGS
    R_STRINGS_START
    R_TYPES_ALIGN
    R_NO_TYPES
    R_HEAD                      # from here on found by the core: records
    R_TAIL
    R_INFO
    R_KIND
    R_NAME_OFFSET
    R_VLEN
    R_FLAG
    R_NAME_BAD
    R_NAME_NEEDED
    R_NAME_NONE
    R_NAME_SECTION
    R_TAG_VALUE
    R_TAG_NAME
    R_TYPE_ID
    R_INT_DATA
    R_INT_WIDE
    R_INT_SIZE
    R_INT_ENCODING
    R_FLOAT_SIZE
    R_FWD_TYPE
    R_ENUM_SIZE
    R_ENUM_NAME_OFFSET
    R_ENUM_NAME
    R_ARRAY_SIZE
    R_ARRAY_ELEM
    R_ARRAY_INDEX
    R_MEMBER_NAME_OFFSET
    R_MEMBER_NAME
    R_MEMBER_VOID
    R_MEMBER_ORDER
    R_MEMBER_OFFSET
    R_FUNC_LINKAGE
    R_VAR_LINKAGE
    R_SEC_EMPTY
    R_SEC_SIZE
    R_SEC_TYPE
    R_SEC_OFFSET
    R_SEC_ENTRY
    R_SEC_END
    R_SEC_SUM
    R_TAG_COMPONENT
    R_SURPLUS
    R_REF_MISSING               # references
    R_REF_KIND
    R_REF_FUNC
    R_LOOP
    R_DEPTH
    R_ELEM
    R_INDEX
    R_ARRAY_INT
    R_ARRAY_OVERFLOW
    R_VAR_TYPE
    R_SEC_NOT_VAR
    R_SEC_VAR_TYPE
    R_SEC_VAR_SIZE
    R_TAG_TARGET
    R_TAG_INDEX
    R_MEMBER_TYPE
    R_MEMBER_EXCEEDS
    R_MEMBER_COPY
    R_MEMBER_BASE
    R_MEMBER_BIT
    R_MEMBER_WIDTH
    R_MEMBER_BYTE
    R_MEMBER_ALIGN
    R_RETURN
    R_ARG
    R_ARG_NAME
    R_VARARG
    R_FUNC_TARGET
    R_FUNC_ARG
    R_CHAIN                     # chains of modifiers
    R_CHAIN_MISSING
    R_TAG_ORDER
    R_SPECIAL                   # fields known by name
    R_MIDDLE                    # what only this program notices
    R_OVERLAP
    R_UNSORTED
    CODES

cdef enum:
    KEPT = 100                  # findings of one rule that are kept; all are counted
    MAX_DEPTH = 32
    MAX_CHAIN = 32

cdef enum:                      # Layer.state of a type
    NEW = 0
    VISITED = 1
    RESOLVED = 2
    BAD = 3                     # something was found, and what depends on it is not judged

cdef enum:                      # Layer.mode: where a walk along references ends
    AT_LEAVES = 0
    BEHIND_POINTERS = 1
    INSIDE = 2

cdef enum:
    NO_KIND = 255               # of an id that does not exist

cdef enum:
    NOTHING = 0xFFFFFFFF        # no component, no parameter, too far
    INT_UNUSED = 0xF0000000     # bits of the word of an INT that are 0
    INFO_BITS_412 = 0x0F00FFFF  # bits of the second word, by version
    INFO_BITS_500 = 0x8F00FFFF
    INFO_BITS_513 = 0x9F00FFFF

cdef struct Finding:
    uint32_t code
    uint32_t id
    uint32_t at                 # number of the member, enumerator, parameter, entry
    uint64_t value

cdef struct Step:
    uint32_t id
    uint32_t at                 # where to go on

cdef struct Layer:
    const Layer *base
    uint32_t *words
    uint32_t *offs              # of the record of each id, counted from `first`
    uint32_t *to                # of a resolved reference what it leads to
    uint32_t *sizes             # of a resolved array
    uint8_t *state
    uint64_t size               # bytes of the type section
    uint32_t first
    uint32_t end                # ids end before
    uint32_t surplus            # records that no id is left for
    bint whole                  # all records could be told apart
    const char *text
    uint32_t text_first         # offsets of strings begin here: where those of the base end
    uint32_t text_end
    uint32_t version            # 100 * major + minor
    uint32_t pointer            # size of one
    uint32_t vlen_mask
    uint32_t max_id
    int mode
    uint32_t depth
    Step stack[MAX_DEPTH]
    Finding *found
    size_t n_found
    size_t cap_found
    uint32_t counts[CODES]
    bint no_memory

cdef inline void add(Layer *y, uint32_t code, uint32_t id, uint32_t at, uint64_t value) noexcept nogil:
    cdef size_t cap
    cdef Finding *grown
    y.counts[code] += 1
    if y.counts[code] > KEPT:
        return
    if y.n_found == y.cap_found:
        cap = 2 * y.cap_found + 16
        grown = <Finding *> realloc(y.found, cap * sizeof(Finding))
        if grown == NULL:
            y.no_memory = 1
            return
        y.found = grown
        y.cap_found = cap
    y.found[y.n_found].code = code
    y.found[y.n_found].id = id
    y.found[y.n_found].at = at
    y.found[y.n_found].value = value
    y.n_found += 1

cdef inline const Layer *layer_of(const Layer *y, uint32_t id) noexcept nogil:
    return y.base if id < y.first else y

cdef inline const uint32_t *record_of(const Layer *y, uint32_t id) noexcept nogil:
    # Of an id that exists and is not 0.
    cdef const Layer *l = layer_of(y, id)
    return l.words + l.offs[id - l.first]

cdef inline uint32_t kind_of(const Layer *y, uint32_t id) noexcept nogil:
    if id == 0:
        return 0
    if id >= y.end:
        return NO_KIND
    return (record_of(y, id)[1] >> 24) & 0x1F

cdef inline uint32_t vlen_of(const Layer *y, const uint32_t *r) noexcept nogil:
    return r[1] & y.vlen_mask

cdef inline uint8_t state_of(const Layer *y, uint32_t id) noexcept nogil:
    cdef const Layer *l = layer_of(y, id)
    return l.state[id - l.first] if id else RESOLVED

cdef inline uint32_t end_of(const Layer *y, uint32_t id) noexcept nogil:
    # What a resolved reference leads to.
    cdef const Layer *l = layer_of(y, id)
    return l.to[id - l.first]

cdef inline const char *text_of(const Layer *y, uint32_t offset) noexcept nogil:
    # Of an offset before the end of the strings. There is a NUL after the last byte of a file.
    if y.base != NULL and offset < y.text_first:
        return y.base.text + offset
    return y.text + (offset - y.text_first)

cdef enum:                      # sets of kinds
    MODIFYING = 1 << KIND_TYPEDEF | 1 << KIND_VOLATILE | 1 << KIND_CONST | 1 << KIND_RESTRICT | 1 << KIND_TYPE_TAG
    SOURCE_ONLY = 1 << KIND_VAR | 1 << KIND_DATASEC | 1 << KIND_DECL_TAG

cdef inline bint modifies(uint32_t kind) noexcept nogil:
    return kind < 32 and (MODIFYING >> kind) & 1

cdef inline bint is_source_only(uint32_t kind) noexcept nogil:
    # Nothing but a section or a tag may be about them.
    return kind < 32 and (SOURCE_ONLY >> kind) & 1

cdef inline bint has_members(uint32_t kind) noexcept nogil:
    return kind == KIND_STRUCT or kind == KIND_UNION

cdef inline uint32_t max_kind(uint32_t version) noexcept nogil:
    if version < 500:
        return KIND_RESTRICT
    if version < 502:
        return KIND_FUNC_PROTO
    if version < 513:
        return KIND_DATASEC
    if version < 516:
        return KIND_FLOAT
    if version < 517:
        return KIND_DECL_TAG
    if version < 600:
        return KIND_TYPE_TAG
    return KIND_ENUM64

cdef inline uint32_t bytes_of_bits(uint64_t bits) noexcept nogil:
    return <uint32_t> ((bits + 7) >> 3)
