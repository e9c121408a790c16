"""Types of one BTF after those of another: their names and references get other numbers.

The words are those of a whole type section in host order, whose records have been walked once (`TypeIndex`).
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.pybtf.core.btf.record_layout import (
    W_NAME,
    RefSpan,
    wire_names,
    wire_refs,
    wire_whole,
)


def names_of(words: cython.uint[::1], seen: cython.uchar[::1], start: cython.uint) -> list:
    """The offsets of the names, each once, in the order in which records have them.

    `seen` has a zeroed byte for each offset from `start` on; names below it, or not covered by it, are left out.
    """
    found: list = []
    at: cython.size_t = 0
    end: cython.size_t = words.shape[0]
    size: cython.size_t
    i: cython.size_t
    name: uint32_t
    names: RefSpan
    room: cython.size_t = seen.shape[0]
    r: cython.pointer[uint32_t]
    while at < end:
        size = wire_whole(cython.address(words[0]), at, end)
        if size == 0:
            break
        r = cython.cast(cython.pointer[uint32_t], cython.address(words[at]))
        names = wire_names(r)
        for i in range(1 + cython.cast(cython.size_t, names.count)):
            name = r[W_NAME] if i == 0 else names.p[names.stride * (i - 1)]
            if name >= start and name - start < room and not seen[name - start]:
                seen[name - start] = 1
                found.append(name)
        at += size
    return found


def renumber(
    words: cython.uint[::1], names: dict, first_name: cython.uint, first_id: cython.uint, end_id: cython.uint,
    shift: cython.uint,
) -> cython.size_t:  # fmt: skip
    """Give names from `first_name` on the offsets in `names`, and add `shift` to references from `first_id` on.

    Returns 0, or the number of the record, counted from 1, whose kind is not known, of which a name is not in `names`,
    or which refers to a type that is not below `end_id`. Then part of the words are changed already.
    """
    at: cython.size_t = 0
    end: cython.size_t = words.shape[0]
    number: cython.size_t = 0
    size: cython.size_t
    i: cython.size_t
    refs: RefSpan
    own: RefSpan
    r: cython.pointer[uint32_t]
    name: cython.pointer[uint32_t]
    while at < end:
        number += 1
        size = wire_whole(cython.address(words[0]), at, end)
        if size == 0:
            return number
        r = cython.cast(cython.pointer[uint32_t], cython.address(words[at]))
        own = wire_names(r)
        for i in range(1 + cython.cast(cython.size_t, own.count)):
            name = r + W_NAME if i == 0 else own.p + own.stride * (i - 1)
            if name[0] >= first_name and name[0] > 0:
                new = names.get(name[0])
                if new is None:
                    return number
                name[0] = new
        refs = wire_refs(r)
        for i in range(refs.count):
            if refs.p[i * refs.stride] >= end_id:
                return number
            if refs.p[i * refs.stride] >= first_id:
                refs.p[i * refs.stride] += shift
        at += size
    return 0
