# A type section as a whole: records one after the other, and what can be wrong with them (see type_section.py).

from libc.stdint cimport uint8_t, uint32_t
from pybtf.core.btf.record_layout cimport Extremes

cdef enum:
    WIRE_HEADER = 24
    WIRE_MAGIC = 0xEB9F

cdef enum:                      # WireError.code
    WIRE_OK = 0
    WIRE_KIND = 1               # a kind that does not exist
    WIRE_RESERVED = 2           # reserved bits of the info word are set
    WIRE_TRUNCATED = 3          # the section ends inside a record
    WIRE_NAME = 4               # a name beyond the string section
    WIRE_REFERENCE = 5          # a type id that does not exist
    WIRE_MEMORY = 6
    WIRE_TOO_MANY = 7           # more types than an id can count

cdef struct WireError:
    int code
    uint32_t id                 # of the offending record
    uint32_t value              # the offending word
    size_t word                 # index of the offending word

cdef int wire_index(const uint32_t *words, size_t n_words, uint32_t first_id, size_t base, size_t **offs,
                    uint32_t *n, size_t *cap, Extremes *extremes, WireError *error) noexcept nogil
cdef int wire_check(uint32_t *words, const size_t *offs, uint32_t start, uint32_t n, uint32_t strings,
                    const Extremes *extremes, WireError *error) noexcept nogil
cdef void wire_load(uint32_t *out, const uint8_t *src, size_t n_words, bint swap) noexcept nogil
cdef void wire_store(uint8_t *out, const uint32_t *src, size_t n_words, bint swap) noexcept nogil
cdef void wire_store_header(uint8_t *out, uint32_t type_size, uint32_t string_size, bint swap) noexcept nogil
cdef void wire_swap(uint8_t *words, size_t n_words) noexcept nogil
cdef size_t wire_compact(uint32_t *words, const size_t *offs, uint32_t start, uint32_t n, const uint32_t *map,
                         uint32_t *number) noexcept nogil
