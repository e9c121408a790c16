"""The index of a linked file, taken apart into its pieces, one per object: thousands in a kernel.

The format is in merging/pieces.py, which also says what is wrong where something is. Nothing is believed before it is
compared with the bytes that are left.
"""

import cython
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython.cimports.cpython.unicode import PyUnicode_DecodeUTF8
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memchr, memcpy, memset
from cython.cimports.pybtf.core.support.cursor import HOST_IS_BIG, Cursor, cur_init, cur_skip, cur_u16, cur_u32, cur_u64
from cython.cimports.pybtf.core.values.stored_payload import BLOCK as BLOCK_BYTES
from cython.cimports.pybtf.core.values.unit_layout import STORED_HEAD as STORED_HEAD_BYTES

HEAD, VERSION, INLINE = cython.declare(cython.int, 80), cython.declare(cython.int, 1), cython.declare(cython.int, 1)
FLAGS = cython.declare(uint32_t, 7)  # INLINE, ONE_UNIT and STRIPPED
MAGIC = cython.declare(uint32_t, 0x31565562)  # "bUV1", read as little-endian

BAD_START, BAD_VERSION, BAD_HEAD, BAD_SIZE, BAD_PADDING, BAD_NAMES = range(6)
"""What `index_pieces` says of bytes that are not a piece."""
BLOCK, STORED_HEAD = BLOCK_BYTES, STORED_HEAD_BYTES

Parts = cython.struct(
    c=Cursor,  # after the head, at the addresses
    size=uint64_t,
    flags=uint32_t,
    units=uint32_t,
    n=uint64_t,  # addresses
    word=uint32_t,  # bytes of each
    options=uint32_t,
    rules=uint32_t,
    digests=cython.p_char,
    payload=uint32_t,
    inline_=uint64_t,  # bytes of the payload that are in the piece
    inline_end=uint64_t,  # where these end
    names=uint64_t,  # bytes of them
    names_end=uint64_t,
)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def zero(p: cython.pointer[cython.const[uint8_t]], n: uint64_t) -> cython.bint:
    i: uint64_t
    for i in range(n):
        if p[i]:
            return False
    return True


@cython.cfunc
def addresses_of(c: cython.pointer[Cursor], n: cython.Py_ssize_t, word: uint32_t):
    """The next `n` of `word` bytes, as 64-bit words in the host's byte order."""
    i: cython.Py_ssize_t
    wide: uint64_t
    out: bytes = PyBytes_FromStringAndSize(cython.NULL, 8 * n)
    to: cython.p_char = PyBytes_AS_STRING(out)
    for i in range(n):
        wide = cur_u64(c) if word == 8 else cur_u32(c)
        memcpy(to + 8 * i, cython.address(wide), 8)
    return memoryview(out).cast("Q")


@cython.cfunc
def names_of(p: cython.pointer[cython.const[uint8_t]], n: cython.Py_ssize_t):
    """`n` bytes, of which the last is NUL."""
    at: cython.Py_ssize_t = 0
    size: cython.Py_ssize_t
    start: cython.p_char
    nul: cython.p_char
    names: list = []
    while at < n:
        start = cython.cast(cython.p_char, p) + at
        nul = cython.cast(cython.p_char, memchr(start, 0, n - at))
        size = nul - start if nul != cython.NULL else n - at  # somebody may be writing to the file
        names.append(PyUnicode_DecodeUTF8(start, size, b"surrogateescape"))
        at += size + 1
    return names


@cython.cfunc
def read_piece(h: cython.pointer[cython.const[uint8_t]], left: uint64_t, swap: cython.bint, p: cython.pointer[Parts]):
    """Read the head of the piece at `h`, and find its parts. None, or a BAD_ number and two numbers found there."""
    c: cython.pointer[Cursor] = cython.address(p.c)
    head: uint32_t
    size: uint64_t
    first: uint64_t
    second: uint64_t
    third: uint64_t
    end: uint64_t
    version: uint32_t
    cur_init(c, h, 0, left, swap)
    if left < HEAD or cur_u32(c) != MAGIC:
        return BAD_START, 0, 0
    version = cur_u16(c)
    if version != VERSION:
        return BAD_VERSION, version, 0
    head = cur_u16(c)
    size = cur_u32(c)
    p.flags = cur_u32(c)
    p.units = cur_u32(c)
    p.n = cur_u32(c)
    p.options = cur_u32(c)
    p.rules = cur_u32(c)
    p.digests = cython.cast(cython.p_char, c.pos)
    cur_skip(c, 32)
    p.payload = cur_u32(c)
    p.names = cur_u32(c)
    p.word = cur_u32(c)
    if head != HEAD or (p.word != 4 and p.word != 8) or p.flags & ~FLAGS or cur_u32(c):
        return BAD_HEAD, 0, 0
    p.inline_ = p.payload if p.flags & INLINE else 0
    # Where the parts end, counted from the piece. Each is padded; all pieces begin at a multiple of 8.
    first = HEAD + p.n * p.word
    second = ((first + 7) & ~cython.cast(uint64_t, 7)) + p.inline_
    third = ((second + 7) & ~cython.cast(uint64_t, 7)) + p.names
    end = (third + 7) & ~cython.cast(uint64_t, 7)
    if end != size or size > left:
        return BAD_SIZE, size, end
    if not (zero(h + first, -first & 7) and zero(h + second, -second & 7) and zero(h + third, -third & 7)):
        return BAD_PADDING, 0, 0
    if p.names == 0 or h[third - 1]:
        return BAD_NAMES, 0, 0
    p.inline_end = second
    p.names_end = third
    p.size = size
    return None


def index_pieces(data, little, kind):
    """Every piece of an index as a `kind`, a tuple of what `Piece` has, and what ends the list: None, or (one of the
    BAD_ numbers, where in the index, what was found there, and a second number).
    """
    where = cython.declare(cython.Py_buffer)
    h: cython.pointer[cython.const[uint8_t]]
    at: uint64_t = 0
    swap: cython.bint = cython.cast(cython.bint, little) == HOST_IS_BIG
    p: Parts
    found: list = []
    memset(cython.address(p), 0, cython.sizeof(Parts))
    view = memoryview(data)
    PyObject_GetBuffer(view, cython.address(where), PyBUF_SIMPLE)
    try:
        while at < cython.cast(uint64_t, where.len):
            h = cython.cast(cython.pointer[cython.const[uint8_t]], where.buf) + at
            if h[0] == 0 and zero(h, min(where.len - at, 8)):
                at += 8
                continue
            bad = read_piece(h, where.len - at, swap, cython.address(p))
            if bad is not None:
                return found, (bad[0], at, bad[1], bad[2])
            path, *files = names_of(h + (p.names_end - p.names), p.names)
            found.append(
                tuple.__new__(
                    kind,
                    (
                        p.flags,
                        p.units,
                        p.options,
                        p.rules,
                        PyBytes_FromStringAndSize(p.digests, 16),
                        PyBytes_FromStringAndSize(p.digests + 16, 16),
                        p.payload,
                        p.word,
                        path,
                        tuple(files),
                        addresses_of(cython.address(p.c), p.n, p.word),
                        view[at + p.inline_end - p.inline_ : at + p.inline_end] if p.inline_ else b"",
                        at,
                    ),
                )
            )
            at += p.size
    finally:
        PyBuffer_Release(cython.address(where))
    return found, None
