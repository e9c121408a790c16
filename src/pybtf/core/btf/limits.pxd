# What the words of a record can hold.

from libc.stdint cimport int64_t

cdef enum:
    MAX_VLEN = 65535
    MAX_BITFIELD_OFFSET = 0xFFFFFF      # in bits, of members that have a width


cdef inline bint fits_enum(int64_t value) noexcept nogil:
    """Whether an ENUM can have the value: 32 bits, with or without a sign."""
    return (value >> 32) == 0 or (value >> 31) == -1
