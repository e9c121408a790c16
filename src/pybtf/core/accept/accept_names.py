"""Names as kernels want them. Letters are those of Latin-1, whatever the encoding of the source was."""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.pybtf.core.accept.accept import Layer, text_of

LONG_NAME = cython.declare(uint32_t, 512)
SHORT_NAME = cython.declare(uint32_t, 128)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def is_letter(c: cython.uchar) -> cython.bint:
    if c >= 0xC0:
        return c != 0xD7 and c != 0xF7
    return b"a" <= c <= b"z" or b"A" <= c <= b"Z" or c == b"_"


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def longest(y: cython.pointer[cython.const[Layer]]) -> uint32_t:
    return LONG_NAME if y.version >= 601 else SHORT_NAME


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_identifier(y: cython.pointer[cython.const[Layer]], offset: uint32_t, dots: cython.bint) -> cython.bint:
    """`dots`: whether they count as letters before 6.4, too. An empty name is none."""
    s: cython.pointer[cython.const[cython.uchar]] = cython.cast(
        cython.pointer[cython.const[cython.uchar]], text_of(y, offset)
    )
    i: uint32_t
    limit: uint32_t = longest(y)
    dots = dots or y.version >= 604
    if not (is_letter(s[0]) or (dots and s[0] == b".")):
        return False
    for i in range(1, limit + 1):
        if s[i] == 0:
            return True
        if not (is_letter(s[i]) or b"0" <= s[i] <= b"9" or (dots and s[i] == b".")):
            return False
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_printable(y: cython.pointer[cython.const[Layer]], offset: uint32_t) -> cython.bint:
    """As names of sections are, since 6.9."""
    s: cython.pointer[cython.const[cython.uchar]] = cython.cast(
        cython.pointer[cython.const[cython.uchar]], text_of(y, offset)
    )
    i: uint32_t
    limit: uint32_t = longest(y)
    if s[0] == 0:
        return False
    for i in range(limit + 1):
        if s[i] == 0:
            return True
        if not (0x20 <= s[i] <= 0x7E or s[i] >= 0xA0):
            return False
    return False
