# A payload in a file, of which blocks are read when they are asked for (see stored_payload.py).

from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint64_t
from pybtf.core.support.memory cimport U8s

cdef enum:
    BLOCK = 8192                # bytes of values that have a digest of their own, the last ones perhaps fewer
    DIGEST_BYTES = 16           # of a digest, XXH3 of 128 bits

cdef struct StoredPayload:      # scratch of one worker; all zero: none has been opened
    bint open                   # it has been opened, and not closed: `file` is its descriptor
    int file
    uint64_t at                 # where in it the digests are, which the values follow
    uint64_t size               # of the values, in bytes
    U8s bytes                   # digests and values; what of these is not there yet is anything
    U8s there                   # of each block, whether it has been read and compared
    const uint8_t *values
    PyObject *digest            # gives the digest of bytes: a function of Python, which somebody else holds
    bint lost                   # a block cannot be read, or is not what its digest says

# Opens the payload of `size` bytes with the digest `root` in the file at `path`: at `at`, or, if that is 0, in the section of an object
# of which it is the first one. Reads the digests of its blocks, and all that is before the records of most units; or everything, if
# `whole`. False: it is not there, or empty, and nothing is open.
cdef bint stored_open(StoredPayload *s, const char *path, uint64_t at, uint64_t size, const uint8_t *root, bint whole) noexcept nogil

# What `stored_need` does where a block is missing.
cdef bint stored_bring(StoredPayload *s, uint64_t start, uint64_t n) noexcept nogil

cdef inline bint stored_need(StoredPayload *s, uint64_t start, uint64_t n) noexcept nogil:
    # Makes `n` bytes at `start` be there, of the payload that is open and within its size. False: it is lost.
    if n == 0 or (start // BLOCK == (start + n - 1) // BLOCK and s.there.p[start // BLOCK]):
        return True
    return stored_bring(s, start, n)

cdef void stored_close(StoredPayload *s) noexcept nogil
cdef void stored_free(StoredPayload *s) noexcept nogil
