"""A payload in an object or a cache, of which no more is read than is asked for.

Of a unit's values a merge needs what stands first: functions, variables, digests of types. Nearly all types have been
met before, so that of the records after it, and of the strings after these, it needs a quarter, block by block. Of
Debian's kernel 6.1 in 2,170 objects 126 MB of 272 are copied and compared with digests.

To be read in parts, a payload is a tree of two levels: each block of its values has a digest, and the digest of these
digests is the one by which the index names the payload. They are stored before the values. So the digests can be
trusted once they have been compared with the index, and a block once it has been compared with its own. Nothing is
looked at before that, in memory that nobody else writes to. A file that changes while it is read is no worse than
one that was changed before.

A block that cannot be read, or that is another, makes the payload *lost*: whoever reads the unit gives it up and looks
for all of the values elsewhere, or says what is wrong (ring.py).
"""

import cython
from cython.cimports.cpython.buffer import PyBUF_READ
from cython.cimports.cpython.bytes import PyBytes_AS_STRING
from cython.cimports.cpython.memoryview import PyMemoryView_FromMemory
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.string import memcmp, memset, strlen
from cython.cimports.pybtf.core.elf.read_section import open_section
from cython.cimports.pybtf.core.support.mapped_file import close_file, open_sized, read_at
from cython.cimports.pybtf.core.support.memory import u8s_free, u8s_reserve
from cython.cimports.pybtf.core.values.stored_payload import *
from cython.cimports.pybtf.core.values.unit_layout import STORED_HEAD

VALUES = cython.declare(cython.p_const_char, b".debug_btf_values")  # `VALUES` of elf/values_index.py
FIRST_PART = cython.declare(uint64_t, 4)  # of a unit: in most, a quarter is before the records


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def stored_close(s: cython.pointer[StoredPayload]) -> cython.void:
    if s.open:
        close_file(s.file)
    s.open = False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def stored_free(s: cython.pointer[StoredPayload]) -> cython.void:
    stored_close(s)
    u8s_free(cython.address(s.bytes))
    u8s_free(cython.address(s.there))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_payload(
    s: cython.pointer[StoredPayload], path: cython.p_const_char, at: uint64_t, size: uint64_t
) -> cython.bint:
    """Opens the file, and finds in it `size` bytes: digests and values, in a section those of the first payload. What
    they are, only digests say. False: there are not so many.
    """
    end: uint64_t = 0
    if at:
        s.at = at
        s.file = open_sized(path, cython.address(end))
        s.open = s.file >= 0
        return s.open and at <= end and size <= end - at
    s.file = open_section(
        path, VALUES, strlen(VALUES), cython.address(s.bytes), cython.address(s.at), cython.address(end)
    )
    s.open = s.file >= 0
    s.at += STORED_HEAD
    return s.open and STORED_HEAD + size <= end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin(
    s: cython.pointer[StoredPayload], blocks: uint64_t, root: cython.pointer[cython.const[uint8_t]], first: uint64_t
) -> cython.bint:
    """Reads the digests of all blocks, and as many blocks as `first`."""
    digests: uint64_t = DIGEST_BYTES * blocks
    part: uint64_t = BLOCK * first if first < blocks else s.size
    s.bytes.n = 0
    s.there.n = 0
    if not u8s_reserve(cython.address(s.bytes), digests + s.size) or not u8s_reserve(cython.address(s.there), blocks):
        return False
    if not read_at(s.file, s.bytes.p, digests + part, s.at):
        return False
    memset(s.there.p, 0, blocks)
    s.values = s.bytes.p + digests
    return compare(s, s.bytes.p, digests, root) and take_blocks(s, 0, first)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def stored_open(
    s: cython.pointer[StoredPayload],
    path: cython.p_const_char,
    at: uint64_t,
    size: uint64_t,
    root: cython.pointer[cython.const[uint8_t]],
    whole: cython.bint,
) -> cython.bint:
    """See `stored_payload.pxd`."""
    blocks: uint64_t = (size + BLOCK - 1) // BLOCK
    first: uint64_t = blocks if whole else (blocks + FIRST_PART - 1) // FIRST_PART
    s.size = size
    s.lost = False
    if size and find_payload(s, path, at, DIGEST_BYTES * blocks + size) and begin(s, blocks, root, first):
        return True
    stored_close(s)
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def stored_bring(s: cython.pointer[StoredPayload], start: uint64_t, n: uint64_t) -> cython.bint:
    """See `stored_payload.pxd`. Blocks that are missing side by side are read together."""
    at: uint64_t = start // BLOCK
    last: uint64_t = (start + n - 1) // BLOCK
    end: uint64_t
    while at <= last and not s.lost:
        end = at
        while end <= last and not s.there.p[end]:
            end += 1
        if end > at:
            s.lost = not read_blocks(s, at, end) or not take_blocks(s, at, end)
        at = end + 1
    return not s.lost


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_blocks(s: cython.pointer[StoredPayload], first: uint64_t, end: uint64_t) -> cython.bint:
    start: uint64_t = BLOCK * first
    stop: uint64_t = BLOCK * end if BLOCK * end < s.size else s.size
    values: uint64_t = cython.cast(uint64_t, s.values - s.bytes.p)
    return read_at(s.file, s.bytes.p + values + start, stop - start, s.at + values + start)


# ---- digests ------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.inline
def has_digest(
    digest, p: cython.pointer[cython.const[uint8_t]], n: uint64_t, wanted: cython.pointer[cython.const[uint8_t]]
) -> cython.bint:
    found: bytes = digest(PyMemoryView_FromMemory(cython.cast(cython.p_char, p), n, PyBUF_READ))
    return len(found) == DIGEST_BYTES and memcmp(PyBytes_AS_STRING(found), wanted, DIGEST_BYTES) == 0


@cython.cfunc
@cython.with_gil
@cython.exceptval(check=False)
def compare(
    s: cython.pointer[StoredPayload],
    p: cython.pointer[cython.const[uint8_t]],
    n: uint64_t,
    wanted: cython.pointer[cython.const[uint8_t]],
) -> cython.bint:
    """Whether bytes have the digest that they should have. False also if there is no memory to tell."""
    try:
        return has_digest(cython.cast(object, s.digest), p, n, wanted)
    except MemoryError:
        return False


@cython.cfunc
@cython.with_gil
@cython.exceptval(check=False)
def take_blocks(s: cython.pointer[StoredPayload], first: uint64_t, end: uint64_t) -> cython.bint:
    """Notes that blocks are there, after each has been compared. False: one is another, or there is no memory to tell.
    """
    i: uint64_t
    n: uint64_t
    try:
        digest = cython.cast(object, s.digest)
        for i in range(first, end):
            n = s.size - BLOCK * i if s.size - BLOCK * i < BLOCK else BLOCK
            if not has_digest(digest, s.values + BLOCK * i, n, s.bytes.p + DIGEST_BYTES * i):
                return False
            s.there.p[i] = 1
    except MemoryError:
        return False
    return True
