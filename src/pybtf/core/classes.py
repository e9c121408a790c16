# cython: annotation_typing=True
"""Classes: the same type met in two units gets the same number, without asking which other types it reaches.

The units of a kernel describe the same few ten thousand types thousands of times. A *class record* (records.pxd) is the
content of a type in which every reference is replaced by the class of its target, and a reference to a named struct
or union by a key of its kind and name, so that the description of a type ends at the names it mentions and there are
no cycles. Equal records get one id, in a table that all workers share: this is hash-consing, exact by comparison.

What classes decide: whether prototypes of two units match (functions.py compares nothing below a struct's name), and
which types of a unit bring nothing new (encoder.py).

Look-ups take no lock, as in strings.py: a record is complete before its id is published.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memcmp, memcpy, memset
from cython.cimports.pybtf.core.classes import Classifier
from cython.cimports.pybtf.core.faults import FAULT_MEMORY, IN_INFO, fault_set
from cython.cimports.pybtf.core.hashing import hash_words, load_acquire, lock, store_release, unlock
from cython.cimports.pybtf.core.memory import room, u32s_push, u32s_reserve
from cython.cimports.pybtf.core.records import *
from cython.cimports.pybtf.core.value import UnitValue
from cython.cimports.pybtf.core.wirekinds import wire_each, wire_fixed, wire_kind, wire_third_is_type, wire_vlen

BLOCK_WORDS = cython.declare(cython.size_t, 65536)
PENDING = cython.declare(uint32_t, 0xFFFFFFFE)  # class of a type whose record is being made
PREFIX = cython.declare(cython.int, 2)  # words in front of a record: next id of the bucket, hash


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def classes_new(expected: cython.size_t) -> cython.pointer[ClassTable]:
    """An empty table with buckets for about `expected` classes, or NULL."""
    t: cython.pointer[ClassTable] = cython.cast(cython.pointer[ClassTable], calloc(1, cython.sizeof(ClassTable)))
    buckets: cython.size_t = 1024
    if t == cython.NULL:
        return cython.NULL
    while buckets < expected and buckets < (1 << 21):
        buckets *= 2
    t.mask = cython.cast(uint32_t, buckets - 1)
    t.heads = cython.cast(cython.pointer[uint32_t], calloc(buckets, cython.sizeof(uint32_t)))
    t.records = cython.cast(
        cython.pointer[cython.pointer[cython.pointer[uint32_t]]], calloc(CLASS_CHUNKS, cython.sizeof(cython.p_void))
    )
    if t.heads == cython.NULL or t.records == cython.NULL:
        classes_delete(t)
        return cython.NULL
    t.n = 1
    return t


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def classes_delete(t: cython.pointer[ClassTable]) -> cython.void:
    i: uint32_t
    if t == cython.NULL:
        return
    if t.records != cython.NULL:
        for i in range(CLASS_CHUNKS):
            if t.records[i] == cython.NULL:
                break
            free(t.records[i])
    for i in range(t.n_blocks):
        free(t.blocks[i])
    free(t.blocks)
    free(t.records)
    free(t.heads)
    free(t)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find(
    t: cython.pointer[ClassTable],
    id: uint32_t,
    h: uint32_t,
    record: cython.pointer[cython.const[uint32_t]],
    n: uint32_t,
) -> uint32_t:
    r: cython.pointer[cython.const[uint32_t]]
    while id:
        r = class_record(t, id)
        # Equal heads have the same kind and count, hence the same length.
        if (
            (r - 1)[0] == h
            and memcmp(r, record, REC_HEAD * cython.sizeof(uint32_t)) == 0
            and memcmp(r + REC_HEAD, record + REC_HEAD, (n - REC_HEAD) * cython.sizeof(uint32_t)) == 0
        ):
            return id
        id = (r - 2)[0]
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take(t: cython.pointer[ClassTable], words: cython.size_t) -> cython.pointer[uint32_t]:
    """Room for `words` words that never moves, or NULL. Called with the lock held."""
    size: cython.size_t = words if words > BLOCK_WORDS else BLOCK_WORDS
    p: cython.pointer[uint32_t]
    if words > t.block_left:
        if not room(
            cython.cast(cython.pp_void, cython.address(t.blocks)),
            cython.address(t.cap_blocks),
            t.n_blocks + 1,
            cython.sizeof(cython.p_void),
        ):
            return cython.NULL
        p = cython.cast(cython.pointer[uint32_t], malloc(size * cython.sizeof(uint32_t)))
        if p == cython.NULL:
            return cython.NULL
        t.blocks[t.n_blocks] = p
        t.n_blocks += 1
        t.block = p
        t.block_left = size
    p = t.block
    t.block += words
    t.block_left -= words
    return p


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def insert(
    t: cython.pointer[ClassTable], h: uint32_t, record: cython.pointer[cython.const[uint32_t]], n: uint32_t
) -> uint32_t:
    """Adds a record that is not there. Called with the lock held."""
    id: uint32_t = t.n
    chunk: uint32_t = id >> CLASS_CHUNK_BITS
    bucket: uint32_t = h & t.mask
    p: cython.pointer[uint32_t]
    if chunk >= CLASS_CHUNKS:
        return NO_CLASS
    if t.records[chunk] == cython.NULL:
        t.records[chunk] = cython.cast(
            cython.pointer[cython.pointer[uint32_t]], malloc(CLASS_CHUNK * cython.sizeof(cython.p_void))
        )
        if t.records[chunk] == cython.NULL:
            return NO_CLASS
    p = take(t, n + PREFIX)
    if p == cython.NULL:
        return NO_CLASS
    p[0] = t.heads[bucket]
    p[1] = h
    memcpy(p + PREFIX, record, n * cython.sizeof(uint32_t))
    t.records[chunk][id & (CLASS_CHUNK - 1)] = p + PREFIX
    t.n = id + 1
    store_release(cython.address(t.heads[bucket]), id)
    return id


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def class_intern(
    t: cython.pointer[ClassTable], record: cython.pointer[cython.const[uint32_t]], n: uint32_t
) -> uint32_t:
    """The id of a record of `n` words, at least REC_HEAD; NO_CLASS if there is no memory."""
    h: uint32_t = cython.cast(uint32_t, hash_words(record, n) >> 16)
    head: cython.pointer[uint32_t] = cython.address(t.heads[h & t.mask])
    id: uint32_t = find(t, load_acquire(head), h, record, n)
    if id:
        return id
    lock(cython.address(t.busy))
    id = find(t, head[0], h, record, n)
    if id == 0:
        id = insert(t, h, record, n)
    unlock(cython.address(t.busy))
    return id


# ---- the classes of a unit ----------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def key_kind(r: cython.pointer[cython.const[uint32_t]]) -> uint32_t:
    """The kind of key that stands for references to a type, 0 if its class does."""
    kind: uint32_t = wire_kind(r)
    if kind == KIND_FWD:
        return KIND_KEY_UNION if r[1] >> 31 else KIND_KEY_STRUCT
    if r[0]:
        if kind == KIND_STRUCT:
            return KIND_KEY_STRUCT
        if kind == KIND_UNION:
            return KIND_KEY_UNION
        if kind == KIND_ENUM:
            return KIND_KEY_ENUM
        if kind == KIND_ENUM64:
            return KIND_KEY_ENUM64
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def key_class(
    c: cython.pointer[Classifier],
    t: cython.pointer[ClassTable],
    v: cython.pointer[UnitValue],
    id: uint32_t,
    kind: uint32_t,
) -> uint32_t:
    record: uint32_t[4]
    if c.keys.p[id] == 0:
        record[REC_KIND] = kind
        record[REC_NAME] = v.words.p[v.offs.p[id]]
        record[REC_THIRD] = 0
        record[REC_COUNT] = 0
        c.keys.p[id] = class_intern(t, record, REC_HEAD)
    return c.keys.p[id]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reference(
    c: cython.pointer[Classifier], t: cython.pointer[ClassTable], v: cython.pointer[UnitValue], id: uint32_t
) -> uint32_t:
    """The class or key that a reference to `id` stands for; 0 void or not known yet (only if `id` is not 0)."""
    kind: uint32_t
    record: uint32_t[4]
    if id == 0:
        return 0
    kind = key_kind(v.words.p + v.offs.p[id])
    if kind:
        return key_class(c, t, v, id, kind)
    if v.classes.p[id] == PENDING:
        # The type reaches itself without passing a name: no class can describe it. It gets one of its own.
        v.irregular = True
        record[REC_KIND] = KIND_CYCLE
        record[REC_NAME] = v.number
        record[REC_THIRD] = id
        record[REC_COUNT] = 0
        return class_intern(t, record, REC_HEAD)
    return v.classes.p[id]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def class_of_ref(c: cython.pointer[Classifier], v: cython.pointer[UnitValue], id: uint32_t) -> uint32_t:
    """After `classify_unit`: the class or key of a reference to `id`."""
    if id and c.keys.p[id]:
        return c.keys.p[id]
    return v.classes.p[id]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def describe(
    c: cython.pointer[Classifier],
    t: cython.pointer[ClassTable],
    v: cython.pointer[UnitValue],
    id: uint32_t,
    from_: cython.pointer[uint32_t],
) -> uint32_t:
    """Fills the references of the record of `id` from reference number `from_` on.

    0: done, `c.record` from `c.record.n` on holds it; otherwise the id of the first target without a class, and
    `from_` is where to go on.
    """
    r: cython.pointer[uint32_t] = v.words.p + v.offs.p[id]
    kind: uint32_t = wire_kind(r)
    n: uint32_t = wire_vlen(r)
    i: uint32_t
    at: uint32_t
    if from_[0] == 0:
        if kind == KIND_ARRAY:
            at = r[3]
        elif wire_third_is_type(kind):
            at = r[2]
        else:
            at = 0
        if at and reference(c, t, v, at) == 0:
            return at
        from_[0] = 1
    if kind == KIND_STRUCT or kind == KIND_UNION:
        for i in range(from_[0] - 1, n):
            at = r[3 + 3 * i + 1]
            if at and reference(c, t, v, at) == 0:
                from_[0] = i + 1
                return at
    elif kind == KIND_FUNC_PROTO:
        for i in range(from_[0] - 1, n):
            at = r[3 + 2 * i + 1]
            if at and reference(c, t, v, at) == 0:
                from_[0] = i + 1
                return at
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def make(
    c: cython.pointer[Classifier], t: cython.pointer[ClassTable], v: cython.pointer[UnitValue], id: uint32_t
) -> uint32_t:
    """The class of `id`, all of whose targets have theirs; NO_CLASS if there is no memory."""
    r: cython.pointer[uint32_t] = v.words.p + v.offs.p[id]
    kind: uint32_t = wire_kind(r)
    n: uint32_t = wire_vlen(r)
    each: uint32_t = wire_each(kind)
    size: uint32_t = REC_HEAD + each * n + (1 if wire_fixed(kind) else 0)
    out: cython.pointer[uint32_t]
    i: uint32_t
    c.record.n = 0
    if not u32s_reserve(cython.address(c.record), size):
        return NO_CLASS
    out = c.record.p
    out[REC_KIND] = kind | (r[1] & cython.cast(uint32_t, 0x80000000))
    out[REC_NAME] = r[0]
    out[REC_COUNT] = n
    if kind == KIND_ARRAY:
        out[REC_THIRD] = reference(c, t, v, r[3])
        out[REC_HEAD] = r[5]
    elif wire_third_is_type(kind):
        out[REC_THIRD] = reference(c, t, v, r[2])
        if wire_fixed(kind):
            out[REC_HEAD] = r[3]
    else:
        out[REC_THIRD] = r[2]
        if wire_fixed(kind):
            out[REC_HEAD] = r[3]
    if each:
        memcpy(out + REC_HEAD, r + 3, each * n * cython.sizeof(uint32_t))
        if kind == KIND_STRUCT or kind == KIND_UNION:
            for i in range(n):
                out[REC_HEAD + 3 * i + 1] = reference(c, t, v, r[3 + 3 * i + 1])
        elif kind == KIND_FUNC_PROTO:
            for i in range(n):
                out[REC_HEAD + 2 * i + 1] = reference(c, t, v, r[3 + 2 * i + 1])
    return class_intern(t, out, size)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def classify(
    c: cython.pointer[Classifier], t: cython.pointer[ClassTable], v: cython.pointer[UnitValue], id: uint32_t
) -> cython.int:
    """Gives `id`, and first everything it refers to, a class. Nonzero: no memory."""
    top: uint32_t
    need: uint32_t
    made: uint32_t
    from_: uint32_t
    c.stack.n = 0
    if not u32s_push(cython.address(c.stack), id) or not u32s_push(cython.address(c.stack), 0):
        return 1
    v.classes.p[id] = PENDING
    while c.stack.n:
        top = c.stack.p[c.stack.n - 2]
        from_ = c.stack.p[c.stack.n - 1]
        need = describe(c, t, v, top, cython.address(from_))
        c.stack.p[c.stack.n - 1] = from_
        if need:
            v.classes.p[need] = PENDING
            if not u32s_push(cython.address(c.stack), need) or not u32s_push(cython.address(c.stack), 0):
                return 1
            continue
        made = make(c, t, v, top)
        if made == NO_CLASS:
            return 1
        v.classes.p[top] = made
        c.stack.n -= 2
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def classify_unit(
    c: cython.pointer[Classifier], t: cython.pointer[ClassTable], v: cython.pointer[UnitValue]
) -> cython.int:
    """Fills `v.classes` from `v.words`. Nonzero: fault."""
    i: uint32_t
    c.keys.n = 0
    v.classes.n = 0
    v.twice.n = 0
    v.irregular = False
    if not u32s_reserve(cython.address(c.keys), v.n_types) or not u32s_reserve(cython.address(v.classes), v.n_types):
        return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, v.offset, 0, 0)
    memset(c.keys.p, 0, v.n_types * cython.sizeof(uint32_t))
    memset(v.classes.p, 0, v.n_types * cython.sizeof(uint32_t))
    v.classes.n = v.n_types
    for i in range(1, v.n_types):
        if v.classes.p[i] == 0 and classify(c, t, v, i):
            return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, v.offset, 0, 0)
    for i in range(1, v.n_types):
        if note_key(c, t, v, i):
            return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, v.offset, 0, 0)
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def note_key(
    c: cython.pointer[Classifier], t: cython.pointer[ClassTable], v: cython.pointer[UnitValue], id: uint32_t
) -> cython.int:
    """The key of a type that has one, for references from functions and variables; and whether it is there twice."""
    kind: uint32_t = key_kind(v.words.p + v.offs.p[id])
    key: uint32_t
    size: cython.size_t
    if kind == 0:
        return 0
    key = key_class(c, t, v, id, kind)
    if kind == KIND_KEY_ENUM or kind == KIND_KEY_ENUM64:
        return 0
    if key >= c.seen.n:
        size = key + 4096
        if not u32s_reserve(cython.address(c.seen), size - c.seen.n):
            return 1
        memset(c.seen.p + c.seen.n, 0, (size - c.seen.n) * cython.sizeof(uint32_t))
        c.seen.n = size
    if c.seen.p[key] == v.number + 1 and not u32s_push(cython.address(v.twice), key):
        return 1
    c.seen.p[key] = v.number + 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def class_find(t: cython.pointer[ClassTable], record: cython.pointer[cython.const[uint32_t]], n: uint32_t) -> uint32_t:
    """The id of a record, 0 if there is none."""
    h: uint32_t = cython.cast(uint32_t, hash_words(record, n) >> 16)
    return find(t, load_acquire(cython.address(t.heads[h & t.mask])), h, record, n)
