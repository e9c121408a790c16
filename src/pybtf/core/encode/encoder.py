"""The encoder: the only writer of the type list. It is fed with unit values in the order of `.debug_info`
(append_unit.py). After the last one the list is made of what is kept of them (assemble.py), and what concerns the file
as a whole is appended here: functions by name, and sections of variables.

Only the encoder assigns type ids and string offsets, so the output does not depend on which worker decoded what, and
when.
"""

import cython
from cython.cimports.libc.stdint import int32_t, uint32_t
from cython.cimports.libc.stdlib import free, realloc
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.btf.limits import MAX_VLEN
from cython.cimports.pybtf.core.btf.record_layout import WHOLE, WIRE_KIND_FLAG, wire_info, wire_kind
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.elf.function_table import functable_head
from cython.cimports.pybtf.core.encode.append_unit import encoder_string
from cython.cimports.pybtf.core.encode.assemble import assembled_id
from cython.cimports.pybtf.core.encode.encoder import *
from cython.cimports.pybtf.core.functions.function_merge import (
    COMBINE_EFFORT,
    COMBINED,
    FN_CONSISTENT,
    FN_PLAIN_NAMES,
    FN_TRUE_SIGNATURE,
    Emitted,
    combine_functions,
    emission_free,
)
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.function_state import State
from cython.cimports.pybtf.core.model.options import (
    OPT_ATTRIBUTES,
    OPT_CONSISTENT,
    OPT_DECL_TAG,
    OPT_DEGRADE,
    OPT_KFUNC_TAGS,
    OPT_TRUE_SIGNATURE,
)
from cython.cimports.pybtf.core.strings.string_table import NO_STRING, Text, string_intern, string_text
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.memory import (
    prefetch,
    u32s_free,
    u32s_reserve,
    u64s_free,
    u64s_push,
)

LONGEST_NAME = cython.declare(uint32_t, 127)  # of parameters and tags of functions, in pahole (Q28)
#: pahole counts parameters in a byte when it stores them: the 257th takes the place of the first, and so on.
PLACES = cython.declare(uint32_t, 256)
AHEAD = cython.declare(uint32_t, 6)  # by so many functions each step of prefetching runs ahead of the next
# Flags of a kfunc in .BTF_ids (docs/rules.md, 7.2).
KFUNC_FASTCALL = cython.declare(uint32_t, 1 << 12)
KFUNC_ARENA_RETURN = cython.declare(uint32_t, 1 << 13)
KFUNC_ARENA_FIRST = cython.declare(uint32_t, 1 << 14)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def encoder_fail(e: cython.pointer[Encoder], error: cython.int) -> cython.int:
    """Notes an error, ENCODE_*, of which the first counts. Returns 1."""
    if e.error == 0:
        e.error = error
    return 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def encoder_init(e: cython.pointer[Encoder]) -> cython.int:
    """Prepares a zeroed encoder whose `strings`, `classes`, `table`, `known`, `options` and `base` are set."""
    e.string_size = 1 if e.base == cython.NULL else e.base.size
    e.index_unit = NO_UNIT
    e.combined = NOT_COMBINED
    if not u64s_push(cython.address(e.offs), 0):  # void
        return encoder_fail(e, ENCODE_MEMORY)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def encoder_free(e: cython.pointer[Encoder]) -> cython.void:
    """All that the encoder owns: not `strings`, `classes`, `table` and `base`."""
    u32s_free(cython.address(e.words))
    u64s_free(cython.address(e.offs))
    u32s_free(cython.address(e.string_at))
    u32s_free(cython.address(e.string_order))
    u32s_free(cython.address(e.anns))
    u32s_free(cython.address(e.kept_words))
    u64s_free(cython.address(e.starts))
    u32s_free(cython.address(e.locals))
    u32s_free(cython.address(e.class_list))
    u32s_free(cython.address(e.first_unit))
    u32s_free(cython.address(e.occurrences))
    u32s_free(cython.address(e.twice))
    u32s_free(cython.address(e.redo))
    u32s_free(cython.address(e.resolved))
    u32s_free(cython.address(e.conflicts))
    u32s_free(cython.address(e.representative))
    u32s_free(cython.address(e.scratch))
    u32s_free(cython.address(e.state_locals))
    u32s_free(cython.address(e.dies))
    free(e.kept)
    free(e.states)
    free(e.traces.p)
    free(e.entries)
    emission_free(cython.address(e.emission))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def encoder_release(e: cython.pointer[Encoder]) -> cython.void:
    """Frees what the list was assembled from: de-duplication needs as much again, and most of this is by type of all
    units. Not for who asks where types are from (origins.py).
    """
    u32s_free(cython.address(e.locals))
    u32s_free(cython.address(e.class_list))
    u32s_free(cython.address(e.first_unit))
    u32s_free(cython.address(e.occurrences))
    u32s_free(cython.address(e.representative))
    u32s_free(cython.address(e.state_locals))


# ---- records ------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def encoder_add(
    e: cython.pointer[Encoder], name: uint32_t, info: uint32_t, third: uint32_t, extra: uint32_t
) -> cython.pointer[uint32_t]:
    """Appends the common words of a record; returns the room for `extra` more, NULL without memory.

    The record's id is `last_id` afterwards.
    """
    p: cython.pointer[uint32_t]
    if e.offs.n > MAX_TYPES:
        encoder_fail(e, ENCODE_TOO_MANY)
        return cython.NULL
    if not u32s_reserve(cython.address(e.words), 3 + extra) or not u64s_push(cython.address(e.offs), e.words.n):
        encoder_fail(e, ENCODE_MEMORY)
        return cython.NULL
    p = e.words.p + e.words.n
    p[0] = name
    p[1] = info
    p[2] = third
    e.words.n += 3 + extra
    encoder_string(e, name)
    return p + 3


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def last_id(e: cython.pointer[cython.const[Encoder]]) -> uint32_t:
    """The id of the record that was appended last."""
    return cython.cast(uint32_t, e.offs.n - 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_tag(e: cython.pointer[Encoder], value: uint32_t, target: uint32_t, component: uint32_t) -> cython.int:
    """Appends a declaration tag of type `target`. Nonzero: `e.error`."""
    p: cython.pointer[uint32_t] = encoder_add(e, value, wire_info(KIND_DECL_TAG, 0), target, 1)
    if p == cython.NULL:
        return 1
    p[0] = component
    return 0


# ---- after all units ----------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def cut_name(e: cython.pointer[Encoder], sid: uint32_t) -> uint32_t:
    """Names of parameters and tag values of functions pass through a short buffer in pahole (Q28)."""
    x: Text
    cut: uint32_t
    if sid == 0:
        return 0
    x = string_text(e.strings, sid)
    if x.size <= LONGEST_NAME:
        return sid
    cut = string_intern(e.strings, x.text, LONGEST_NAME, True)
    if cut == NO_STRING:
        encoder_fail(e, ENCODE_MEMORY)
        return 0
    return cut


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def arena_type(e: cython.pointer[Encoder], f: cython.pointer[Emitted], id: cython.pointer[uint32_t]) -> cython.int:
    """Replaces a pointer by one whose target is tagged as lying in the arena."""
    r: cython.pointer[uint32_t] = e.words.p + e.offs.p[id[0]]
    target: uint32_t
    if id[0] == 0 or wire_kind(r) != KIND_PTR:
        e.error_entry = f.entry
        return encoder_fail(e, ENCODE_ARENA)
    target = r[2]
    if encoder_add(e, e.known.arena, wire_info(KIND_TYPE_TAG, 0) | WIRE_KIND_FLAG, target, 0) == cython.NULL:
        return 1
    if encoder_add(e, 0, wire_info(KIND_PTR, 0), last_id(e), 0) == cython.NULL:
        return 1
    id[0] = last_id(e)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def arena_types(
    e: cython.pointer[Encoder], f: cython.pointer[Emitted], ids: cython.pointer[uint32_t], count: uint32_t
) -> cython.int:
    """`ids`: return type, then parameters; changed in place."""
    k: uint32_t
    if f.kfunc_flags & KFUNC_ARENA_RETURN and arena_type(e, f, ids):
        return 1
    for k in range(2):
        if f.kfunc_flags & (KFUNC_ARENA_FIRST << k):
            if k >= count:
                e.error_entry = f.entry
                return encoder_fail(e, ENCODE_ARENA)
            if arena_type(e, f, ids + 1 + k):
                return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_prototype(
    e: cython.pointer[Encoder], f: cython.pointer[Emitted], s: cython.pointer[cython.const[State]]
) -> cython.int:
    """Appends the FUNC_PROTO of a function, after the arena types that flags of a kfunc ask for (docs/rules.md, 7.4).
    Nonzero: `e.error`.
    """
    r: cython.pointer[cython.const[uint32_t]] = class_record(e.classes, s.proto)
    count: uint32_t = r[REC_COUNT]
    ids: cython.pointer[uint32_t]  # of the return type, then of the parameters
    k: uint32_t
    at: uint32_t
    p: cython.pointer[uint32_t]
    if not u32s_reserve(cython.address(e.scratch), count + 1):
        return encoder_fail(e, ENCODE_MEMORY)
    ids = e.scratch.p
    for k in range(count + 1):
        ids[k] = assembled_id(e, s.unit, e.state_locals.p[s.locals + k])
    if f.kfunc and e.options & OPT_ATTRIBUTES and e.options & OPT_KFUNC_TAGS:
        if arena_types(e, f, ids, count):
            return 1
    p = encoder_add(e, 0, wire_info(KIND_FUNC_PROTO, count), ids[0], 2 * count)
    if p == cython.NULL:
        return 1
    if count > PLACES:
        memset(p, 0, 2 * count * cython.sizeof(uint32_t))
    for k in range(count):
        at = k % PLACES
        if k < PLACES or r[REC_HEAD + 2 * k]:  # that of `...` stays
            p[2 * at] = cut_name(e, r[REC_HEAD + 2 * k])
        p[2 * at + 1] = ids[1 + k]
        encoder_string(e, p[2 * at])
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_function_tags(
    e: cython.pointer[Encoder], f: cython.pointer[cython.const[Emitted]], s: cython.pointer[cython.const[State]]
) -> cython.int:
    """Appends the tags of the FUNC that was appended last: its own, then those of a kfunc. Nonzero: `e.error`."""
    id: uint32_t = last_id(e)
    k: uint32_t
    for k in range(s.n_anns):
        if add_tag(e, cut_name(e, e.anns.p[s.anns + 2 * k]), id, e.anns.p[s.anns + 2 * k + 1]):
            return 1
    if f.kfunc and e.options & OPT_KFUNC_TAGS and e.options & OPT_DECL_TAG:
        if add_tag(e, e.known.bpf_kfunc, id, WHOLE):
            return 1
        if f.kfunc_flags & KFUNC_FASTCALL and add_tag(e, e.known.bpf_fastcall, id, WHOLE):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emit_function(e: cython.pointer[Encoder], f: cython.pointer[Emitted]) -> cython.int:
    """Appends FUNC_PROTO, FUNC and its tags (docs/rules.md, 5.6 and 7.3). Nonzero: `e.error`."""
    s: cython.pointer[cython.const[State]] = cython.address(e.states[f.state])
    name: uint32_t = functable_head(e.table, f.entry) + 1
    if add_prototype(e, f, s):
        return 1
    if f.full_symbol_name:
        name = string_intern(e.strings, f.name, f.name_len, True)
        if name == NO_STRING:
            return encoder_fail(e, ENCODE_MEMORY)
    # The linkage is always that of a static function (Q12).
    if encoder_add(e, name, wire_info(KIND_FUNC, 0), last_id(e), 0) == cython.NULL:
        return 1
    if add_function_tags(e, f, s):
        return 1
    e.functions += 1
    return e.error


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def encoder_combine(e: cython.pointer[Encoder]) -> cython.void:
    """Merges what the units observed of functions. Touches nothing that certify.py reads or writes, nor `e.error`: both
    may be at work at the same time.
    """
    options: cython.int = 0
    if e.options & OPT_CONSISTENT:
        options |= FN_CONSISTENT
    if e.options & OPT_TRUE_SIGNATURE:
        options |= FN_TRUE_SIGNATURE
    if e.options & OPT_DEGRADE:
        options |= FN_PLAIN_NAMES
    e.combined = combine_functions(e.states, e.n_states, e.table, e.classes, options, cython.address(e.emission))


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def expect_functions(e: cython.pointer[Encoder], i: cython.size_t) -> cython.void:
    """Asks for what the functions after function `i` will need. What they refer to is all over the memory."""
    s: cython.pointer[State]
    k: uint32_t
    if i + 3 * AHEAD < e.emission.n:
        prefetch(e.states + e.emission.p[i + 3 * AHEAD].state)
    if i + 2 * AHEAD < e.emission.n:
        s = e.states + e.emission.p[i + 2 * AHEAD].state
        prefetch(class_record(e.classes, s.proto))
        prefetch(e.state_locals.p + s.locals)
    if i + AHEAD < e.emission.n and not e.keep_all:
        s = e.states + e.emission.p[i + AHEAD].state
        for k in range(min(class_record(e.classes, s.proto)[REC_COUNT] + 1, AHEAD)):
            prefetch(e.class_list.p + e.kept[s.unit].classes + e.state_locals.p[s.locals + k])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def encode_functions(e: cython.pointer[Encoder]) -> cython.int:
    """Appends the functions that are kept, by name. Nonzero: `e.error`."""
    i: cython.size_t
    CHECK(e.combined != NOT_COMBINED, "what units say of functions has not been compared")
    if e.combined != COMBINED:
        e.error_entry = e.emission.entry
        return encoder_fail(e, ENCODE_EFFORT if e.combined == COMBINE_EFFORT else ENCODE_MEMORY)
    for i in range(e.emission.n):
        expect_functions(e, i)
        if emit_function(e, cython.address(e.emission.p[i])):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def out_of_order(
    a: cython.pointer[SectionEntry], b: cython.pointer[SectionEntry], sections: cython.bint
) -> cython.bint:
    """Whether `b` has to stand before `a`; offsets compare by their difference, as a signed word."""
    if sections:
        return b.section < a.section
    return cython.cast(int32_t, a.offset - b.offset) > 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def merge_sort(
    p: cython.pointer[SectionEntry], spare: cython.pointer[SectionEntry], n: cython.size_t, sections: cython.bint
) -> cython.void:
    """Sorts stably by section, or by offset. In a section of 2 GiB or more the differences of offsets are in no order,
    and the result depends on what is compared with what: halves are merged as the C library under pahole does.
    """
    half: cython.size_t = n // 2
    a: cython.size_t = 0
    b: cython.size_t = half
    k: cython.size_t
    if n < 2:
        return
    merge_sort(p, spare, half, sections)
    merge_sort(p + half, spare, n - half, sections)
    for k in range(n):
        if b >= n or (a < half and not out_of_order(p + a, p + b, sections)):
            spare[k] = p[a]
            a += 1
        else:
            spare[k] = p[b]
            b += 1
    memcpy(p, spare, n * cython.sizeof(SectionEntry))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_entries(e: cython.pointer[Encoder]) -> cython.int:
    """Sorts by section, then each section by offset."""
    first: cython.size_t
    i: cython.size_t = 0
    spare: cython.pointer[SectionEntry]
    if e.n_entries < 2:
        return 0
    spare = cython.cast(
        cython.pointer[SectionEntry], realloc(cython.NULL, e.n_entries * cython.sizeof(SectionEntry))
    )
    if spare == cython.NULL:
        return encoder_fail(e, ENCODE_MEMORY)
    merge_sort(e.entries, spare, e.n_entries, True)
    while i < e.n_entries:
        first = i
        while i < e.n_entries and e.entries[i].section == e.entries[first].section:
            i += 1
        merge_sort(e.entries + first, spare, i - first, False)
    free(spare)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def encode_sections(
    e: cython.pointer[Encoder], names: cython.pointer[cython.const[uint32_t]], n_names: uint32_t
) -> cython.int:
    """Appends a DATASEC per section that has variables. `names`: string ids by section index."""
    i: uint32_t = 0
    k: uint32_t
    n: uint32_t
    first: uint32_t
    p: cython.pointer[uint32_t]
    if sort_entries(e):
        return 1
    while i < e.n_entries:
        first = i
        while i < e.n_entries and e.entries[i].section == e.entries[first].section:
            i += 1
        n = i - first
        if n > MAX_VLEN or e.entries[first].section >= n_names:
            e.error_entry = e.entries[first].section
            return encoder_fail(e, ENCODE_SECTION)
        p = encoder_add(
            e,
            names[e.entries[first].section],
            wire_info(KIND_DATASEC, n),
            e.entries[i - 1].offset + e.entries[i - 1].size,
            3 * n,
        )
        if p == cython.NULL:
            return 1
        for k in range(n):
            p[3 * k] = assembled_id(e, e.entries[first + k].unit, e.entries[first + k].local)
            p[3 * k + 1] = e.entries[first + k].offset
            p[3 * k + 2] = e.entries[first + k].size
    return e.error
