"""Models: the names that types and their members will have, judging by the base.

Most types of a module are those of its kernel. So when the name of a struct is known, and how many members it has, the
base mostly has such a struct, and the names of its members are the ones that follow. To see that a text is the one that
was expected takes a comparison; to find out which of two hundred thousand it is takes a hash, a visit to two tables
all over memory, and the same comparison.

And types come in the order of the headers they are in, which many units include. So of what type the next model is can
be expected as well: of the one that came next the last time, in whatever unit or file that was, or the one before that;
and if none did yet, of the next one in the base. That is right for nineteen of twenty types of a kernel's modules.

A model only suggests. Whether it is right is seen name by name, and what is found is the id that looking it up would
have given (`is_name`, `string_is_single`), so nothing depends on models but time. A type without a name is looked for
by the name of its first member.

The lists of names are apart from the records of the base: together they are small enough to stay in a cache.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_DATASEC,
    KIND_DECL_TAG,
    KIND_ENUM,
    KIND_ENUM64,
    KIND_FUNC,
    KIND_STRUCT,
    KIND_TYPE_TAG,
    KIND_UNION,
    KIND_VAR,
)
from cython.cimports.pybtf.core.btf.record_layout import wire_each, wire_kind, wire_vlen
from cython.cimports.pybtf.core.strings.base_strings import BaseStrings
from cython.cimports.pybtf.core.strings.name_prediction import *
from cython.cimports.pybtf.core.support.memory import U32s
from cython.cimports.pybtf.core.support.text_compare import TEXT_STEP


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def elements(r: cython.pointer[cython.const[uint32_t]]) -> uint32_t:
    """How many members or enumerators a record has."""
    kind: uint32_t = wire_kind(r)
    if kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_ENUM or kind == KIND_ENUM64:
        return wire_vlen(r)
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_name(b: cython.pointer[cython.const[BaseStrings]], at: uint32_t) -> cython.bint:
    """Whether looking up the text at an offset of the base may lead there: it is a whole string, and not an empty one.
    It must also be far enough from the end that nobody has to ask how much of it there is.
    """
    return 0 < at < b.size and b.size - at >= TEXT_STEP and b.text[at - 1] == 0 and b.text[at] != 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def model_key(b: cython.pointer[cython.const[BaseStrings]], r: cython.pointer[cython.const[uint32_t]]) -> uint32_t:
    """What a record is looked for by, 0: it gets no model."""
    kind: uint32_t = wire_kind(r)
    if kind == KIND_FUNC or kind == KIND_VAR or kind == KIND_DATASEC or kind == KIND_DECL_TAG or kind == KIND_TYPE_TAG:
        return 0
    if r[0]:
        return r[0] if is_name(b, r[0]) else 0
    return BY_MEMBER | r[3] if elements(r) and is_name(b, r[3]) else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reserve(m: cython.pointer[Models], types: cython.size_t, names: cython.size_t) -> cython.bint:
    size: cython.size_t = 16
    while size < 2 * types:
        size *= 2
    m.mask = size - 1
    m.n = 1
    m.slots = cython.cast(cython.pointer[uint32_t], calloc(size, cython.sizeof(uint32_t)))
    m.all = cython.cast(cython.pointer[Model], malloc((types + 2) * cython.sizeof(Model)))
    m.names = cython.cast(cython.pointer[uint32_t], malloc((names + 1) * cython.sizeof(uint32_t)))
    if m.slots == cython.NULL or m.all == cython.NULL or m.names == cython.NULL:
        return False
    memset(m.all, 0, cython.sizeof(Model))
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_model(m: cython.pointer[Models], key: uint32_t, count: uint32_t, first: uint32_t) -> cython.bint:
    """Adds a model, for which there is room, if none has its key and count. False: one has."""
    i: cython.size_t = model_slot(key, count, m.mask)
    made: cython.pointer[Model] = m.all + m.n
    while m.slots[i]:
        if m.all[m.slots[i]].key == key and m.all[m.slots[i]].count == count:
            return False
        i = (i + 1) & m.mask
    m.slots[i] = m.n
    made.key = key
    made.count = count
    made.first = first
    made.next = made.other = 0
    m.n += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def models_index(
    m: cython.pointer[Models],
    strings: cython.pointer[cython.const[BaseStrings]],
    words: cython.pointer[cython.const[U32s]],
    offs: cython.pointer[cython.const[uint64_t]],
    n: uint32_t,
) -> cython.bint:
    """Makes a model of each type of a base that has a name or elements, the first of those with one key. 0 if out of
    memory. There are none if a string occurs twice, for then an id would not follow from a text, or very long.
    """
    id: uint32_t
    at: uint32_t
    k: uint32_t
    count: uint32_t
    step: uint32_t
    types: cython.size_t = 0
    names: cython.size_t = 0
    r: cython.pointer[cython.const[uint32_t]]
    if not strings.distinct:
        return True
    for id in range(1, n):
        r = words.p + offs[id]
        if model_key(strings, r):
            types += 2
            names += elements(r)
    if names >> 32:
        return True
    if not reserve(m, types, names):
        return False
    names = 0
    for id in range(1, n):
        r = words.p + offs[id]
        count = elements(r)
        at = model_key(strings, r)
        if at and add_model(m, at, count, cython.cast(uint32_t, names)):
            step = wire_each(wire_kind(r))
            for k in range(count):
                at = r[3 + step * k]
                m.names[names] = at if is_name(strings, at) else 0
                names += 1
    # What is a struct in the base may be only declared in a module.
    for at in range(1, m.n):
        if m.all[at].count and not m.all[at].key & BY_MEMBER:
            add_model(m, m.all[at].key, 0, 0)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def models_free(m: cython.pointer[Models]) -> cython.void:
    free(m.slots)
    free(m.all)
    free(m.names)
