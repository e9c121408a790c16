# The immutable table of ELF functions (see function_table.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp
from pybtf.core.elf.symbols cimport SymbolSource
from pybtf.core.support.hashing cimport hash_bytes
from pybtf.core.support.memory cimport prefetch

cdef enum:                      # FuncTable.sym_flags
    SYM_SUFFIXED = 1            # the name has a '.'
    SYM_CLONE = 2               # the suffix contains ".constprop" or ".isra"

cdef enum:
    NO_ENTRY = 0xFFFFFFFF       # functable_find: no such name

cdef struct FuncTable:
    uint32_t n                  # entries, sorted bytewise by base name
    const char **name           # base name, `name_len` bytes, not necessarily NUL-terminated there
    uint32_t *name_len
    uint64_t *hash              # of the base name
    uint8_t *ambiguous
    uint8_t *kfunc              # 0 no; 1 yes
    uint32_t *kfunc_flags
    uint32_t *first             # n + 1 indexes into the arrays of symbols below
    uint64_t *value             # st_value, in symbol-table order inside an entry
    const char **sym_name       # full name, NUL-terminated
    uint8_t *sym_flags
    uint32_t *slots             # hash of base names: entry + 1, 0 free; `slot_mask` + 1 of them, a power of two,
    uint32_t slot_mask          # at most half of them used; `slots` is never NULL
    uint32_t *file              # of a table of several files (function_table_join.py): whose entry it is; else NULL
    uint32_t *head              # likewise: the first entry of the same name

cdef struct ObjectSet:          # names of STT_OBJECT symbols by section, hashed like `slots`
    const char **name           # NULL: free
    uint32_t *name_len
    uint32_t *section
    uint32_t mask               # slots - 1; a power of two, at most half of them used

cdef class FunctionTable:
    cdef FuncTable t            # never changes once `frozen`
    cdef ObjectSet objects      # `name` is NULL unless the table was built with objects
    cdef bint frozen
    cdef SymbolSource source    # name pointers point into its strtab
    cdef list parts             # of a table of several files: their tables, which own the names

cdef inline void functable_expect(const FuncTable *t, uint64_t hash) noexcept nogil:
    # A name with this hash is about to be looked for.
    prefetch(t.slots + (<uint32_t> hash & t.slot_mask))

cdef inline uint32_t functable_find_hashed(const FuncTable *t, const char *name, size_t size, uint64_t hash) noexcept nogil:
    # As `functable_find`, of a name whose hash is known.
    cdef uint32_t at = <uint32_t> hash & t.slot_mask
    cdef uint32_t entry
    while t.slots[at]:
        entry = t.slots[at] - 1
        if t.name_len[entry] == size and memcmp(t.name[entry], name, size) == 0:
            return entry
        at = (at + 1) & t.slot_mask
    return NO_ENTRY

cdef inline uint32_t functable_find(const FuncTable *t, const char *name, size_t size) noexcept nogil:
    # The entry whose base name is exactly this, or NO_ENTRY.
    return functable_find_hashed(t, name, size, hash_bytes(name, size))

cdef inline uint32_t functable_head(const FuncTable *t, uint32_t entry) noexcept nogil:
    # The first entry of the same name: the one whose name is a string id.
    return entry if t.head == NULL else t.head[entry]

cdef inline uint32_t functable_of_file(const FuncTable *t, uint32_t head, uint32_t file) noexcept nogil:
    # The entry of a file that has the name of entry `head`, the first of that name; or NO_ENTRY.
    cdef uint32_t entry = head
    if t.file == NULL:
        return head
    while entry < t.n and t.head[entry] == head:
        if t.file[entry] == file:
            return entry
        entry += 1
    return NO_ENTRY

cdef bint allocate(FuncTable *t, size_t n) noexcept nogil
cdef void insert(FuncTable *t, uint32_t entry) noexcept nogil

# Whether section `section` has an STT_OBJECT symbol of exactly this name. The table must have been built with
# objects of that section.
cdef bint object_symbol(FunctionTable table, uint32_t section, const char *name, size_t size) noexcept nogil
