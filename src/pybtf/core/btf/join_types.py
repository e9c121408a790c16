"""Types of one BTF behind those of another: their names and references get other numbers.

The words are those of a whole type section in host order, whose records have been walked once (`TypeIndex`).
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.pybtf.core.btf.record_layout import (
    W_NAME,
    RefSpan,
    wire_fixed,
    wire_kind,
    wire_named_each,
    wire_refs,
    wire_vlen,
    wire_words,
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
    step: cython.size_t
    name: uint32_t
    room: cython.size_t = seen.shape[0]
    r: cython.pointer[uint32_t]
    while at + 3 <= end:
        r = cython.cast(cython.pointer[uint32_t], cython.address(words[at]))
        size = wire_words(r[1])
        if size == 0 or size > end - at:
            break
        step = wire_named_each(wire_kind(r))
        for i in range(1 + (wire_vlen(r) if step else 0)):
            name = r[W_NAME] if i == 0 else r[3 + wire_fixed(wire_kind(r)) + step * (i - 1)]
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
    step: cython.size_t
    where: cython.size_t
    refs: RefSpan
    r: cython.pointer[uint32_t]
    while at < end:
        number += 1
        if end - at < 3:
            return number
        r = cython.cast(cython.pointer[uint32_t], cython.address(words[at]))
        size = wire_words(r[1])
        if size == 0 or size > end - at:
            return number
        step = wire_named_each(wire_kind(r))
        for i in range(1 + (wire_vlen(r) if step else 0)):
            where = W_NAME if i == 0 else 3 + wire_fixed(wire_kind(r)) + step * (i - 1)
            if r[where] >= first_name and r[where] > 0:
                new = names.get(r[where])
                if new is None:
                    return number
                r[where] = new
        refs = wire_refs(r)
        for i in range(refs.count):
            if refs.p[i * refs.stride] >= end_id:
                return number
            if refs.p[i * refs.stride] >= first_id:
                refs.p[i * refs.stride] += shift
        at += size
    return 0
