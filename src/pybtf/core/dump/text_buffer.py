"""The rare part of writing text: getting more memory, or saying that there is none (text_buffer.pxd)."""

import cython
from cython.cimports.libc.stdlib import free, realloc
from cython.cimports.pybtf.core.dump.text_buffer import TEXT_LIMIT, TEXT_MEMORY, TEXT_OK, Text


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def text_grow(t: cython.pointer[Text], more: cython.size_t) -> cython.bint:
    """Make room for `more` bytes; 0, and a status, if they cannot or must not be had."""
    cap: cython.size_t = 2 * t.cap if t.cap else 1 << 16
    p: cython.p_char
    if t.status != TEXT_OK:
        return False
    if more > t.limit or t.done + t.n > t.limit - more:
        t.status = TEXT_LIMIT
        return False
    while cap < t.n + more:
        cap *= 2
    if cap > t.limit:
        cap = t.limit
    p = cython.cast(cython.p_char, realloc(t.p, cap))
    if p == cython.NULL:
        t.status = TEXT_MEMORY
        return False
    t.p = p
    t.cap = cap
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def text_free(t: cython.pointer[Text]) -> cython.void:
    free(t.p)
    t.p = cython.NULL
    t.n = t.cap = 0
