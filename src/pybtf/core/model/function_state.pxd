# What units observed about functions: the mutable counterpart of the function table.

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:                      # State.flags
    S_UNEXPECTED = 1
    S_INCONSISTENT = 2
    S_UNCERTAIN = 4
    S_REORDERED = 8
    S_OPTIMIZED = 16
    S_SIGNATURE_CHANGED = 32

cdef struct State:              # one remembered instance of a function
    uint64_t address
    uint32_t entry              # in the function table
    uint32_t unit               # number of the unit, in order of encoding
    uint32_t proto              # class (KIND_FUNC_PROTO) of its prototype: REC_THIRD return, elements (name, class)
    uint32_t locals             # index into `locals` of return small id, then one small id per element
    uint32_t anns               # index into `anns` of (string id, component) pairs
    uint16_t n_anns
    uint8_t flags
