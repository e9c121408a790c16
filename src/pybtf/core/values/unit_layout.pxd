# A unit value in bytes: what `pybtf object` writes and `pybtf merge` reads (docs/merge.md has the layout for people).
#
# 32-bit words in the byte order of the ELF file: this head; tags (string, small id, component); functions; variables; the
# first strings; a digest of each type (type_digest.py), four words; the type records, laid out as in BTF but with small
# ids for references; then the other strings. Each string has its NUL, and both kinds are padded with zeros to a word. A
# string is named by 1 and the offset of its first byte in the first and the others together, 0 is none. The first ones are
# those that are named before them: what a merge reads of nearly all units stands in one piece.

from libc.stdint cimport uint32_t

cdef enum:                      # facts of the unit that only the report wants: words of the head after H_COUNTS
    HELD_PARTIAL = 0            # a partial unit
    HELD_SKIPPED_TAGS = 1
    HELD_SIGNATURES_LOST = 2
    HELD_NAMELESS = 3           # functions
    HELD_VAR_DECLARATION = 4
    HELD_VAR_NO_ADDRESS = 5
    N_HELD = 6

cdef enum:                      # words of the head
    H_SIZE = 0                  # bytes of the unit, this word included
    H_FLAGS = 1
    H_LANGUAGE = 2              # DW_LANG of the unit
    H_NAME = 3                  # string
    H_TYPES = 4                 # small ids, 0 included
    H_WORDS = 5                 # of the records
    H_TAGS = 6
    H_FUNCTIONS = 7
    H_FUNCTION_WORDS = 8
    H_VARIABLES = 9
    H_VARIABLE_WORDS = 10
    H_FIRST_BYTES = 11          # of the first strings with NULs, without padding
    H_STRING_BYTES = 12         # of the others
    H_INT = 13                  # small id of the first base type "int", 0 none
    H_COUNTS = 14               # HELD_*
    H_WORDS_OF_HEAD = H_COUNTS + N_HELD

ctypedef uint32_t UnitHead[H_WORDS_OF_HEAD]

cdef enum:
    DIGEST_WORDS = 4

# What is before the values where an object has them (merging/pieces.py).
cdef enum:
    STORED_HEAD = 32

cdef enum:                      # H_FLAGS
    UNIT_TAGS_CUT = 1           # an empty declaration tag: functions and variables are not there

# A function: string, flags | number of annotations << 16, elements and more flags, small id of what it returns, the digest of
# its prototype as of a type; then for each element of the prototype string and small id, for each annotation string and
# component.
cdef enum:
    FUNCTION_DIGEST = 4         # where the digest is
    FUNCTION_HEAD = 8
    FUNCTION_ELEMENTS = 0x1FFFF
    FUNCTION_DISCARDED = 0x20000000     # would be another, if the linker discarded its code
    FUNCTION_EMPTY_NAME = 0x40000000    # its name is there, and empty
    FUNCTION_UNNAMED = 0x80000000       # a parameter has no name: nothing else is said of it

# A variable: string, small id, linkage | number of annotations << 1, its size in two words, the low one first; then its
# annotations.
cdef enum:
    VARIABLE_HEAD = 5
