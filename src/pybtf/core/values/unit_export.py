"""A unit value into bytes, beside the object file it was read from.

What the linker has not said yet is left open: all functions are written, with all that is to be said against them,
whether or not there will be a symbol of their name; and all variables with an address, wherever that will be. Their
addresses are not part of the bytes: they stand in order in `addresses`, for relocations to fill in (docs/merge.md).

Functions without a symbol are left out, and which these are is known only after the link. So what a unit says of one
function must not depend on another one. It does where an out-of-line copy has another name than its abstract origin,
which no compiler writes. Such a unit is refused.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.pybtf.core.btf.kinds import KIND_FUNC_PROTO
from cython.cimports.pybtf.core.btf.limits import MAX_VLEN
from cython.cimports.pybtf.core.btf.record_layout import wire_each, wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_section import wire_store
from cython.cimports.pybtf.core.classes.class_record import (
    REC_COUNT,
    REC_HEAD,
    REC_KIND,
    REC_NAME,
    REC_THIRD,
    class_record,
)
from cython.cimports.pybtf.core.classes.classify import Classifier, class_of_ref, classify_fault
from cython.cimports.pybtf.core.functions.function_instances import Observer, dropped, instance_flags, param_name
from cython.cimports.pybtf.core.functions.resolve import function_at, origin_param
from cython.cimports.pybtf.core.functions.variables import candidate, variable_size
from cython.cimports.pybtf.core.model.dwarf_unit import (
    F_DECLARATION,
    F_EMPTY_NAME,
    F_HAS_ORIGIN,
    F_SIGNATURE_CHANGED,
    F_VARIADIC,
    NAMES_FREE,
    NAMES_PER_BYTE,
    V_EXTERNAL,
    Annotation,
    Function,
    Param,
    Unit,
    Variable,
    too_shared,
)
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.faults import (
    FAULT_MEMORY,
    FAULT_SHARED,
    FAULT_TOO_MANY,
    IN_INFO,
    IN_STR,
    fault_set,
)
from cython.cimports.pybtf.core.strings.lazy_names import name_intern
from cython.cimports.pybtf.core.strings.string_table import NO_STRING, StringEntry, string_entry
from cython.cimports.pybtf.core.support.memory import (
    u8s_append,
    u8s_free,
    u8s_reserve,
    u32s_add,
    u32s_free,
    u32s_push,
    u32s_reserve,
    u64s_free,
    u64s_push,
)
from cython.cimports.pybtf.core.values.type_digest import digests_extend, digests_free, record_digest
from cython.cimports.pybtf.core.values.unit_export import Writing
from cython.cimports.pybtf.core.values.unit_layout import *

MAX_BYTES = cython.declare(uint64_t, 0x7FFFFFFF)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def writing_free(w: cython.pointer[Writing]) -> cython.void:
    u32s_free(cython.address(w.places))
    u32s_free(cython.address(w.used))
    u32s_free(cython.address(w.words))
    u32s_free(cython.address(w.record))
    u8s_free(cython.address(w.out))
    u64s_free(cython.address(w.addresses))
    digests_free(cython.address(w.digests))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def place_of(w: cython.pointer[Writing], sid: uint32_t) -> uint32_t:
    """How a string is named in the unit at hand, 0 for none; NO_STRING: no memory, or too many bytes."""
    size: cython.size_t
    if sid == 0:
        return 0
    if sid >= w.places.n:
        size = cython.cast(cython.size_t, sid) + 4096
        if not u32s_reserve(cython.address(w.places), size - w.places.n):
            return NO_STRING
        memset(w.places.p + w.places.n, 0, (size - w.places.n) * cython.sizeof(uint32_t))
        w.places.n = size
    if w.places.p[sid] == 0:
        if w.text > MAX_BYTES or not u32s_push(cython.address(w.used), sid):
            return NO_STRING
        w.places.p[sid] = cython.cast(uint32_t, w.text) + 1
        w.text += cython.cast(uint64_t, string_entry(w.strings, sid).size) + 1
    return w.places.p[sid]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put(w: cython.pointer[Writing], word: uint32_t) -> cython.bint:
    return u32s_push(cython.address(w.words), word)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_string(w: cython.pointer[Writing], sid: uint32_t) -> cython.bint:
    place: uint32_t = place_of(w, sid)
    return place != NO_STRING and put(w, place)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_annotations(
    w: cython.pointer[Writing], anns: cython.pointer[cython.const[Annotation]], n: uint32_t
) -> cython.bint:
    i: uint32_t
    for i in range(n):
        if not put_string(w, anns[i].value) or not put(w, cython.cast(uint32_t, anns[i].component)):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_tags(w: cython.pointer[Writing], v: cython.pointer[UnitValue]) -> cython.bint:
    i: uint32_t
    for i in range(cython.cast(uint32_t, v.tags.n // 3)):
        if (
            not put_string(w, v.tags.p[3 * i])
            or not put(w, v.tags.p[3 * i + 1])
            or not put(w, v.tags.p[3 * i + 2])
        ):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def store_digest(words: cython.pointer[uint32_t], digest: cython.pointer[cython.const[uint64_t]]) -> cython.void:
    """The low word of each half first."""
    words[0] = cython.cast(uint32_t, digest[0])
    words[1] = cython.cast(uint32_t, digest[0] >> 32)
    words[2] = cython.cast(uint32_t, digest[1])
    words[3] = cython.cast(uint32_t, digest[1] >> 32)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_digests(w: cython.pointer[Writing], v: cython.pointer[UnitValue]) -> cython.bint:
    """The digest of each type."""
    id: uint32_t
    if not u32s_reserve(cython.address(w.words), DIGEST_WORDS * cython.cast(cython.size_t, v.n_types)):
        return False
    for id in range(1, v.n_types):
        store_digest(w.words.p + w.words.n, w.digests.of.p + 2 * cython.cast(cython.size_t, v.classes.p[id]))
        w.words.n += DIGEST_WORDS
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_record(
    w: cython.pointer[Writing],
    r: cython.pointer[cython.const[uint32_t]],
    words: cython.size_t,
    class_: cython.pointer[cython.const[uint32_t]],
) -> cython.bint:
    """A type, with the names of its class, whose words are interned."""
    out: cython.pointer[uint32_t]
    step: uint32_t = wire_each(wire_kind(r))
    i: uint32_t
    place: uint32_t = place_of(w, class_[REC_NAME])
    if place == NO_STRING or not u32s_reserve(cython.address(w.words), words):
        return False
    out = w.words.p + w.words.n
    memcpy(out, r, words * cython.sizeof(uint32_t))
    w.words.n += words
    out[0] = place
    if step:
        for i in range(wire_vlen(r)):
            place = place_of(w, class_[REC_HEAD + step * i])
            if place == NO_STRING:
                return False
            out[3 + step * i] = place
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_types(w: cython.pointer[Writing], v: cython.pointer[UnitValue], c: cython.pointer[Classifier]) -> cython.bint:
    """Digests and records."""
    id: uint32_t
    if not digests_extend(cython.address(w.digests), c.classes, w.strings) or not put_digests(w, v):
        return False
    for id in range(1, v.n_types):
        if not put_record(
            w,
            v.words.p + v.offs.p[id],
            v.offs.p[id + 1] - v.offs.p[id],
            class_record(c.classes, v.classes.p[id]),
        ):
            return False
    return True


# ---- functions ----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def stands_alone(u: cython.pointer[Unit], v: cython.pointer[UnitValue], f: cython.pointer[Function]) -> cython.bint:
    """Whether what is said of a function comes from DIEs of that function, by name. A fault is left in the value."""
    i: uint32_t
    o: cython.pointer[Param]
    origin: cython.pointer[Function] = f
    if f.flags & F_HAS_ORIGIN:
        origin = function_at(u, f.origin)
        if origin == cython.NULL or origin.name != f.name:
            return False
    for i in range(f.first, f.first + f.count):
        if u.params[i].origin == 0 or u.params[i].has_type:
            continue
        o = origin_param(u, f, u.params[i].origin, cython.address(v.fault))
        if v.fault.code:
            return False
        if o != cython.NULL and not u.params + origin.first <= o < u.params + origin.first + origin.count:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_prototype(
    w: cython.pointer[Writing],
    u: cython.pointer[Unit],
    v: cython.pointer[UnitValue],
    f: cython.pointer[Function],
    o: cython.pointer[Observer],
    c: cython.pointer[Classifier],
    at: cython.size_t,
) -> cython.bint:
    """The elements of the prototype of the function that begins at word `at`, how many there are, and its digest."""
    i: uint32_t
    name: uint32_t
    p: cython.pointer[Param]
    digest: uint64_t[2]
    changed: cython.bint = w.true_signature and f.flags & F_SIGNATURE_CHANGED
    w.record.n = 0
    if not u32s_reserve(cython.address(w.record), REC_HEAD + 2 * (cython.cast(cython.size_t, f.count) + 1)):
        return False
    w.record.n = REC_HEAD
    for i in range(f.first, f.first + f.count):
        p = cython.address(u.params[i])
        if dropped(f, p, changed):
            continue
        name = param_name(o, c, w.strings, p) if changed else p.name
        # Of the shortest names there is still the text in place of an id. (An id that param_name gives remains.)
        if name != NO_STRING:
            name = name_intern(c.names, name)
        if name == NO_STRING or not put_string(w, name) or not put(w, p.ref):
            if c.failed:
                classify_fault(c, v)
            return False
        u32s_add(cython.address(w.record), name)
        u32s_add(cython.address(w.record), class_of_ref(c, v, p.ref))
    if f.flags & F_VARIADIC:
        if not put(w, 0) or not put(w, 0):
            return False
        u32s_add(cython.address(w.record), 0)
        u32s_add(cython.address(w.record), 0)
    w.record.p[REC_KIND] = KIND_FUNC_PROTO
    w.record.p[REC_NAME] = 0
    w.record.p[REC_THIRD] = class_of_ref(c, v, f.ref)
    w.record.p[REC_COUNT] = cython.cast(uint32_t, (w.record.n - REC_HEAD) // 2)
    w.words.p[at + 2] = w.record.p[REC_COUNT]
    if c.failed:
        classify_fault(c, v)
        return False
    if not digests_extend(cython.address(w.digests), c.classes, w.strings):  # a reference may have made a class
        return False
    record_digest(cython.address(w.digests), w.record.p, w.strings, cython.address(digest[0]))
    if w.digests.too_long:
        return False
    store_digest(w.words.p + at + FUNCTION_DIGEST, cython.address(digest[0]))
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_function(
    w: cython.pointer[Writing],
    u: cython.pointer[Unit],
    v: cython.pointer[UnitValue],
    f: cython.pointer[Function],
    o: cython.pointer[Observer],
    c: cython.pointer[Classifier],
) -> cython.bint:
    """False: no memory, or a fault is left in the value."""
    i: uint32_t
    at: cython.size_t = w.words.n
    more: uint32_t = 0
    flags: cython.int
    total: uint32_t = f.count + (1 if f.flags & F_VARIADIC else 0)
    if f.flags & F_EMPTY_NAME:
        more = FUNCTION_EMPTY_NAME
    for i in range(f.first, f.first + f.count):
        if not u.params[i].named:
            more |= FUNCTION_UNNAMED
            break
    if not put_string(w, f.name) or not put(w, 0) or not put(w, 0) or not put(w, f.ref):
        return False
    for i in range(FUNCTION_DIGEST, FUNCTION_HEAD):
        if not put(w, 0):
            return False
    if more:  # it will be left out, or refused
        w.words.p[at + 2] = more
        return u64s_push(cython.address(w.addresses), f.address)
    if total > MAX_VLEN:
        fault_set(cython.address(v.fault), FAULT_TOO_MANY, IN_INFO, f.die, f.die, total)
        return False
    flags = instance_flags(u, f, o, w.machine)
    if flags < 0 or not put_prototype(w, u, v, f, o, c, at):
        return False
    w.words.p[at + 1] = cython.cast(uint32_t, flags) | cython.cast(uint32_t, f.n_anns) << 16
    return put_annotations(w, u.anns + f.anns, f.n_anns) and u64s_push(cython.address(w.addresses), f.address)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_functions(
    w: cython.pointer[Writing],
    u: cython.pointer[Unit],
    v: cython.pointer[UnitValue],
    o: cython.pointer[Observer],
    c: cython.pointer[Classifier],
    head: cython.pointer[uint32_t],
) -> cython.bint:
    """All functions that are not declarations; of those without any name, only how many there are."""
    i: uint32_t
    f: cython.pointer[Function]
    at: cython.size_t = w.words.n
    o.align.n = 0
    for i in range(u.n_functions):
        f = cython.address(u.functions[i])
        if f.flags & F_DECLARATION:
            continue
        if f.name == 0 and not f.flags & F_EMPTY_NAME:
            head[H_COUNTS + HELD_NAMELESS] += 1
            continue
        if not stands_alone(u, v, f):
            w.die = f.die
            return v.fault.code == 0
        if not put_function(w, u, v, f, o, c):
            return False
        head[H_FUNCTIONS] += 1
    head[H_FUNCTION_WORDS] = cython.cast(uint32_t, w.words.n - at)
    return True


# ---- variables ----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_variables(
    w: cython.pointer[Writing],
    u: cython.pointer[Unit],
    v: cython.pointer[UnitValue],
    head: cython.pointer[uint32_t],
) -> cython.bint:
    """All variables of the file that have an address. False: no memory, or a fault is left in the value."""
    i: uint32_t
    size: uint64_t
    linkage: uint32_t
    d: cython.pointer[Variable]
    at: cython.size_t = w.words.n
    for i in range(u.n_variables):
        d = candidate(u, v, i)
        if d == cython.NULL:
            if v.fault.code:
                return False
            continue
        size = variable_size(u, d.ref)
        linkage = 1 if d.flags & V_EXTERNAL else 0
        if (
            not put_string(w, d.name)
            or not put(w, d.ref)
            or not put(w, linkage | cython.cast(uint32_t, d.n_anns) << 1)
            or not put(w, cython.cast(uint32_t, size))
            or not put(w, cython.cast(uint32_t, size >> 32))
            or not put_annotations(w, u.anns + d.anns, d.n_anns)
            or not u64s_push(cython.address(w.addresses), u.variables[i].address)
        ):
            return False
        head[H_VARIABLES] += 1
    head[H_VARIABLE_WORDS] = cython.cast(uint32_t, w.words.n - at)
    return True


# ---- units --------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_head(w: cython.pointer[Writing], u: cython.pointer[Unit], v: cython.pointer[UnitValue]) -> cython.bint:
    """Begins the words of a unit with its head. What is counted or measured later is 0 for now. False: no memory."""
    i: uint32_t
    head: cython.pointer[uint32_t]
    w.words.n = 0
    if not u32s_reserve(cython.address(w.words), H_WORDS_OF_HEAD):
        return False
    head = w.words.p
    for i in range(H_WORDS_OF_HEAD):
        head[i] = 0
    w.words.n = H_WORDS_OF_HEAD
    head[H_FLAGS] = UNIT_TAGS_CUT if v.tags_cut else 0
    head[H_LANGUAGE] = u.language
    head[H_TYPES] = v.n_types
    if v.n_types > 1:
        head[H_WORDS] = v.offs.p[v.n_types] - v.offs.p[1]
    head[H_TAGS] = cython.cast(uint32_t, v.tags.n // 3)
    head[H_INT] = v.int_id
    head[H_NAME] = place_of(w, v.name)
    head[H_COUNTS + HELD_PARTIAL] = cython.cast(uint32_t, v.counts[COUNT_PARTIAL])
    head[H_COUNTS + HELD_SKIPPED_TAGS] = cython.cast(uint32_t, v.counts[COUNT_SKIPPED_TAGS])
    head[H_COUNTS + HELD_SIGNATURES_LOST] = cython.cast(uint32_t, v.counts[COUNT_SIGNATURES_LOST])
    return head[H_NAME] != NO_STRING


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_strings(
    w: cython.pointer[Writing], first: cython.size_t, end: cython.size_t, word: cython.pointer[uint32_t]
) -> cython.bint:
    """Puts some of the strings of the unit after it; their bytes without padding into `word`. False: no memory."""
    i: cython.size_t
    e: cython.pointer[StringEntry]
    total: uint64_t = 0
    padding: cython.size_t
    zeros: uint8_t[4]
    memset(cython.address(zeros[0]), 0, 4)
    for i in range(first, end):
        e = string_entry(w.strings, w.used.p[i])
        if not u8s_append(cython.address(w.out), e.text, e.size):
            return False
        if not u8s_append(cython.address(w.out), cython.address(zeros[0]), 1):
            return False
        total += e.size + 1
        w.places.p[w.used.p[i]] = 0
    padding = (0 - total) & 3
    word[0] = cython.cast(uint32_t, total)
    return u8s_append(cython.address(w.out), cython.address(zeros[0]), padding)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_words(w: cython.pointer[Writing], first: cython.size_t, end: cython.size_t) -> cython.bint:
    if not u8s_reserve(cython.address(w.out), 4 * (end - first)):
        return False
    wire_store(w.out.p + w.out.n, w.words.p + first, end - first, w.swap)
    w.out.n += 4 * (end - first)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def finish(w: cython.pointer[Writing]) -> cython.bint:
    """Words and strings of the unit after those before. False: no memory, or more than a unit can have."""
    at: cython.size_t = w.out.n
    if (
        not put_words(w, 0, w.first_words)
        or not put_strings(w, 0, w.first_used, cython.address(w.words.p[H_FIRST_BYTES]))
        or not put_words(w, w.first_words, w.words.n)
        or not put_strings(w, w.first_used, w.used.n, cython.address(w.words.p[H_STRING_BYTES]))
        or w.out.n - at > MAX_BYTES
    ):
        return False
    w.words.p[H_SIZE] = cython.cast(uint32_t, w.out.n - at)
    wire_store(w.out.p + at, w.words.p, H_WORDS_OF_HEAD, w.swap)
    w.used.n = 0
    w.text = 0
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def export_unit(
    w: cython.pointer[Writing],
    u: cython.pointer[Unit],
    v: cython.pointer[UnitValue],
    o: cython.pointer[Observer],
    c: cython.pointer[Classifier],
) -> cython.int:
    """See `unit_export.pxd`."""
    head: UnitHead
    i: uint32_t
    done: cython.bint
    budget: uint64_t = NAMES_FREE + NAMES_PER_BYTE * u.bytes
    w.digests.text_left = budget
    memset(cython.address(head[0]), 0, cython.sizeof(head))
    done = put_head(w, u, v) and put_tags(w, v)
    if done and not v.tags_cut:
        done = put_functions(w, u, v, o, c, cython.address(head[0]))
        if w.die:
            return 1
        done = done and put_variables(w, u, v, cython.address(head[0]))
    w.first_words = w.words.n
    w.first_used = w.used.n
    done = done and put_types(w, v, c)
    if done:
        head[H_COUNTS + HELD_VAR_DECLARATION] = cython.cast(uint32_t, v.counts[COUNT_VAR_DECLARATION])
        head[H_COUNTS + HELD_VAR_NO_ADDRESS] = cython.cast(uint32_t, v.counts[COUNT_VAR_NO_ADDRESS])
        for i in range(H_WORDS_OF_HEAD):
            w.words.p[i] |= head[i]
        done = finish(w)
    if u.left == 0:
        too_shared(u, cython.address(v.fault), IN_INFO, v.offset, 0)
    if w.digests.too_long and not v.fault.code:
        fault_set(cython.address(v.fault), FAULT_SHARED, IN_STR, v.offset, 0, cython.cast(int64_t, budget))
    if not done and not v.fault.code:
        fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, v.offset, 0, 0)
    return v.fault.code
