# Reading one DIE (see die_reader.py).

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from pybtf.core.dwarf.abbrevs cimport AbbrevTable
from pybtf.core.dwarf.attributes cimport N_SLOTS
from pybtf.core.dwarf.forms cimport A_ADDR, A_CONST, A_FLAG
from pybtf.core.model.debug_sections cimport DebugSections
from pybtf.core.model.faults cimport Fault
from pybtf.core.support.cursor cimport Cursor, cur_tell

cdef struct Attr:
    uint64_t v                  # what it is depends on the class: see the list of A_* in forms.pxd
    uint32_t size               # of a block, bytes
    uint8_t cls                 # A_*

cdef struct Die:
    uint64_t offset             # in .debug_info
    uint64_t seen               # bit D_*: the attribute is there, `a[D_*]` is valid
    uint16_t tag                # 0: the entry that ends a list of children
    uint8_t children
    Attr a[N_SLOTS]

cdef struct Reader:
    Cursor c                    # in .debug_info, ends with the unit
    AbbrevTable *table
    const DebugSections *sections   # of the unit's file
    bint alternate              # which is an alternate file
    uint64_t unit               # offset of the unit's header
    uint64_t end
    uint64_t str_offsets_base
    uint64_t str_offsets_end    # of the table of string offsets
    uint64_t str_at             # of a unit of split DWARF: where in .debug_str its strings begin
    bint split                  # it is one
    uint8_t address_size, offset_size, version
    bint passing                # DIEs are passed over: where their references lead does not matter
    Fault *fault

cdef int die_read(Reader *r, Die *d) noexcept nogil
cdef inline int die_next(Reader *r, Die *d) noexcept nogil:
    # As `die_read`, which is called for what is not a null entry.
    if r.c.pos == r.c.end or r.c.pos[0]:
        return die_read(r, d)
    d.offset = cur_tell(&r.c)
    d.seen = 0
    d.tag = 0
    d.children = 0
    r.c.pos += 1
    return 0

cdef int die_skip_children(Reader *r, Die *d) noexcept nogil
cdef int die_string_offset(Reader *r, Die *d, int slot, uint64_t *offset) noexcept nogil
cdef int die_string(Reader *r, Die *d, int slot, const char **text, size_t *size, bint *transient) noexcept nogil

cdef inline bint die_has(const Die *d, int slot) noexcept nogil:
    return (d.seen >> slot) & 1

cdef inline uint64_t die_number(const Die *d, int slot) noexcept nogil:
    # A numeric attribute: constants, addresses and flags count, other forms are 0, as is an absent one. A flag is 0 or 1.
    if (d.seen >> slot) & 1 and A_CONST <= d.a[slot].cls <= A_ADDR:
        return d.a[slot].v if d.a[slot].cls != A_FLAG else d.a[slot].v != 0
    return 0
