"""Units into the encoder: what of each unit is kept, and when strings are inserted.

The units of a kernel hold millions of types, of which nearly all are exact repeats. A type of a unit is kept
only if no earlier unit had its class (class_table.py): a type of a known class brings no new content and no new string.
What is kept of a unit (`KeptUnit`) are records in which references are small ids, until assemble.py makes one list of
those of all units.

Whether dropping the others can change the result is decided after the last unit (certify.py). Where it might, more of
the unit is kept: single types are made from their classes (restore.py), or the unit is decoded again (`keep_again`),
and what was asked for, or all of it, is kept.

Strings get their offsets here, at the moments at which pahole inserts them: types in order (name, then
names of members, enumerators, parameters), declaration tags, parameters and tags of remembered functions,
variables. All strings of a type that is dropped are there already.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import realloc
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.btf.record_layout import wire_each, wire_info, wire_kind, wire_vlen
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.append_all import whole_begin, whole_small, whole_types
from cython.cimports.pybtf.core.encode.append_unit import encoder_string
from cython.cimports.pybtf.core.encode.encoder import (
    APART,
    ENCODE_CHANGED,
    ENCODE_MEMORY,
    ENCODE_TOO_MANY,
    MAX_TYPES,
    NO_UNIT,
    Encoder,
    KeptUnit,
    SectionEntry,
    digest_add,
    encoder_fail,
)
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.function_state import State
from cython.cimports.pybtf.core.model.traces import TRACE_NONE, Trace
from cython.cimports.pybtf.core.strings.base_strings import base_string
from cython.cimports.pybtf.core.strings.string_table import StringEntry, string_entry
from cython.cimports.pybtf.core.support.hashing import load_acquire
from cython.cimports.pybtf.core.support.memory import grow, u32s_push, u32s_reserve, u64s_push

MAX_STRINGS = cython.declare(uint64_t, 0x7FFFFFFF)  # no string begins past this offset, as with libbpf


# ---- strings ------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def new_string(e: cython.pointer[Encoder], sid: uint32_t) -> uint32_t:
    """Gives a string its offset. 0 with an error set if that is not possible."""
    size: cython.size_t
    x: cython.pointer[StringEntry]
    if sid >= e.string_at.n:
        # Workers are adding strings meanwhile; any number will do that has room for this one.
        size = max(load_acquire(cython.address(e.strings.n)), sid + 1)
        size += size // 4 + 64
        if not u32s_reserve(cython.address(e.string_at), size - e.string_at.n):
            encoder_fail(e, ENCODE_MEMORY)
            return 0
        memset(e.string_at.p + e.string_at.n, 0, (size - e.string_at.n) * cython.sizeof(uint32_t))
        e.string_at.n = size
    if e.string_at.p[sid]:
        return e.string_at.p[sid]
    x = string_entry(e.strings, sid)
    if e.base != cython.NULL:
        e.string_at.p[sid] = base_string(e.base, x.text, x.size, x.hash)
        if e.string_at.p[sid]:
            return e.string_at.p[sid]
    if e.string_size > MAX_STRINGS:
        encoder_fail(e, ENCODE_TOO_MANY)
        return 0
    if not u32s_push(cython.address(e.string_order), sid):
        encoder_fail(e, ENCODE_MEMORY)
        return 0
    e.string_at.p[sid] = cython.cast(uint32_t, e.string_size)
    e.string_size += x.size + 1
    return e.string_at.p[sid]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def name_record(e: cython.pointer[Encoder], r: cython.pointer[uint32_t], class_: uint32_t) -> cython.void:
    """Gives a record the names of its class, whose words are interned, and inserts these strings in order."""
    kind: uint32_t = wire_kind(r)
    step: uint32_t = wire_each(kind)
    k: uint32_t
    c: cython.pointer[cython.const[uint32_t]] = class_record(e.classes, class_)
    r[0] = c[REC_NAME]
    if step:
        for k in range(wire_vlen(r)):
            r[3 + step * k] = c[REC_HEAD + step * k]
    insert_names(e, r)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def insert_names(e: cython.pointer[Encoder], r: cython.pointer[cython.const[uint32_t]]) -> cython.void:
    """Inserts the strings of a record whose names are interned, in order."""
    step: uint32_t = wire_each(wire_kind(r))
    k: uint32_t
    encoder_string(e, r[0])
    if step:
        for k in range(wire_vlen(r)):
            encoder_string(e, r[3 + step * k])


# ---- records ----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep(
    e: cython.pointer[Encoder], local: uint32_t, r: cython.pointer[cython.const[uint32_t]], words: cython.size_t
) -> cython.int:
    """Appends a record of the unit at hand. Nonzero: no memory."""
    if (
        not u32s_reserve(cython.address(e.kept_words), words)
        or not u64s_push(cython.address(e.starts), e.kept_words.n)
        or not u32s_push(cython.address(e.locals), local)
    ):
        return encoder_fail(e, ENCODE_MEMORY)
    memcpy(e.kept_words.p + e.kept_words.n, r, words * cython.sizeof(uint32_t))
    e.kept_words.n += words
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def keep_type(e: cython.pointer[Encoder], v: cython.pointer[UnitValue], local: uint32_t) -> cython.int:
    """Appends the record of a type, with its names. Nonzero: no memory."""
    if keep(e, local, v.words.p + v.offs.p[local], v.offs.p[local + 1] - v.offs.p[local]):
        return 1
    name_record(e, e.kept_words.p + e.starts.p[e.starts.n - 1], v.classes.p[local])
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def expect_classes(e: cython.pointer[Encoder], class_: uint32_t) -> cython.int:
    """Makes room for what is noted by class, for `class_` and more. Nonzero: no memory."""
    size: cython.size_t = max(load_acquire(cython.address(e.classes.n)), class_ + 1)
    more: cython.size_t
    size += 4096
    more = size - e.first_unit.n
    if not u32s_reserve(cython.address(e.first_unit), more) or not u32s_reserve(cython.address(e.occurrences), more):
        return encoder_fail(e, ENCODE_MEMORY)
    memset(e.first_unit.p + e.first_unit.n, 0xFF, more * cython.sizeof(uint32_t))
    memset(e.occurrences.p + e.occurrences.n, 0, more * cython.sizeof(uint32_t))
    e.first_unit.n = e.occurrences.n = size
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_types(e: cython.pointer[Encoder], v: cython.pointer[UnitValue]) -> cython.int:
    """Keeps the types of a unit whose class is new. Nonzero: `e.error`."""
    s: uint32_t
    class_: uint32_t
    first: uint32_t
    firsts: cython.pointer[uint32_t] = e.first_unit.p
    counts: cython.pointer[uint32_t] = e.occurrences.p
    known: cython.size_t = e.first_unit.n
    classes: cython.pointer[cython.const[uint32_t]] = v.classes.p
    number: uint32_t = v.number
    for s in range(1, v.n_types):
        class_ = classes[s]
        if class_ >= known:
            if expect_classes(e, class_):
                return 1
            firsts = e.first_unit.p
            counts = e.occurrences.p
            known = e.first_unit.n
        counts[class_] += 1
        first = firsts[class_]
        if first != NO_UNIT and first != number:  # nearly all
            continue
        firsts[class_] = number
        if keep_type(e, v, s):
            return 1
    return e.error


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_more_types(
    e: cython.pointer[Encoder], s: cython.pointer[cython.const[KeptUnit]], v: cython.pointer[UnitValue]
) -> cython.int:
    """Keeps the types of a unit that certify.py asks for. Nonzero: `e.error`."""
    i: uint32_t
    class_: uint32_t
    for i in range(1, v.n_types):
        class_ = e.class_list.p[s.classes + i]
        if s.whole or class_ & APART or e.first_unit.p[class_] == v.number:
            if keep_type(e, v, i):
                return 1
    return e.error


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_small(
    e: cython.pointer[Encoder], local: uint32_t, name: uint32_t, kind: uint32_t, third: uint32_t, last: uint32_t
) -> cython.int:
    """Appends a record of four words that does not come from a DIE of its own."""
    r: uint32_t[4]
    if e.keep_all:
        return whole_small(e, name, kind, third, last)
    r[0] = name
    r[1] = wire_info(kind, 0)
    r[2] = third
    r[3] = last
    if keep(e, local, r, 4):
        return 1
    encoder_string(e, name)
    return e.error


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_extras(e: cython.pointer[Encoder], v: cython.pointer[UnitValue]) -> cython.int:
    """The index type, if it is made here, and the declaration tags of types."""
    local: uint32_t = v.n_types
    i: uint32_t
    if e.index_made and e.index_unit == v.number:
        if keep_small(e, local, e.known.int_, KIND_INT, 4, INT_SIGNED << 24 | 32):
            return 1
        local += 1
    for i in range(cython.cast(uint32_t, v.tags.n // 3)):
        if keep_small(e, local, v.tags.p[3 * i], KIND_DECL_TAG, v.tags.p[3 * i + 1], v.tags.p[3 * i + 2]):
            return 1
        local += 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_variables(e: cython.pointer[Encoder], v: cython.pointer[UnitValue], first: cython.bint) -> cython.int:
    """Variables, each with its tags; `first`: note where they lie."""
    local: uint32_t = v.n_types + cython.cast(uint32_t, v.tags.n // 3)
    var: uint32_t
    i: uint32_t
    k: uint32_t
    r: cython.pointer[VarRecord]
    x: cython.pointer[SectionEntry]
    if e.index_made and e.index_unit == v.number:
        local += 1
    for i in range(v.n_vars):
        r = cython.address(v.vars[i])
        var = local
        if keep_small(e, local, r.name, KIND_VAR, r.type, r.linkage):
            return 1
        local += 1
        for k in range(r.n_anns):
            if keep_small(e, local, v.anns.p[r.anns + 2 * k], KIND_DECL_TAG, var, v.anns.p[r.anns + 2 * k + 1]):
                return 1
            local += 1
        if not first:
            continue
        if not grow(e.entries, e.cap_entries, e.n_entries + 1):
            return encoder_fail(e, ENCODE_MEMORY)
        x = cython.address(e.entries[e.n_entries])
        e.n_entries += 1
        x.section = r.section
        x.unit = v.number
        x.local = var
        x.offset = r.offset
        x.size = r.size
    return 0


# ---- functions ----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def save_traces(e: cython.pointer[Encoder], v: cython.pointer[UnitValue]) -> cython.int:
    """Keeps what was noted of the functions and variables of a unit. Nonzero: no memory, or too many."""
    i: uint32_t
    t: cython.pointer[Trace]
    if v.traces.n > MAX_TYPES - e.traces.n or e.n_states > MAX_TYPES:
        return encoder_fail(e, ENCODE_TOO_MANY)
    if not grow(e.traces.p, e.traces.cap, e.traces.n + v.traces.n):
        return encoder_fail(e, ENCODE_MEMORY)
    memcpy(e.traces.p + e.traces.n, v.traces.p, v.traces.n * cython.sizeof(Trace))
    for i in range(v.traces.n):
        t = e.traces.p + e.traces.n + i
        if t.state != TRACE_NONE:
            t.state += cython.cast(uint32_t, e.n_states)
    e.traces.n += v.traces.n
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def save_states(e: cython.pointer[Encoder], v: cython.pointer[UnitValue]) -> cython.int:
    """Keeps what the unit observed about functions; their strings are inserted now, whatever becomes of them (Q2)."""
    i: uint32_t
    k: uint32_t
    s: cython.pointer[State]
    grown: cython.pointer[State]
    cap: cython.size_t = e.cap_states
    r: cython.pointer[cython.const[uint32_t]]
    locals_: uint32_t = cython.cast(uint32_t, e.state_locals.n)
    anns: uint32_t = cython.cast(uint32_t, e.anns.n)
    if e.n_states + v.n_states > cap:
        cap = cap * 2 + v.n_states + 1024
        grown = cython.cast(cython.pointer[State], realloc(e.states, cap * cython.sizeof(State)))
        if grown == cython.NULL:
            return encoder_fail(e, ENCODE_MEMORY)
        e.states = grown
        e.cap_states = cap
    if e.state_locals.n + v.locals.n > MAX_TYPES or e.anns.n + v.anns.n > MAX_TYPES:
        return encoder_fail(e, ENCODE_TOO_MANY)
    if not u32s_reserve(cython.address(e.state_locals), v.locals.n) or not u32s_reserve(
        cython.address(e.anns), v.anns.n
    ):
        return encoder_fail(e, ENCODE_MEMORY)
    if v.locals.n:
        memcpy(e.state_locals.p + locals_, v.locals.p, v.locals.n * cython.sizeof(uint32_t))
    if v.anns.n:
        memcpy(e.anns.p + anns, v.anns.p, v.anns.n * cython.sizeof(uint32_t))
    e.state_locals.n += v.locals.n
    e.anns.n += v.anns.n
    if v.traces.n and save_traces(e, v):
        return 1
    for i in range(v.n_states):
        s = cython.address(e.states[e.n_states])
        s[0] = v.states[i]
        s.locals += locals_
        s.anns += anns
        e.n_states += 1
        r = class_record(e.classes, s.proto)
        for k in range(r[REC_COUNT]):
            encoder_string(e, r[REC_HEAD + 2 * k])
        for k in range(s.n_anns):
            encoder_string(e, e.anns.p[s.anns + 2 * k])
    return e.error


# ---- units ------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def new_kept_unit(e: cython.pointer[Encoder]) -> cython.pointer[KeptUnit]:
    """What is kept of the next unit, nothing yet. NULL: no memory."""
    s: cython.pointer[KeptUnit]
    if not grow(e.kept, e.cap_kept, e.n_kept + 1):
        encoder_fail(e, ENCODE_MEMORY)
        return cython.NULL
    s = cython.address(e.kept[e.n_kept])
    e.n_kept += 1
    s.first = e.starts.n
    s.n = 0
    s.classes = e.class_list.n
    s.n_types = s.n_extras = 0
    s.dies = e.dies.n
    s.first_id = 0
    s.whole = e.keep_all
    return s


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_classes(e: cython.pointer[Encoder], v: cython.pointer[cython.const[UnitValue]]) -> cython.int:
    """Notes what certify.py has to know of all types of a unit, kept or not. Nonzero: no memory."""
    if not u32s_reserve(cython.address(e.class_list), v.n_types) or not u32s_reserve(
        cython.address(e.twice), v.twice.n
    ):
        return encoder_fail(e, ENCODE_MEMORY)
    memcpy(e.class_list.p + e.class_list.n, v.classes.p, v.n_types * cython.sizeof(uint32_t))
    e.class_list.n += v.n_types
    if v.twice.n:
        memcpy(e.twice.p + e.twice.n, v.twice.p, v.twice.n * cython.sizeof(uint32_t))
        e.twice.n += v.twice.n
    if v.irregular:
        e.cycles = True
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def save_dies(e: cython.pointer[Encoder], v: cython.pointer[cython.const[UnitValue]]) -> cython.int:
    """Keeps the DIEs of all types of a unit. Nonzero: no memory."""
    if not u32s_reserve(cython.address(e.dies), v.dies.n):
        return encoder_fail(e, ENCODE_MEMORY)
    memcpy(e.dies.p + e.dies.n, v.dies.p, v.dies.n * cython.sizeof(uint32_t))
    e.dies.n += v.dies.n
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_unit(e: cython.pointer[Encoder], v: cython.pointer[UnitValue]) -> cython.int:
    """Takes the next unit. Nonzero: `e.error`."""
    i: uint32_t
    s: cython.pointer[KeptUnit] = new_kept_unit(e)
    e.units += 1
    for i in range(N_COUNTS):
        e.counts[i] += v.counts[i]
    if s == cython.NULL:
        return 1
    if v.filtered:
        e.filtered += 1
        return save_traces(e, v) if v.traces.n else 0
    if v.n_types == 1:
        v.classes.n = 0
        if not u32s_push(cython.address(v.classes), 0):
            return encoder_fail(e, ENCODE_MEMORY)
    # All arrays of the run share one index type: the first "int" met, or one made after the first unit with arrays
    # (Q13).
    if e.index_unit == NO_UNIT and (v.int_id or v.n_arrays):
        e.index_unit = v.number
        e.index_local = v.int_id if v.int_id else v.n_types
        e.index_made = v.int_id == 0
    s.n_types = v.n_types
    s.n_extras = count_extras(v)
    e.types_seen += v.n_types - 1
    if v.dies.n and save_dies(e, v):
        return 1
    if e.keep_all:
        if whole_begin(e, s, v) or whole_types(e, s, v):
            return 1
    elif note_classes(e, v) or keep_types(e, v):
        return 1
    if keep_extras(e, v):
        return 1
    if save_states(e, v) or keep_variables(e, v, True):
        return 1
    s.n = cython.cast(uint32_t, e.starts.n - s.first)
    return e.error


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_extras(v: cython.pointer[cython.const[UnitValue]]) -> uint32_t:
    """Tags, variables and their tags."""
    n: uint32_t = cython.cast(uint32_t, v.tags.n // 3) + v.n_vars
    i: uint32_t
    for i in range(v.n_vars):
        n += v.vars[i].n_anns
    return n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def classes_digest(v: cython.pointer[cython.const[UnitValue]]) -> uint64_t:
    """A hash of the classes of a unit's types, in order; certify.py makes one of what was noted the first time."""
    h: uint64_t = v.n_types
    i: uint32_t
    for i in range(1, v.n_types):
        h = digest_add(h, v.classes.p[i])
    return h


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_again(e: cython.pointer[Encoder], v: cython.pointer[UnitValue]) -> cython.int:
    """Replaces what was kept of a unit by what certify.py asks for. Nonzero: `e.error`.

    The small ids that were noted of the unit must still mean the same: the file may have changed meanwhile.
    """
    s: cython.pointer[KeptUnit] = cython.address(e.kept[v.number])
    if (
        v.filtered
        or v.n_types != s.n_types
        or count_extras(v) != s.n_extras
        or classes_digest(v) != s.digest
    ):
        return encoder_fail(e, ENCODE_CHANGED)
    s.first = e.starts.n
    if keep_more_types(e, s, v) or keep_extras(e, v) or keep_variables(e, v, False):
        return 1
    s.n = cython.cast(uint32_t, e.starts.n - s.first)
    return e.error
