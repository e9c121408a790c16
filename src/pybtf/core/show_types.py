# cython: annotation_typing=True
"""Types as text for people: structs with their layout, enums, typedefs. The text is that of pahole."""

import cython
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.show_print import put_definition
from cython.cimports.pybtf.core.show_types import (
    SHOW_CYCLE,
    SHOW_DEEP,
    SHOW_EFFORT,
    SHOW_MAX_DEPTH,
    SHOW_MEMORY,
    SHOW_OK,
    Facts,
    Show,
)
from cython.cimports.pybtf.core.textbuffer import TEXT_MEMORY, text_free
from cython.cimports.pybtf.core.typeview import View

FREE_EFFORT = cython.declare(cython.size_t, 1 << 26)
EFFORT_PER_WORD = cython.declare(cython.size_t, 256)

REASONS = {
    SHOW_CYCLE: ("type {id} contains itself", "a pointer between the two"),
    SHOW_DEEP: ("type {id} nests too deeply", f"at most {SHOW_MAX_DEPTH} levels"),
    SHOW_EFFORT: ("the text takes too many steps, or becomes too long, at type {id}", "BTF made by a compiler or encoder"),
}


def show_types(view: View, ids: list) -> list:
    """The texts of these types, one for each."""
    s = cython.declare(Show)
    texts: list = []
    start: cython.size_t
    memset(cython.address(s), 0, cython.sizeof(Show))
    s.v = cython.address(view.v)
    s.effort = FREE_EFFORT + EFFORT_PER_WORD * view.n_words
    s.out.limit = s.effort
    try:
        s.facts = cython.cast(cython.pointer[Facts], calloc(view.v.n, cython.sizeof(Facts)))
        if s.facts == cython.NULL:
            raise MemoryError
        for id in ids:
            if not 0 < id < view.v.n:
                raise IndexError(id)
            start = s.out.n
            put_definition(cython.address(s), id)
            if s.status == SHOW_MEMORY or s.out.status == TEXT_MEMORY:
                raise MemoryError
            if s.status == SHOW_OK and s.out.status:
                s.status = SHOW_EFFORT
                s.bad = id
            if s.status != SHOW_OK:
                found, expected = REASONS[s.status]
                view.fail(s.bad, 0, found.format(id=s.bad), expected)
            texts.append(s.out.p[start : s.out.n])
            s.out.done += s.out.n
            s.out.n = 0
        return texts
    finally:
        text_free(cython.address(s.out))
        free(s.facts)
