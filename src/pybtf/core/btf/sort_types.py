"""The types of a BTF in another order, by name, and their references after them.

The words are those of a whole type section in host order.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.string import memcpy
from cython.cimports.pybtf.core.btf.record_layout import W_NAME, RefSpan, wire_refs, wire_whole


def own_names(words: cython.uint[::1]) -> set:
    """The offsets of the names of types, without those of members, enumerators and parameters."""
    found: set = set()
    at: cython.size_t = 0
    end: cython.size_t = words.shape[0]
    size: cython.size_t
    while at < end:
        size = wire_whole(cython.address(words[0]), at, end)
        if size == 0:
            break
        found.add(words[at + W_NAME])
        at += size
    return found


def sort_types(
    words: cython.uint[::1], ranks: dict, room: cython.uint[:, ::1], out: cython.uint[::1], ids: cython.uint[::1],
    first_id: cython.uint,
) -> cython.size_t:  # fmt: skip
    """Put the records into `out` by the ranks of their names, and the new id of each type into `ids`.

    `ranks` has a number for the offset of each name; records with the same number keep their order. References to ids
    below `first_id` stay. `room` is zeroed, two rows as long as there are ranks. Returns 0, or the number of the
    record, counted from 1, that is not whole, whose name has no rank, or that refers to a type there is not.
    """
    end: cython.size_t = words.shape[0]
    count: cython.size_t = ids.shape[0]
    bad: cython.size_t
    if out.shape[0] != words.shape[0] or room.shape[0] != 2 or end > 0xFFFFFFFF or count > 0xFFFFFFFF - first_id:
        raise ValueError("rooms of other lengths")
    bad = count_ranks(words, ranks, room, ids, first_id)
    if bad:
        return bad
    place_ranks(room, first_id)
    move(words, room, out, ids)
    renumber(out, ids, first_id)
    return 0


@cython.cfunc
def count_ranks(
    words: cython.uint[::1], ranks: dict, room: cython.uint[:, ::1], ids: cython.uint[::1], first_id: cython.uint
) -> cython.size_t:
    """How many words and types each rank has, into `room`, and the rank of each type into `ids`. Returns as
    `sort_types`.
    """
    at: cython.size_t = 0
    end: cython.size_t = words.shape[0]
    size: cython.size_t
    i: cython.size_t
    n: cython.size_t = 0
    rank: cython.size_t
    n_ranks: cython.size_t = room.shape[1]
    count: cython.size_t = ids.shape[0]
    refs: RefSpan
    ref: cython.pointer[uint32_t]
    while at < end:
        size = wire_whole(cython.address(words[0]), at, end)
        found = ranks.get(words[at + W_NAME]) if size and n < count else None
        rank = found if found is not None else n_ranks
        if rank >= n_ranks:
            return n + 1
        refs = wire_refs(cython.cast(cython.pointer[uint32_t], cython.address(words[at])))
        for i in range(refs.count):
            ref = refs.p + i * refs.stride
            if ref[0] >= first_id and ref[0] - first_id >= count:
                return n + 1
        ids[n] = cython.cast(uint32_t, rank)
        room[0, rank] += cython.cast(uint32_t, size)
        room[1, rank] += 1
        n += 1
        at += size
    return n + 1 if n != count else 0


@cython.cfunc
def place_ranks(room: cython.uint[:, ::1], first_id: cython.uint) -> cython.void:
    """From how many words and types each rank has to where its first one goes."""
    i: cython.size_t
    length: uint32_t = 0
    next_id: uint32_t = first_id
    amount: uint32_t
    for i in range(room.shape[1]):
        amount = room[0, i]
        room[0, i] = length
        length += amount
        amount = room[1, i]
        room[1, i] = next_id
        next_id += amount


@cython.cfunc
def move(
    words: cython.uint[::1], room: cython.uint[:, ::1], out: cython.uint[::1], ids: cython.uint[::1]
) -> cython.void:
    """Each record to its place; `ids` then has new ids in place of ranks."""
    at: cython.size_t = 0
    size: cython.size_t
    i: cython.size_t
    rank: cython.size_t
    for i in range(ids.shape[0]):
        size = wire_whole(cython.address(words[0]), at, words.shape[0])
        rank = ids[i]
        ids[i] = room[1, rank]
        room[1, rank] += 1
        memcpy(cython.address(out[room[0, rank]]), cython.address(words[at]), size * cython.sizeof(uint32_t))
        room[0, rank] += cython.cast(uint32_t, size)
        at += size


@cython.cfunc
def renumber(out: cython.uint[::1], ids: cython.uint[::1], first_id: cython.uint) -> cython.void:
    """References follow their types."""
    at: cython.size_t = 0
    end: cython.size_t = out.shape[0]
    i: cython.size_t
    refs: RefSpan
    ref: cython.pointer[uint32_t]
    while at < end:
        refs = wire_refs(cython.cast(cython.pointer[uint32_t], cython.address(out[at])))
        for i in range(refs.count):
            ref = refs.p + i * refs.stride
            if ref[0] >= first_id:
                ref[0] = ids[ref[0] - first_id]
        at += wire_whole(cython.address(out[0]), at, end)
