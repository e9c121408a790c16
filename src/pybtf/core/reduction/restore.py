"""Types of a unit that are kept in addition, made from their classes.

refine.py may find that a unit has the first pointer to a struct that it only declares, say, while an earlier unit has
kept one to the definition. A unit of which no more than that is missing need not be decoded again. The class of a type
has all of its words, but for the small ids of what it refers to. These are found in the class list of the unit: a
reference to a class is to the type of that class, and one to a name is to the type that declares or defines it there.

If the unit has two types to which a reference could be, this does not say which one it is. Then the unit is decoded
again; also if a type is of a kind that refers to nothing, or there are so many references that decoding is quicker, as
each is looked for in the whole unit.

What is kept of a unit is a part of three lists of the encoder: `n` entries from `first` on of `starts` and `locals`, a
type's place in `kept_words` and its small id, in the order of small ids. These parts have no room to grow. So what is
made goes to the end of the lists, and then all that the unit has, old and new, once more after that, in order. What
is left unused is freed with the lists.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.btf.record_layout import (
    wire_each,
    wire_has_typed_elements,
    wire_size,
    wire_third_is_type,
)
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.append_unit import insert_names
from cython.cimports.pybtf.core.encode.encoder import Encoder, KeptUnit
from cython.cimports.pybtf.core.reduction.analysis import *
from cython.cimports.pybtf.core.reduction.restore import *
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.memory import U32s, u32s_push, u32s_reserve, u64s_push, u64s_reserve

NOWHERE = cython.declare(uint32_t, 0xFFFFFFFF)
MOST = cython.declare(uint32_t, 64)  # types that are made in a unit, and their members and parameters, together
LARGEST = cython.declare(uint32_t, 6 + 3 * MOST)  # words of one of them: an array has 6, and a member 3


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def local_of(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], t: cython.pointer[KeptUnit], to: uint32_t
) -> uint32_t:
    """The small id of the only type of a unit that a reference to class or key `to` can be to; NOWHERE: there is none,
    or more than one.
    """
    p: cython.pointer[uint32_t] = e.class_list.p + t.classes
    key: cython.bint
    i: uint32_t
    c: uint32_t
    found: uint32_t = NOWHERE
    if to == 0:
        return 0
    key = is_key(class_record(e.classes, to))
    for i in range(1, t.n_types):
        c = class_of_entry(e, a, p[i])
        if (a.key[c] if key else c) == to:
            if found != NOWHERE:
                return NOWHERE
            found = i
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def make_record(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], t: cython.pointer[KeptUnit], c: uint32_t
) -> cython.int:
    """Appends the record of the type of class `c` that a unit has to `kept_words`. RESTORE_*."""
    w: cython.pointer[cython.const[uint32_t]] = class_record(e.classes, c)
    kind: uint32_t = record_kind(w)
    each: uint32_t = wire_each(kind)
    typed: cython.bint = wire_has_typed_elements(kind)
    k: uint32_t
    n: uint32_t
    third: uint32_t = w[REC_THIRD]
    r: cython.pointer[uint32_t]
    if not (kind == KIND_ARRAY or wire_third_is_type(kind) or typed):
        return RESTORE_NOT
    if not u32s_reserve(cython.address(e.kept_words), LARGEST):
        return RESTORE_MEMORY
    if kind == KIND_ARRAY or wire_third_is_type(kind):
        third = local_of(e, a, t, third)
        if third == NOWHERE:
            return RESTORE_NOT
    r = e.kept_words.p + e.kept_words.n
    r[0] = w[REC_NAME]
    r[1] = w[REC_KIND] & cython.cast(uint32_t, 0x80000000) | kind << 24 | w[REC_COUNT]
    r[2] = third
    if kind == KIND_ARRAY:
        r[2] = 0
        r[3] = third
        r[4] = 0  # the index type, when the list is assembled
        r[5] = w[REC_HEAD]
    CHECK(wire_size(r) <= LARGEST, "a type that is made has more members than were counted")
    e.kept_words.n += wire_size(r)
    if not typed:
        return RESTORED
    n = w[REC_COUNT]
    w += REC_HEAD
    for k in range(n):
        r[3 + each * k] = w[each * k]
        third = local_of(e, a, t, w[each * k + 1])
        if third == NOWHERE:
            return RESTORE_NOT
        r[4 + each * k] = third
        if each == 3:
            r[5 + 3 * k] = w[3 * k + 2]
    return RESTORED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def make_records(
    e: cython.pointer[Encoder],
    a: cython.pointer[Analysis],
    t: cython.pointer[KeptUnit],
    more: cython.pointer[cython.const[U32s]],
) -> cython.int:
    """Appends the records of these types. RESTORE_*."""
    i: cython.size_t
    c: uint32_t
    status: cython.int
    references: uint64_t = 0
    for i in range(more.n):
        c = class_of_entry(e, a, e.class_list.p[t.classes + more.p[i]])
        references += 1 + class_record(e.classes, c)[REC_COUNT]
        if references > MOST:
            return RESTORE_NOT
        if not u64s_push(cython.address(e.starts), e.kept_words.n) or not u32s_push(
            cython.address(e.locals), more.p[i]
        ):
            return RESTORE_MEMORY
        status = make_record(e, a, t, c)
        if status != RESTORED:
            return status
    return RESTORED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def restore(
    e: cython.pointer[Encoder],
    a: cython.pointer[Analysis],
    more: cython.pointer[cython.const[U32s]],
    u: uint32_t,
) -> cython.int:
    """See restore.pxd. What was kept of the unit and what is made are merged after both, in the order of small ids."""
    t: cython.pointer[KeptUnit] = cython.address(e.kept[u])
    made: uint64_t = e.starts.n
    words: cython.size_t = e.kept_words.n
    old: uint64_t = t.first
    end: uint64_t = t.first + t.n
    at: uint64_t = made
    last: uint64_t = made + more.n
    from_: uint64_t
    status: cython.int = make_records(e, a, t, more)
    if status == RESTORED and not (
        u64s_reserve(cython.address(e.starts), t.n + more.n) and u32s_reserve(cython.address(e.locals), t.n + more.n)
    ):
        status = RESTORE_MEMORY
    if status != RESTORED:
        e.starts.n = e.locals.n = made
        e.kept_words.n = words
        return status
    while at < last:
        insert_names(e, e.kept_words.p + e.starts.p[at])
        at += 1
    at = made
    t.first = e.starts.n
    while old < end or at < last:
        if old < end and (at == last or e.locals.p[old] < e.locals.p[at]):
            from_ = old
            old += 1
        else:
            from_ = at
            at += 1
        e.starts.p[e.starts.n] = e.starts.p[from_]
        e.locals.p[e.locals.n] = e.locals.p[from_]
        e.starts.n += 1
        e.locals.n += 1
    t.n = cython.cast(uint32_t, e.starts.n - t.first)
    return RESTORED
