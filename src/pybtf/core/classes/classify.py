"""From the types of a unit to their classes (class_table.py says what a class is).

A type is described when everything it refers to has a class, or is named and so has a key. The order is depth first
along references without names; a struct may come back to itself only by a name, so there are no cycles except in
broken or very odd input, which gets classes of its own.

Where everything is kept (modules on a base), classes decide nothing but whether prototypes match. Then only the names
of types are interned here, and a type is described when a prototype refers to it (`sparse`).

Three million types pass through here in a kernel, and nearly all are repeats. So records are looked up with names not
interned, and in the order in which they came before (lazy_names.py, record_cache.py).
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint32_t
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.btf.record_layout import (
    W_EXTRA,
    wire_each,
    wire_fixed,
    wire_has_typed_elements,
    wire_kind,
    wire_third_is_type,
    wire_vlen,
)
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.classes.class_table import class_intern
from cython.cimports.pybtf.core.classes.classify import *
from cython.cimports.pybtf.core.classes.intern_names import intern_names
from cython.cimports.pybtf.core.classes.plain_names import has_plain_names, plain_names
from cython.cimports.pybtf.core.classes.record_cache import (
    Seen,
    is_record,
    same_words,
    seen_add,
    seen_find,
    seen_follow,
    seen_follower,
    seen_other,
)
from cython.cimports.pybtf.core.model.encoded_unit import UnitValue
from cython.cimports.pybtf.core.model.faults import FAULT_MEMORY, FAULT_SHARED, IN_INFO, IN_STR, fault_set
from cython.cimports.pybtf.core.strings.lazy_names import NAMES_EMPTY, NAMES_LONG, NAMES_OK, Names, names_intern
from cython.cimports.pybtf.core.support.check import CHECK, CHECKED
from cython.cimports.pybtf.core.support.hashing import hash_words
from cython.cimports.pybtf.core.support.memory import prefetch, u32s_free, u32s_push, u32s_reserve

PENDING = cython.declare(uint32_t, 0xFFFFFFFE)  # class of a type whose record is being made


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def classifier_free(c: cython.pointer[Classifier]) -> cython.void:
    u32s_free(cython.address(c.record))
    u32s_free(cython.address(c.stack))
    u32s_free(cython.address(c.interned))
    u32s_free(cython.address(c.twice))
    u32s_free(cython.address(c.stands))
    u32s_free(cython.address(c.renamed))


# ---- one record ---------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fail(c: cython.pointer[Classifier], why: cython.int) -> uint32_t:
    """Notes why the unit has failed; the first reason counts."""
    if not c.failed:
        c.failed = why
    return NO_CLASS


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def names_settled(c: cython.pointer[Classifier], status: cython.int) -> cython.bint:
    """What the settling of names came to. False: `c.failed`."""
    if status == NAMES_OK:
        return True
    if status == NAMES_EMPTY:
        fail(c, CLASSIFY_EMPTY)
    else:
        fail(c, CLASSIFY_NAMES if status == NAMES_LONG else CLASSIFY_MEMORY)
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def make_plain(
    c: cython.pointer[Classifier],
    kind: uint32_t,
    name: cython.pointer[uint32_t],
    elements: cython.pointer[uint32_t],
    n: uint32_t,
) -> cython.bint:
    """Replaces names of a type, and of its `n` elements, that kernels refuse. False: `c.failed`."""
    names: cython.pointer[Names] = c.names
    step: uint32_t = wire_each(kind)
    if not has_plain_names(kind):
        return True
    if plain_names(names.strings, cython.address(c.renamed), name, 1, 1) and (
        step == 0 or plain_names(names.strings, cython.address(c.renamed), elements, n, step)
    ):
        return True
    fail(c, CLASSIFY_MEMORY)
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def class_of_new(
    c: cython.pointer[Classifier], record: cython.pointer[cython.const[uint32_t]], n: uint32_t
) -> uint32_t:
    """The class of a record that has not been met in these words; NO_CLASS: `c.failed`."""
    made: uint32_t
    r: cython.pointer[uint32_t]
    step: uint32_t = wire_each(record_kind(record))
    c.interned.n = 0
    if not u32s_reserve(cython.address(c.interned), n):
        return fail(c, CLASSIFY_MEMORY)
    r = c.interned.p
    memcpy(r, record, n * cython.sizeof(uint32_t))
    if not names_settled(c, names_intern(c.names, r + REC_NAME, 1, 1)):
        return NO_CLASS
    if step and not names_settled(c, names_intern(c.names, r + REC_HEAD, r[REC_COUNT], step)):
        return NO_CLASS
    if c.plain and not make_plain(c, record_kind(r), r + REC_NAME, r + REC_HEAD, r[REC_COUNT]):
        return NO_CLASS
    made = class_intern(c.classes, r, n)
    return fail(c, CLASSIFY_MEMORY) if made == NO_CLASS else made


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def class_of_other(
    c: cython.pointer[Classifier], record: cython.pointer[cython.const[uint32_t]], n: uint32_t
) -> uint32_t:
    """The class of a record with name words that has not followed the last one before; NO_CLASS: `c.failed`."""
    h: uint32_t = cython.cast(uint32_t, hash_words(record, n) >> 16)
    made: uint32_t
    s: cython.pointer[Seen] = seen_find(c.seen, h, record, n)
    if s == cython.NULL:
        made = class_of_new(c, record, n)
        if made == NO_CLASS:
            return NO_CLASS
        s = seen_add(c.seen, h, record, n, made)
        if s == cython.NULL:
            return fail(c, CLASSIFY_MEMORY)
    if not c.unguided:
        seen_follow(c.last, s)
        c.last = s
    return s.class_


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def class_of(c: cython.pointer[Classifier], record: cython.pointer[cython.const[uint32_t]], n: uint32_t) -> uint32_t:
    """The class of a record with name words; NO_CLASS: `c.failed`."""
    s: cython.pointer[Seen] = seen_follower(c.last)
    if s == cython.NULL or not is_record(s, record, n):
        s = seen_other(c.last)
        if s == cython.NULL or not is_record(s, record, n):
            return class_of_other(c, record, n)
        seen_follow(c.last, s)
    c.last = s
    prefetch(seen_follower(s))
    return s.class_


# ---- references ---------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def key_kind(r: cython.pointer[cython.const[uint32_t]]) -> uint32_t:
    """The kind of key that stands for references to a type, 0 if its class does."""
    kind: uint32_t = wire_kind(r)
    if kind == KIND_FWD:
        return KIND_KEY_UNION if r[1] >> 31 else KIND_KEY_STRUCT
    return key_of_kind(kind) if r[0] else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_twice(c: cython.pointer[Classifier], v: cython.pointer[UnitValue], key: uint32_t) -> cython.bint:
    """Notes whether the unit has a struct or union of this key already. False: no memory."""
    size: cython.size_t
    if key >= c.twice.n:
        size = cython.cast(cython.size_t, key) + 4096
        if not u32s_reserve(cython.address(c.twice), size - c.twice.n):
            return False
        memset(c.twice.p + c.twice.n, 0, (size - c.twice.n) * cython.sizeof(uint32_t))
        c.twice.n = size
    if c.twice.p[key] == v.number + 1 and not u32s_push(cython.address(v.twice), key):
        return False
    c.twice.p[key] = v.number + 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def key(c: cython.pointer[Classifier], v: cython.pointer[UnitValue], id: uint32_t, kind: uint32_t) -> uint32_t:
    """The key of a named type, from now on what references to it stand for; NO_CLASS: `c.failed`."""
    record: uint32_t[4]
    made: uint32_t
    record[REC_KIND] = kind
    record[REC_NAME] = v.words.p[v.offs.p[id]]
    record[REC_THIRD] = 0
    record[REC_COUNT] = 0
    made = class_of(c, record, REC_HEAD)
    if made == NO_CLASS:
        return NO_CLASS
    c.stands.p[id] = made
    if (kind == KIND_KEY_STRUCT or kind == KIND_KEY_UNION) and not c.sparse and not note_twice(c, v, made):
        return fail(c, CLASSIFY_MEMORY)
    return made


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_reference(c: cython.pointer[Classifier], v: cython.pointer[UnitValue], id: uint32_t) -> uint32_t:
    """What a reference to `id` stands for, when `c.stands` does not know; 0 if `id` has to be described first."""
    record: uint32_t[4]
    made: uint32_t
    kind: uint32_t = key_kind(v.words.p + v.offs.p[id])
    if kind:
        return key(c, v, id, kind)
    if v.classes.p[id] != PENDING:
        return 0
    # The type reaches itself without passing a name: no class can describe it. It gets one of its own, which says what
    # prototypes are compared by (prototype_match.py).
    v.irregular = True
    kind = wire_kind(v.words.p + v.offs.p[id])
    record[REC_KIND] = KIND_CYCLE
    record[REC_NAME] = v.number
    record[REC_THIRD] = id
    record[REC_COUNT] = kind
    made = class_intern(c.classes, record, REC_HEAD)
    if made != NO_CLASS and kind == KIND_TYPEDEF:
        record[REC_KIND] = KIND_TYPEDEF
        record[REC_NAME] = v.words.p[v.offs.p[id]]
        record[REC_THIRD] = made
        record[REC_COUNT] = 0
        return class_of(c, record, REC_HEAD)
    return fail(c, CLASSIFY_MEMORY) if made == NO_CLASS else made


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def reference(c: cython.pointer[Classifier], v: cython.pointer[UnitValue], id: uint32_t) -> uint32_t:
    """What a reference to `id`, not 0, stands for; 0 if that is not known yet."""
    made: uint32_t = c.stands.p[id]
    return made if made != UNKNOWN else first_reference(c, v, id)


# ---- describing ---------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def name_first(c: cython.pointer[Classifier], v: cython.pointer[UnitValue], id: uint32_t) -> cython.int:
    """A type with a name gets its key before it is described, unless it has been referred to. Nonzero: `c.failed`."""
    kind: uint32_t
    if c.stands.p[id] == UNKNOWN:
        kind = key_kind(v.words.p + v.offs.p[id])
        if kind:
            key(c, v, id, kind)
    return c.failed


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def push(c: cython.pointer[Classifier], v: cython.pointer[UnitValue], id: uint32_t) -> cython.int:
    """Puts `id` on the stack. Nonzero: `c.failed`."""
    if not u32s_reserve(cython.address(c.stack), 2):
        fail(c, CLASSIFY_MEMORY)
        return 1
    c.stack.p[c.stack.n] = id
    c.stack.p[c.stack.n + 1] = 0
    c.stack.n += 2
    v.classes.p[id] = PENDING
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def unknown(c: cython.pointer[Classifier], v: cython.pointer[UnitValue]) -> uint32_t:
    """Goes on through the references of the topmost type, to one that has to be described first; 0: there is none."""
    top: cython.pointer[uint32_t] = c.stack.p + c.stack.n - 2
    r: cython.pointer[uint32_t] = v.words.p + v.offs.p[top[0]]
    kind: uint32_t = wire_kind(r)
    n: uint32_t = wire_vlen(r)
    stands: cython.pointer[cython.const[uint32_t]] = c.stands.p
    step: uint32_t
    i: uint32_t
    to: uint32_t = 0
    if top[1] == 0:
        if kind == KIND_ARRAY:
            to = r[3]
        elif wire_third_is_type(kind):
            to = r[2]
        if to and reference(c, v, to) == 0:
            return to
        top[1] = 1
    if not wire_has_typed_elements(kind):
        return 0
    step = wire_each(kind)
    r += W_EXTRA + 1 + step * (top[1] - 1)
    for i in range(top[1] - 1, n):
        to = r[0]
        if stands[to] == UNKNOWN and first_reference(c, v, to) == 0:
            top[1] = i + 1
            return to
        r += step
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def describe(c: cython.pointer[Classifier], v: cython.pointer[UnitValue], id: uint32_t) -> uint32_t:
    """Makes the record of `id`, all of whose references stand for something, in `c.record`. Its words; 0: no memory."""
    r: cython.pointer[uint32_t] = v.words.p + v.offs.p[id]
    kind: uint32_t = wire_kind(r)
    n: uint32_t = wire_vlen(r)
    each: uint32_t = wire_each(kind)
    size: uint32_t = record_size(r)
    third: uint32_t = r[3] if kind == KIND_ARRAY else r[2]
    i: uint32_t
    out: cython.pointer[uint32_t]
    c.record.n = 0
    if not u32s_reserve(cython.address(c.record), size):
        fail(c, CLASSIFY_MEMORY)
        return 0
    out = c.record.p
    if third and (kind == KIND_ARRAY or wire_third_is_type(kind)):
        third = reference(c, v, third)
    out[REC_KIND] = record_info(r)
    out[REC_NAME] = r[0]
    out[REC_THIRD] = third
    out[REC_COUNT] = n
    out += REC_HEAD
    if wire_fixed(kind):
        out[0] = r[5] if kind == KIND_ARRAY else r[3]
    memcpy(out, r + 3, each * n * cython.sizeof(uint32_t))
    if wire_has_typed_elements(kind):
        for i in range(n):
            if out[1]:
                out[1] = reference(c, v, out[1])
            out += each
    return size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_order(r: cython.pointer[cython.const[uint32_t]], class_: uint32_t) -> cython.void:
    """Classes that a record refers to have smaller ids than its own: one pass upwards sees targets first."""
    kind: uint32_t = record_kind(r)
    step: uint32_t = 2 if kind == KIND_FUNC_PROTO else 3
    i: uint32_t
    if kind == KIND_ARRAY or wire_third_is_type(kind):
        CHECK(r[REC_THIRD] < class_, "a class refers to one that is not older")
    if kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_FUNC_PROTO:
        for i in range(r[REC_COUNT]):
            CHECK(r[REC_HEAD + step * i + 1] < class_, "a class has a member whose class is not older")


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def guessed(
    c: cython.pointer[Classifier], r: cython.pointer[cython.const[uint32_t]]
) -> cython.pointer[Seen]:
    """The record of the type `r`, if it is among those that are expected to come now; else NULL."""
    s: cython.pointer[Seen] = seen_follower(c.last)
    if s == cython.NULL or record_is(s.words, r, c.stands.p):
        return s
    s = seen_other(c.last)
    if s == cython.NULL or not record_is(s.words, r, c.stands.p):
        return cython.NULL
    seen_follow(c.last, s)
    return s


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def set_class(
    c: cython.pointer[Classifier], v: cython.pointer[UnitValue], id: uint32_t, class_: uint32_t
) -> cython.void:
    """A type has got its class, for which references to it stand, unless they stand for a key."""
    v.classes.p[id] = class_
    if c.stands.p[id] == UNKNOWN:
        c.stands.p[id] = class_


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def take(
    c: cython.pointer[Classifier], v: cython.pointer[UnitValue], id: uint32_t, s: cython.pointer[Seen]
) -> cython.void:
    """A type gets the class of the record that was expected, which is its own."""
    size: uint32_t
    if CHECKED:
        size = describe(c, v, id)
        CHECK(size == 0 or same_words(s.words, c.record.p, size), "a type is taken for one with another record")
        check_order(s.words, s.class_)
    c.last = s
    prefetch(seen_follower(s))
    set_class(c, v, id, s.class_)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def at_once(c: cython.pointer[Classifier], v: cython.pointer[UnitValue], id: uint32_t) -> cython.bint:
    """Gives a type its class, if it is the one that is expected. Then everything that it refers to is known, as nothing
    that is unknown equals what a record has; but what reaches itself is not known to `stands`.
    """
    s: cython.pointer[Seen] = cython.NULL if v.irregular else seen_follower(c.last)
    if s == cython.NULL or not record_is(s.words, v.words.p + v.offs.p[id], c.stands.p):
        return False
    take(c, v, id, s)
    return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def finish(c: cython.pointer[Classifier], v: cython.pointer[UnitValue]) -> cython.void:
    """The topmost type, all of whose references stand for something, gets its class. No record is made of it if it has
    one of those that are expected.
    """
    id: uint32_t = c.stack.p[c.stack.n - 2]
    size: uint32_t
    made: uint32_t
    s: cython.pointer[Seen] = cython.NULL if v.irregular else guessed(c, v.words.p + v.offs.p[id])
    c.stack.n -= 2
    if s != cython.NULL:
        take(c, v, id, s)
        return
    size = describe(c, v, id)
    made = class_of_other(c, c.record.p, size) if size else NO_CLASS
    if CHECKED and made != NO_CLASS:
        check_order(c.record.p, made)
    set_class(c, v, id, made)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def classify_deep(c: cython.pointer[Classifier], v: cython.pointer[UnitValue], id: uint32_t) -> cython.int:
    """Gives `id`, which is not what is expected, and first everything it refers to, a class. Nonzero: `c.failed`."""
    need: uint32_t
    tried: cython.bint = True  # whether the topmost type is what is expected
    if push(c, v, id):
        return 1
    while c.stack.n:
        if not tried and at_once(c, v, c.stack.p[c.stack.n - 2]):
            c.stack.n -= 2
            continue
        need = unknown(c, v)
        if c.failed:
            return 1
        tried = False
        if need == 0:
            finish(c, v)
        elif name_first(c, v, need):
            return 1
        elif not at_once(c, v, need):
            if push(c, v, need):
                return 1
            tried = True
        if c.failed:
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def classify(c: cython.pointer[Classifier], v: cython.pointer[UnitValue], id: uint32_t) -> cython.int:
    """Gives `id`, and first everything it refers to, a class. Nonzero: `c.failed`.

    Most types are what is expected, so that is tried first: then their references need not be looked at one by one.
    """
    if name_first(c, v, id):
        return 1
    return 0 if at_once(c, v, id) else classify_deep(c, v, id)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def classify_fault(c: cython.pointer[cython.const[Classifier]], v: cython.pointer[UnitValue]) -> cython.int:
    """Makes `c.failed` the fault of the unit; an empty name is none, the unit is to be decoded again. Nonzero."""
    if c.failed == CLASSIFY_MEMORY:
        fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, v.offset, 0, 0)
    elif c.failed == CLASSIFY_NAMES:
        fault_set(cython.address(v.fault), FAULT_SHARED, IN_STR, v.offset, 0, cython.cast(int64_t, c.names.bytes))
    return c.failed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def class_of_new_ref(c: cython.pointer[Classifier], v: cython.pointer[UnitValue], id: uint32_t) -> uint32_t:
    """See `class_of_ref`."""
    made: uint32_t = reference(c, v, id)
    if made == 0 and not c.failed:  # `id` is not that of void
        classify(c, v, id)
        made = c.stands.p[id]
    return NO_CLASS if c.failed else made


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def classify_begin(c: cython.pointer[Classifier], v: cython.pointer[UnitValue]) -> cython.bint:
    """See `classify.pxd`."""
    c.failed = 0
    c.stack.n = 0
    c.stands.n = 0
    v.classes.n = 0
    v.twice.n = 0
    v.irregular = False
    if not u32s_reserve(cython.address(c.stands), v.n_types) or not u32s_reserve(cython.address(v.classes), v.n_types):
        return False
    memset(c.stands.p, 0xFF, v.n_types * cython.sizeof(uint32_t))  # UNKNOWN
    c.stands.p[0] = 0
    memset(v.classes.p, 0, v.n_types * cython.sizeof(uint32_t))
    v.classes.n = v.n_types
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def classify_unit(c: cython.pointer[Classifier], v: cython.pointer[UnitValue]) -> cython.int:
    """Fills `v.classes` from `v.words`, or if sparse interns the names in these.

    Nonzero: `c.failed`, and a fault in the value unless it is CLASSIFY_EMPTY.
    """
    i: uint32_t
    if not classify_begin(c, v):
        return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, v.offset, 0, 0)
    if c.sparse:
        intern_names(c, v)
        return classify_fault(c, v) if c.failed else 0
    for i in range(1, v.n_types):
        if v.classes.p[i] == 0 and classify(c, v, i):
            break
    return classify_fault(c, v) if c.failed else 0
