# The BTF type record as words (Documentation/bpf/btf.rst): name, info, size or type, then what the kind has.

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.records cimport *

cdef extern from *:
    """
    #define PYBTF_KIND(kind, words) ((uint64_t)(words) << 2 * (kind))
    #define PYBTF_FIXED (PYBTF_KIND(1, 1) | PYBTF_KIND(3, 3) | PYBTF_KIND(14, 1) | PYBTF_KIND(17, 1))
    #define PYBTF_EACH (PYBTF_KIND(4, 3) | PYBTF_KIND(5, 3) | PYBTF_KIND(6, 2) | PYBTF_KIND(13, 2) | \\
                        PYBTF_KIND(15, 3) | PYBTF_KIND(19, 3))
    """
    uint64_t FIXED "PYBTF_FIXED"        # two bits for each kind: INT, VAR and DECL_TAG one word, ARRAY three
    uint64_t EACH "PYBTF_EACH"          # ENUM and FUNC_PROTO two, STRUCT, UNION, DATASEC and ENUM64 three

cdef inline uint32_t wire_kind(const uint32_t *r) noexcept nogil:
    return (r[1] >> 24) & 0x1F

cdef inline uint32_t wire_vlen(const uint32_t *r) noexcept nogil:
    return r[1] & 0xFFFF

cdef inline bint wire_third_is_type(uint32_t kind) noexcept nogil:
    # PTR, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, FUNC_PROTO, VAR, DECL_TAG, TYPE_TAG
    return (0x67F04 >> kind) & 1

cdef inline uint32_t wire_fixed(uint32_t kind) noexcept nogil:
    # words after the first three, whatever vlen says
    return (FIXED >> 2 * kind) & 3 if kind < 32 else 0

cdef inline uint32_t wire_each(uint32_t kind) noexcept nogil:
    # words per element
    return (EACH >> 2 * kind) & 3 if kind < 32 else 0

cdef inline uint32_t wire_named_each(uint32_t kind) noexcept nogil:
    # words per element, if elements begin with a name
    return 0 if kind == KIND_DATASEC else wire_each(kind)

cdef inline uint32_t wire_size(const uint32_t *r) noexcept nogil:
    cdef uint32_t kind = wire_kind(r)
    return 3 + wire_fixed(kind) + wire_each(kind) * wire_vlen(r)
