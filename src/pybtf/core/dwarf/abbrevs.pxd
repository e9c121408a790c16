# Abbreviation tables compiled to programs (see abbrevs.py).

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from pybtf.core.dwarf.abbrev_layout cimport DieLayout, Passage
from pybtf.core.model.debug_sections cimport Span
from pybtf.core.model.faults cimport Fault
from pybtf.core.support.memory cimport U8s, U32s

cdef struct AbbrevDecl:
    uint64_t code
    uint32_t program            # index of the first word in `ops`
    uint16_t tag
    uint8_t children
    Passage passage
    DieLayout layout            # that of a type says nothing of its children

cdef struct KnownDecl:          # one that was compiled before (see known_decls.py)
    AbbrevDecl decl             # its code is that of the table where it was first met
    uint32_t text               # where its bytes begin in `texts`
    uint32_t size
    uint32_t hash
    uint32_t reach              # how many bytes after an abbreviation code are looked at

cdef struct AbbrevTable:
    U32s ops                    # programs, also those of what is known
    AbbrevDecl *decls
    uint32_t n, cap
    uint32_t reach              # how many bytes after an abbreviation code are looked at, whichever layout it has
    bint dense                  # decls[i].code == i + 1
    uint32_t *slots             # otherwise: open addressing, index + 1
    uint32_t slot_mask
    KnownDecl *known
    uint32_t n_known, cap_known
    uint32_t *known_slots       # open addressing, index + 1; NULL: nothing is known
    U8s texts
    uint32_t n_alike            # tables of the same properties that came one after the other, FEW at most
    # what the programs depend on
    uint64_t offset
    uint8_t address_size, offset_size, version
    bint alternate              # the units are those of an alternate file
    bint split                  # they are of split DWARF
    int without                 # WITHOUT_*; set before the first is read
    bint declarations           # where something is declared is wanted, too; set before the first is read
    bint valid
    uint64_t read               # bytes of the section that the last `abbrevs_read` went through

cdef int abbrevs_read(AbbrevTable *t, Span section, uint64_t offset, uint8_t address_size, uint8_t offset_size,
                      uint8_t version, bint alternate, bint split, Fault *fault) noexcept nogil
cdef bint abbrevs_have_form(Span section, uint64_t offset, uint64_t form, uint64_t *read) noexcept nogil
cdef void abbrevs_free(AbbrevTable *t) noexcept nogil
cdef AbbrevDecl *abbrevs_find_sparse(AbbrevTable *t, uint64_t code) noexcept nogil

cdef inline bint abbrevs_enough(uint64_t read, Span section) noexcept nogil:
    # Whether more has been read in all than sections that are not made to be slow ask for. Units may share tables, and
    # tables may overlap; each is read again when another one was in between.
    return read > (<uint64_t> 64 << 20) + 256 * <uint64_t> section.n

cdef inline AbbrevDecl *abbrevs_find(AbbrevTable *t, uint64_t code) noexcept nogil:
    # NULL if the table has no such code; 0 is never in a table.
    if t.dense:
        if code - 1 < t.n:
            return &t.decls[code - 1]
        return NULL
    return abbrevs_find_sparse(t, code)
