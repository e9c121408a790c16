# The debug sections of one input file, as the compiled core sees them: plain ranges of memory, already
# decompressed and relocated. An absent section is {NULL, 0}. Nothing here is owned.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef struct Span:
    const uint8_t *p
    size_t n

cdef struct SplitUnit:          # units of split DWARF, whose sections are parts of these: where the parts are
    uint64_t at                 # in `info`: the first unit, and where the last one ends
    uint64_t end
    uint64_t abbrev
    uint64_t str
    uint64_t offsets            # in `str_offsets`: what DW_FORM_strx 0 means, and where the part ends
    uint64_t offsets_end
    uint64_t addr               # in `addr`: what DW_FORM_addrx 0 means
    uint64_t lists              # in `loc` or `loclists`: what offset 0 means
    uint64_t loclists           # in `loclists`: what DW_FORM_loclistx 0 means
    uint64_t line               # in .debug_line: its files, all bits set if there are none

cdef enum:
    N_SPANS = 8                 # sections that a file has, in front of `swap`
    INFO_MAPPED = 1 << 0        # bits of `mapped`, in the order of the spans
    ABBREV_MAPPED = 1 << 1
    LOC_MAPPED = 1 << 6
    LOCLISTS_MAPPED = 1 << 7

cdef struct DebugSections:
    Span info                   # inputs.py has the names of all spans, in this order
    Span abbrev
    Span str
    Span line_str
    Span str_offsets
    Span addr
    Span loc            # .debug_loc, DWARF 2 to 4
    Span loclists       # .debug_loclists, DWARF 5
    bint swap           # the file's byte order differs from the host's
    uint32_t mapped     # a bit for each span that lies in the map of `info`: pages can be given back
    uint64_t types_at   # where in `info` what was .debug_types starts (DWARF 4); its size if there is none
    uint64_t alternate_at   # where in `info` the units of the alternate file start; its size if there is none
    const SplitUnit *split      # ascending; NULL if there are none
    size_t n_split
    const DebugSections *alternate  # its sections, or NULL: the same `info`, and `str` right after `str` here

cdef extern from *:
    """
    #include <stddef.h>
    #define PYBTF_SPANS(sections) (offsetof(__typeof__(*(sections)), swap) / sizeof((sections)->info))
    """
    size_t spans_of "PYBTF_SPANS" (const DebugSections *sections) noexcept nogil
