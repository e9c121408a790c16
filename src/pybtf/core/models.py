# cython: annotation_typing=True
"""Models: the names that the members of a type will have, judging by the base.

Most types of a module are those of its kernel. So when the name of a struct is known, and how many members it has, the
base mostly has such a struct, and the names of its members are the ones that follow. To see that a text is the one that
was expected takes a comparison; to find out which of two hundred thousand it is takes a hash, a visit to two tables
all over memory, and the same comparison.

A model only suggests. Whether it is right is seen name by name, and what is found is the id that looking it up would
have given (`string_is`), so nothing depends on models but time. A type without a name is looked for by the name of its
first member.

The lists of names are apart from the records of the base: together they are small enough to stay in a cache.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.pybtf.core.basestrings import BaseStrings
from cython.cimports.pybtf.core.memory import U32s
from cython.cimports.pybtf.core.models import *
from cython.cimports.pybtf.core.records import KIND_ENUM, KIND_ENUM64, KIND_STRUCT, KIND_UNION
from cython.cimports.pybtf.core.wirekinds import wire_each, wire_kind, wire_vlen


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def has_elements(r: cython.pointer[cython.const[uint32_t]]) -> cython.bint:
    """Whether a record has members or enumerators."""
    kind: uint32_t = wire_kind(r)
    return wire_vlen(r) != 0 and (
        kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_ENUM or kind == KIND_ENUM64
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reserve(m: cython.pointer[Models], types: cython.size_t, names: cython.size_t) -> cython.bint:
    size: cython.size_t = 16
    while size < 2 * types:
        size *= 2
    m.mask = size - 1
    m.slots = cython.cast(cython.pointer[Model], calloc(size, cython.sizeof(Model)))
    m.names = cython.cast(cython.pointer[uint32_t], malloc((names + 1) * cython.sizeof(uint32_t)))
    return m.slots != cython.NULL and m.names != cython.NULL


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
    """Makes a model of each type of a base that has members or enumerators, the first of those with one key. 0 if out
    of memory. There are none if a string is there twice, for then an id would not follow from a text, or very long.
    """
    id: uint32_t
    k: uint32_t
    key: uint32_t
    step: uint32_t
    i: cython.size_t
    types: cython.size_t = 0
    names: cython.size_t = 0
    r: cython.pointer[cython.const[uint32_t]]
    if not strings.distinct:
        return True
    for id in range(1, n):
        r = words.p + offs[id]
        if has_elements(r):
            types += 1
            names += wire_vlen(r)
    if names >> 32:
        return True
    if not reserve(m, types, names):
        return False
    names = 0
    for id in range(1, n):
        r = words.p + offs[id]
        if not has_elements(r):
            continue
        key = r[0] if r[0] else BY_MEMBER | r[3]
        if model_of(m, key, wire_vlen(r)) != cython.NULL:
            continue
        i = model_slot(key, wire_vlen(r), m.mask)
        while m.slots[i].count:
            i = (i + 1) & m.mask
        m.slots[i].key = key
        m.slots[i].count = wire_vlen(r)
        m.slots[i].first = cython.cast(uint32_t, names)
        step = wire_each(wire_kind(r))
        for k in range(wire_vlen(r)):
            m.names[names] = r[3 + step * k]
            names += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def models_free(m: cython.pointer[Models]) -> cython.void:
    free(m.slots)
    free(m.names)
