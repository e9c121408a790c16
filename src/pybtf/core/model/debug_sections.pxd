# The debug sections of one input file, as the compiled core sees them: plain ranges of memory, already
# decompressed and relocated. An absent section is {NULL, 0}. Nothing here is owned.

from libc.stdint cimport uint8_t, uint64_t

cdef struct Span:
    const uint8_t *p
    size_t n

cdef struct DebugSections:
    Span info
    Span abbrev
    Span str
    Span line_str
    Span str_offsets
    Span addr
    Span loc            # .debug_loc, DWARF 2 to 4
    Span loclists       # .debug_loclists, DWARF 5
    Span ranges
    Span rnglists
    bint swap           # the file's byte order differs from the host's
    uint64_t types_at   # where in `info` what was .debug_types starts (DWARF 4); its size if there is none
    uint64_t alternate_at   # where in `info` the units of the alternate file start; its size if there is none
    const DebugSections *alternate  # its sections, or NULL: the same `info`, and `str` right behind `str` here
