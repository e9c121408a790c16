# Split BTF with a minimal base of its own (see distill.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.dedup.type_graph cimport BaseTypes
from pybtf.core.strings.base_strings cimport BaseStrings
from pybtf.core.strings.string_table cimport Strings
from pybtf.core.support.memory cimport U8s, U32s

cdef enum:                      # results
    DISTILL_OK = 0
    DISTILL_MEMORY = 1
    DISTILL_KIND = 2            # an own type refers to what a distilled base cannot hold: `bad`
    DISTILL_NAMES = 3           # names that share their bytes come to more than `text_left`

cdef struct Distilled:
    const BaseTypes *base       # what to distill
    uint32_t *words             # its types
    const uint64_t *offs
    const BaseStrings *strings
    const uint32_t *own         # records of the split BTF, in final form
    size_t n_own                # words
    const char *own_text        # its strings
    uint64_t text_left          # bytes of names that may be read
    U32s number                 # by id of the base: 0 not needed; a mark; then the new id
    U32s stack
    uint32_t n_base             # ids of the new base, void included
    uint32_t n_split            # own types
    Strings *table
    U32s at                     # new offset by string id, 0 none yet
    U32s base_words
    U8s base_text
    U32s split_words
    U8s split_text
    uint32_t bad

# Fills the four results of a zeroed `d` whose first seven fields are set. `size`: bytes of all strings and own records;
# `file`: what they are from. 0 if an own type refers to what cannot be: `bad`. Raises MemoryError, or InputError if
# names share too many bytes. Frees nothing.
cdef bint distill(Distilled *d, uint64_t size, object file) except -1
cdef void distill_free(Distilled *d) noexcept nogil
