# Abbreviation declarations that were compiled before (see known_decls.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp
from pybtf.core.dwarf.abbrevs cimport AbbrevTable, KnownDecl
from pybtf.core.model.dwarf_constants cimport DW_FORM_implicit_const

cdef enum:
    FEW = 3                     # the table, of those alike, from which on declarations are looked for and kept
    LONGEST_KNOWN = 250         # bytes of a declaration; gcc's have some sixteen
    MOST_KNOWN = 16384          # declarations: a kernel's units have some nine thousand
    KNOWN_SLOTS = 32768
    MOST_KNOWN_OPS = 1 << 20    # words of programs, of those that are not known as well

cdef void known_begin(AbbrevTable *t) noexcept nogil
cdef void known_forget(AbbrevTable *t) noexcept nogil
cdef void known_add(AbbrevTable *t, uint64_t h, const uint8_t *text, uint32_t size, uint32_t reach) noexcept nogil
cdef void known_free(AbbrevTable *t) noexcept nogil

cdef inline uint32_t declaration_size(const uint8_t *p, const uint8_t *end) noexcept nogil:
    # Bytes of the declaration at `p`, after its code: tag, children, attributes, the pair of zeros. 0: it is not one
    # of the usual numbers of one and two bytes, or longer than those that are kept.
    cdef const uint8_t *start = p
    cdef uint8_t form
    if end - p < 4:
        return 0
    if p[0] & 0x80:
        p += 1
    if p[0] & 0x80:
        return 0
    p += 2
    if end - start > LONGEST_KNOWN:
        end = start + LONGEST_KNOWN
    while end - p >= 2:
        if p[0] & 0x80:
            p += 1
            if end - p < 2 or p[0] & 0x80 or p[0] == 0:
                return 0
        elif p[0] == 0:
            return <uint32_t> (p + 2 - start) if p[1] == 0 else 0
        form = p[1]
        if form & 0x80:
            return 0
        p += 2
        if form == DW_FORM_implicit_const:
            while p < end and p[0] & 0x80:
                p += 1
            p += 1
    return 0

cdef inline const KnownDecl *known_find(const AbbrevTable *t, uint64_t h, const uint8_t *text,
                                        uint32_t size) noexcept nogil:
    # The declaration of these bytes, with hash `h`; NULL: it is not known.
    cdef uint32_t at = <uint32_t> h & (KNOWN_SLOTS - 1)
    cdef const KnownDecl *k
    if t.known_slots == NULL:
        return NULL
    while t.known_slots[at]:
        k = &t.known[t.known_slots[at] - 1]
        if k.hash == <uint32_t> (h >> 32) and k.size == size and memcmp(t.texts.p + k.text, text, size) == 0:
            return k
        at = (at + 1) & (KNOWN_SLOTS - 1)
    return NULL
