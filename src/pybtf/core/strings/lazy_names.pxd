# Names of types, members and enumerators while a unit is decoded (see lazy_names.py).

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from pybtf.core.model.debug_sections cimport DebugSections, Span
from pybtf.core.strings.string_table cimport Strings
from pybtf.core.support.memory cimport prefetch

cdef enum:
    NAME_SHORT = 0x40000000     # | up to three bytes of text, the first one lowest
    NAME_BITS = 30              # of a string id
    CACHE_BITS = 14             # at most

cdef extern from *:
    """
    #define PYBTF_NAME_AT 0x80000000u
    """
    uint32_t NAME_AT "PYBTF_NAME_AT"    # | offset in .debug_str

cdef struct Names:              # of one worker
    Strings *strings
    Span section                # .debug_str, and that of the alternate file after it
    uint64_t *cache             # (offset + 1) << 32 | string id
    uint32_t cache_shift
    uint32_t limit              # offsets below it can be deferred
    uint32_t alternate          # the same, of the alternate file's .debug_str, which starts at `limit`
    uint32_t deferred           # the same, or 0 while nothing is to be deferred
    uint32_t model              # of the type whose name was interned last, 0 none (see name_prediction.py)
    uint64_t bytes              # read of names that were not in the cache, since the unit was opened
    uint64_t budget             # how many of them there may be

cdef inline uint64_t cache_slot(const Names *n, uint64_t offset) noexcept nogil:
    return (offset * 0x9E3779B97F4A7C15ULL) >> n.cache_shift

cdef inline uint32_t name_cached(const Names *n, uint64_t offset) noexcept nogil:
    # The id of the string at an offset of .debug_str, 0 if it is not in the cache.
    cdef uint64_t entry = n.cache[cache_slot(n, offset)]
    return <uint32_t> entry if entry >> 32 == offset + 1 else 0

cdef inline void name_cache(Names *n, uint64_t offset, uint32_t sid) noexcept nogil:
    n.cache[cache_slot(n, offset)] = (offset + 1) << 32 | sid

cdef inline uint32_t name_short(const uint8_t *text, uint32_t size) noexcept nogil:
    # The word of a text of one to three bytes.
    cdef uint32_t word = NAME_SHORT | text[0]
    if size > 1:
        word |= <uint32_t> text[1] << 8
    if size > 2:
        word |= <uint32_t> text[2] << 16
    return word

cdef int names_init(Names *n, Strings *strings, const DebugSections *sections) noexcept nogil
cdef void names_free(Names *n) noexcept nogil
cdef enum:                      # what settling comes to
    NAMES_OK = 0
    NAMES_MEMORY = 1
    NAMES_EMPTY = 2             # a text is empty
    NAMES_LONG = 3              # more bytes than the budget allows

cdef int names_intern(Names *n, uint32_t *words, uint32_t count, uint32_t step) noexcept nogil
cdef int name_intern_first(Names *n, uint32_t *name, uint32_t *words, uint32_t count, uint32_t *model) noexcept nogil
cdef int names_intern_like(Names *n, uint32_t *words, uint32_t count, uint32_t step, uint32_t model) noexcept nogil

cdef inline void name_expect(const Names *n, uint32_t word) noexcept nogil:
    # Asks for the memory that settling a name word will begin with.
    if word & NAME_AT:
        prefetch(n.section.p + (word & ~NAME_AT))

cdef uint32_t name_intern(Names *n, uint32_t word) noexcept nogil

cdef inline void names_expect_like(const Names *n, const uint32_t *words, uint32_t count, uint32_t step,
                                   uint32_t model) noexcept nogil:
    # Asks for the memory that `names_intern_like` will need with a model.
    cdef const uint32_t *names = n.strings.models.names + n.strings.models.all[model].first
    cdef uint32_t i
    for i in range(count):
        name_expect(n, words[i * step])
        prefetch(n.strings.base.text + names[i])
