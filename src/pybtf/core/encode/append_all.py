"""Units of which all is kept: straight into the list of types, with final ids.

On a base, and where several files make one BTF, no type is dropped before the de-duplication. Then nothing has to wait
for the last unit: the ids of a unit continue where those of the one before end, and an id is the small id plus a
constant. So its records, and the strings in them, are visited once.

On a base, names become offsets in the output here, because those of the base are offsets; otherwise they remain string
ids.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.btf.record_layout import (
    wire_each,
    wire_fixed,
    wire_info,
    wire_kind,
    wire_third_is_type,
    wire_vlen,
)
from cython.cimports.pybtf.core.encode.append_unit import encoder_string
from cython.cimports.pybtf.core.encode.encoder import (
    ENCODE_MEMORY,
    ENCODE_TOO_MANY,
    MAX_TYPES,
    Encoder,
    KeptUnit,
    encoder_fail,
)
from cython.cimports.pybtf.core.model.encoded_unit import UnitValue
from cython.cimports.pybtf.core.strings.string_table import IN_BASE
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.memory import u32s_reserve, u64s_push, u64s_reserve


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def new_name(e: cython.pointer[Encoder], sid: uint32_t) -> uint32_t:
    """Inserts a string that no base has; what stands for it in a record."""
    at: uint32_t = encoder_string(e, sid)
    return sid if e.base == cython.NULL else at


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def name_of(e: cython.pointer[Encoder], sid: uint32_t) -> uint32_t:
    """Inserts a string; what stands for it in a record. That is the offset in the base, if it has the string, and 0 of
    none.
    """
    if 0 < sid < IN_BASE:
        return new_name(e, sid)
    return sid & (IN_BASE - 1)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def shifted(local: uint32_t, by: uint32_t) -> uint32_t:
    """The id of a small id; void remains."""
    return local + by if local else 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def copy_elements(
    e: cython.pointer[Encoder],
    r: cython.pointer[cython.const[uint32_t]],
    to: cython.pointer[uint32_t],
    kind: uint32_t,
    by: uint32_t,
) -> cython.pointer[uint32_t]:
    """Members, enumerators or parameters; see `copy_record`."""
    n: uint32_t = wire_vlen(r)
    r += 3
    if kind == KIND_STRUCT or kind == KIND_UNION:
        while n:
            to[0] = name_of(e, r[0])
            to[1] = shifted(r[1], by)
            to[2] = r[2]
            to += 3
            r += 3
            n -= 1
        return to
    while n:
        to[0] = name_of(e, r[0])
        to[1] = shifted(r[1], by) if kind == KIND_FUNC_PROTO else r[1]
        to += 2
        r += 2
        if kind == KIND_ENUM64:
            to[0] = r[0]
            to += 1
            r += 1
        n -= 1
    return to


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def copy_record(
    e: cython.pointer[Encoder],
    r: cython.pointer[cython.const[uint32_t]],
    to: cython.pointer[uint32_t],
    by: uint32_t,
) -> cython.pointer[uint32_t]:
    """Puts a record at `to`, where there is room, or where it is already, with its names and references, in order, as
    they are in the list; `by` is the difference between ids and small ids. Returns its end.
    """
    kind: uint32_t = wire_kind(r)
    to[0] = name_of(e, r[0])
    to[1] = r[1]
    to[2] = shifted(r[2], by) if wire_third_is_type(kind) else r[2]
    if wire_each(kind):
        return copy_elements(e, r, to + 3, kind, by)
    if kind == KIND_ARRAY:
        to[3] = shifted(r[3], by)
        to[4] = e.index_type
        to[5] = r[5]
        return to + 6
    if wire_fixed(kind):
        to[3] = r[3]
        return to + 4
    return to + 3


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def whole_begin(
    e: cython.pointer[Encoder], s: cython.pointer[KeptUnit], v: cython.pointer[cython.const[UnitValue]]
) -> cython.int:
    """See `append_all.pxd`. A unit brings as many records as it has types, tags and variables, and a few."""
    if e.offs.n + v.n_types > MAX_TYPES:
        return encoder_fail(e, ENCODE_TOO_MANY)
    s.first_id = cython.cast(uint32_t, e.offs.n)
    if e.index_unit == v.number:
        e.index_type = s.first_id + e.index_local - 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def whole_types(
    e: cython.pointer[Encoder],
    s: cython.pointer[cython.const[KeptUnit]],
    v: cython.pointer[cython.const[UnitValue]],
) -> cython.int:
    """See `append_all.pxd`."""
    i: uint32_t
    words: cython.size_t
    to: cython.pointer[uint32_t]
    at: cython.pointer[uint64_t]
    if v.n_types == 1:
        return 0
    words = v.offs.p[v.n_types] - v.offs.p[1]
    if not u32s_reserve(cython.address(e.words), words) or not u64s_reserve(cython.address(e.offs), v.n_types):
        return encoder_fail(e, ENCODE_MEMORY)
    to = e.words.p + e.words.n
    at = e.offs.p + e.offs.n
    for i in range(v.n_types - 1):
        at[i] = to - e.words.p
        to = copy_record(e, v.words.p + v.offs.p[1 + i], to, s.first_id - 1)
    CHECK(to == e.words.p + e.words.n + words, "the records are not as long as was counted")
    e.words.n += words
    e.offs.n += v.n_types - 1
    return e.error


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def whole_small(
    e: cython.pointer[Encoder], name: uint32_t, kind: uint32_t, third: uint32_t, last: uint32_t
) -> cython.int:
    """See `append_all.pxd`. The unit in work is the last of `kept`."""
    r: cython.pointer[uint32_t]
    if e.offs.n > MAX_TYPES:
        return encoder_fail(e, ENCODE_TOO_MANY)
    if not u32s_reserve(cython.address(e.words), 4) or not u64s_push(cython.address(e.offs), e.words.n):
        return encoder_fail(e, ENCODE_MEMORY)
    r = e.words.p + e.words.n
    r[0] = name
    r[1] = wire_info(kind, 0)
    r[2] = third
    r[3] = last
    e.words.n += 4
    copy_record(e, r, r, e.kept[e.n_kept - 1].first_id - 1)
    return e.error
