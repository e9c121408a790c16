"""What stands in the cache of a merge: thousands of payloads of a kernel. The format is in merging/cache.py.

Only heads are read, which lie far apart. None is believed before it has been compared with the size of the file, and
what a head stands for is compared with its digest by whoever takes it.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcmp
from cython.cimports.pybtf.core.support.cursor import HOST_IS_BIG, bswap32
from cython.cimports.pybtf.core.support.mapped_file import read_at
from cython.cimports.pybtf.core.values.stored_payload import BLOCK, DIGEST_BYTES
from cython.cimports.pybtf.core.values.unit_layout import STORED_HEAD

Head = cython.struct(magic=cython.char[4], size=uint32_t, digest=cython.char[DIGEST_BYTES], zero=uint64_t)


@cython.cfunc
@cython.inline
def has_magic(head: cython.pointer[Head], magic: bytes) -> cython.bint:
    return memcmp(cython.address(head.magic[0]), cython.cast(cython.p_char, magic), 4) == 0


def cache_contents(fd: cython.int, start: uint64_t, end: uint64_t, little: cython.bint, payload: bytes, result: bytes):
    """Of the bytes from `start` to `end` of a file: where each payload begins, and how many values it has, by digest;
    where each result is, and its size, by key; and where the last of them ends that is whole. What follows is none: an
    interrupted run has left it. The first four bytes of a payload and of a result are as they stand in the file.
    """
    head: Head
    at: uint64_t = start
    body: uint64_t
    size: uint64_t
    swap: cython.bint = little == HOST_IS_BIG
    payloads: dict = {}
    results: dict = {}
    known: dict
    if len(payload) != 4 or len(result) != 4:
        raise ValueError("a magic is four bytes")
    while end - at >= STORED_HEAD and read_at(
        fd, cython.cast(cython.pointer[uint8_t], cython.address(head)), STORED_HEAD, at
    ):
        size = bswap32(head.size) if swap else head.size
        body = at + STORED_HEAD
        if has_magic(cython.address(head), payload):
            known, place = payloads, at
            body += DIGEST_BYTES * ((size + BLOCK - 1) // BLOCK)
        elif has_magic(cython.address(head), result):
            known, place = results, body
        else:
            break
        body += (size + 7) & ~cython.cast(uint64_t, 7)
        if body > end:
            break
        known[PyBytes_FromStringAndSize(cython.address(head.digest[0]), DIGEST_BYTES)] = place, size
        at = body
    return payloads, results, at
