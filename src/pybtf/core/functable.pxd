# The immutable table of ELF functions (see functable.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef enum:                      # FuncTable.sym_flags
    SYM_SUFFIXED = 1            # the name has a '.'
    SYM_CLONE = 2               # the suffix contains ".constprop" or ".isra"

cdef struct FuncTable:
    uint32_t n                  # entries, sorted bytewise by base name
    const char **name           # base name, `name_len` bytes, not necessarily NUL-terminated there
    uint32_t *name_len
    uint8_t *ambiguous
    uint8_t *kfunc              # 0 no; 1 yes
    uint32_t *kfunc_flags
    uint32_t *first             # n + 1 indexes into the arrays of symbols below
    uint64_t *value             # st_value, in symbol-table order inside an entry
    const char **sym_name       # full name, NUL-terminated
    uint8_t *sym_flags
