"""All types, or some, as bpftool's raw and JSON dumps: written in pieces, so that no text is held whole."""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.type_view import TypeView, View
from cython.cimports.pybtf.core.dump.dump_json import Json, json_begin, json_end, json_type
from cython.cimports.pybtf.core.dump.dump_raw import raw_type
from cython.cimports.pybtf.core.dump.text_buffer import TEXT_LIMIT, TEXT_OK, Text, text_free
from cython.cimports.pybtf.core.support.memory import U32s, u32s_free, u32s_push

from pybtf.errors import InputError, Place

PIECE = cython.declare(cython.size_t, 1 << 18)
FREE_TEXT = cython.declare(cython.size_t, 1 << 28)  # how long a text may be, whatever the size of the BTF
TEXT_PER_WORD = cython.declare(cython.size_t, 1 << 10)
# The same of one type, which is held whole: a section has the name of each variable as often as that is listed.
FREE_AT_ONCE = cython.declare(cython.size_t, 1 << 26)
AT_ONCE_PER_WORD = cython.declare(cython.size_t, 1 << 6)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def some(
    v: cython.pointer[cython.const[TypeView]],
    j: cython.pointer[Json],
    json: cython.bint,
    ids: cython.pointer[U32s],
    at: uint32_t,
    end: uint32_t,
) -> uint32_t:
    """Write types until there is a piece, or none is left; the next one. `ids` has them, if they are chosen."""
    id: uint32_t
    while at < end and j.t.n < PIECE and j.t.status == TEXT_OK:
        id = ids.p[at] if ids.n else at
        if json:
            json_type(j, id)
        else:
            raw_type(v, j.t, id)
        at += 1
    return at


def dump_types(view: View, write: object, chosen: object = (), json: cython.bint = False, pretty: cython.bint = False):
    """Pass the text to `write`, as bytes, piece by piece: of the types with these ids; of all but the base's, if none.

    Raises `InputError` if the text gets out of all proportion to the BTF.
    """
    ids = cython.declare(U32s)
    t = cython.declare(Text)
    j = cython.declare(Json)
    at: uint32_t = view.v.first_own
    end: uint32_t = view.v.n
    most: cython.size_t = FREE_TEXT + TEXT_PER_WORD * view.n_words
    memset(cython.address(ids), 0, cython.sizeof(U32s))
    memset(cython.address(t), 0, cython.sizeof(Text))
    memset(cython.address(j), 0, cython.sizeof(Json))
    t.limit = most
    j.v = cython.address(view.v)
    j.t = cython.address(t)
    j.pretty = pretty
    try:
        for id in chosen:
            if not 0 < id < view.v.n:
                raise IndexError(id)
            if not u32s_push(cython.address(ids), id):
                raise MemoryError
        if ids.n:
            at, end = 0, ids.n
        if json:
            json_begin(cython.address(j))
        while at < end and t.status == TEXT_OK:
            t.limit = min(most, t.done + FREE_AT_ONCE + AT_ONCE_PER_WORD * view.n_words)
            with cython.nogil:
                at = some(cython.address(view.v), cython.address(j), json, cython.address(ids), at, end)
            if t.status == TEXT_OK and t.done + t.n > t.limit:
                t.status = TEXT_LIMIT
            if t.status != TEXT_OK:  # there are gaps in the text
                break
            write(t.p[: t.n])
            t.done += t.n
            t.n = 0
        if json and t.status == TEXT_OK:
            json_end(cython.address(j))
            write(t.p[: t.n])
        if t.status == TEXT_LIMIT:
            found = f"a text of more than {t.limit} bytes, because of strings that many types share"
            raise InputError(Place(view.name), found, "BTF made by a compiler or encoder")
        if t.status != TEXT_OK:
            raise MemoryError
    finally:
        text_free(cython.address(t))
        u32s_free(cython.address(ids))
