"""De-duplication of BTF types: many units in, each distinct type once out, in the bytes of libbpf.

The rules are in docs/rules.md, 9. The hard part is not to find duplicates but to choose, among
equal types, the one libbpf keeps, because survivors stay where they were and keep their number. Three
things decide that:

* the order in which types are processed, phase by phase: primitives, structs and typedefs, forwards,
  references;
* the order in which candidates of one hash are tried (`candidates.pxd`);
* what a successful comparison of two structs decides beyond its own question (`equivalence.py`).

A reference type (pointer, array, prototype, ...) is processed after what it refers to, so the first of
several equal ones to survive is the one reached first by that recursion, not the first in the list.

Here is the sequence of phases (`phases.py`, `reference_types.py`), and the way from raw BTF to raw BTF. The encoder
calls `dedup_run` on its own records.
"""


import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.type_section import WIRE_HEADER, wire_compact, wire_store, wire_store_header
from cython.cimports.pybtf.core.dedup.base import Base, Space, room_reserve
from cython.cimports.pybtf.core.dedup.candidates import candidates_expect, candidates_free, candidates_init
from cython.cimports.pybtf.core.dedup.dedup import DedupError, DedupInput
from cython.cimports.pybtf.core.dedup.phases import (
    Work,
    dedup_primitives,
    dedup_structs,
    enter_types,
    flatten,
    resolve_forwards,
    restore_base,
    rewrite_survivors,
)
from cython.cimports.pybtf.core.dedup.reference_types import dedup_references
from cython.cimports.pybtf.core.dedup.refuted import STRIKES, refuted_free, usual_patience
from cython.cimports.pybtf.core.dedup.type_graph import (
    DEDUP_CYCLE,
    DEDUP_EFFORT,
    DEDUP_KIND,
    DEDUP_LARGE,
    DEDUP_MEMORY,
    DEDUP_OK,
    EFFORT_BASE,
    EFFORT_PER_TYPE,
    FINAL,
    ID_MASK,
    BaseTypes,
    Node,
    TypeGraph,
)
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.memory import u32s_free

from pybtf.core.btf.type_section import wire_header
from pybtf.errors import InputError, Place

MOST_EXPECTED = cython.declare(uint32_t, 1 << 17)  # chains of a kernel; a list may consist of repeats


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def start_tables(w: cython.pointer[Work]) -> cython.bint:
    """The tables before the first own type: empty, or on those of the base. 0 if out of memory."""
    n: uint32_t = w.g.n
    first: uint32_t = w.g.first_own
    base: cython.pointer[cython.const[BaseTypes]] = w.g.base
    if base == cython.NULL:
        return (
            candidates_init(cython.address(w.table), n, cython.NULL, 0)
            and candidates_expect(cython.address(w.table), min(n // 2, MOST_EXPECTED))
            and candidates_init(cython.address(w.enums), n, cython.NULL, 0)
            and candidates_init(cython.address(w.mixed), n, cython.NULL, 0)
        )
    return (
        candidates_init(cython.address(w.table), n, cython.address(base.table), first)
        and candidates_init(cython.address(w.enums), n, cython.address(base.enums), first)
        and candidates_init(cython.address(w.mixed), n, cython.address(base.mixed), first)
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_given(g: cython.pointer[TypeGraph], input: cython.pointer[cython.const[DedupInput]]) -> cython.void:
    """Holds the caller to what it has said of definitions."""
    i: cython.size_t
    for i in range(input.n_resolved // 3):
        CHECK(
            g.nodes[input.resolved[3 * i + 1]].map == (FINAL | input.resolved[3 * i + 1]),
            "a declaration was resolved to a type that is mapped to another one",
        )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin(w: cython.pointer[Work], input: cython.pointer[cython.const[DedupInput]]) -> cython.int:
    """Makes what the phases need, the nodes of a base aside, which are in its room. A DEDUP_* status."""
    g: cython.pointer[TypeGraph] = cython.address(w.g)
    memset(w, 0, cython.sizeof(Work))
    g.words = input.words
    g.n = input.n
    g.first_own = input.first_own
    g.effort = EFFORT_BASE + EFFORT_PER_TYPE * cython.cast(uint64_t, input.n)
    g.base = input.base
    g.likeless = not input.likes
    g.refuted.patience = input.patience
    g.refuted.strikes = STRIKES if input.base == cython.NULL else 0
    g.refuted.names.stamp = g.refuted.pairs.stamp = 1  # 0 is that of an empty slot
    if input.base == cython.NULL:
        g.nodes = cython.cast(cython.pointer[Node], malloc(input.n * cython.sizeof(Node)))
    else:
        g.nodes = input.room.nodes
        g.likes = cython.cast(cython.pointer[uint32_t], calloc(input.n - input.first_own + 1, cython.sizeof(uint32_t)))
        if g.likes == cython.NULL:
            return DEDUP_MEMORY
    if g.nodes == cython.NULL or not start_tables(w):
        return DEDUP_MEMORY
    return DEDUP_OK if input.n <= ID_MASK else DEDUP_LARGE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def run_phases(
    w: cython.pointer[Work], input: cython.pointer[cython.const[DedupInput]], map: cython.pointer[uint32_t]
) -> cython.int:
    """All phases, in their order. A DEDUP_* status."""
    g: cython.pointer[TypeGraph] = cython.address(w.g)
    status: cython.int = enter_types(w, input.offs)
    if status == DEDUP_OK:
        status = dedup_primitives(w)
    if status == DEDUP_OK:
        status = dedup_structs(w, input.resolved, input.n_resolved)
    if status != DEDUP_OK:
        return status
    check_given(g, input)
    status = resolve_forwards(w)
    if status != DEDUP_OK:
        return status
    flatten(g, map)
    status = dedup_references(w, map)
    if status == DEDUP_OK:
        rewrite_survivors(g, map)
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def end(w: cython.pointer[Work], input: cython.pointer[cython.const[DedupInput]]) -> cython.void:
    """Frees what `begin` has made, as far as it came, and what the phases have added."""
    g: cython.pointer[TypeGraph] = cython.address(w.g)
    candidates_free(cython.address(w.table))
    candidates_free(cython.address(w.enums))
    candidates_free(cython.address(w.mixed))
    u32s_free(cython.address(w.primitives))
    u32s_free(cython.address(w.composites))
    u32s_free(cython.address(w.references))
    u32s_free(cython.address(w.structs))
    u32s_free(cython.address(w.forwards))
    u32s_free(cython.address(g.touched))
    u32s_free(cython.address(g.replaced))
    refuted_free(cython.address(g.refuted))
    if input.base == cython.NULL:
        free(g.nodes)
    free(g.likes)
    free(g.frames)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def dedup_run(
    input: cython.pointer[DedupInput], map: cython.pointer[uint32_t], error: cython.pointer[DedupError]
) -> cython.int:
    """See `dedup.pxd`."""
    w = cython.declare(Work)
    status: cython.int = begin(cython.address(w), input)
    if status == DEDUP_OK:
        status = run_phases(cython.address(w), input, map)
    if input.base != cython.NULL:
        restore_base(cython.address(w.g), map)
        input.room.changed = w.g.base_changed or status != DEDUP_OK
    end(cython.address(w), input)
    error.code = status
    error.id = w.g.bad
    return status


REASONS = {
    DEDUP_CYCLE: (
        "type {id} is part of a cycle of reference types",
        "a cycle to pass through a struct or union",
    ),
    DEDUP_KIND: (
        "type {id} is reached from a struct or typedef but its kind cannot be compared",
        "a type of C",
    ),
    DEDUP_LARGE: ("type {id} is too far into the list", "less than 16 GiB of types"),
    DEDUP_EFFORT: ("comparing type {id} takes too many steps", "BTF made by a compiler or encoder"),
}


def dedup_btf(
    data: bytes, base: object = None, *, name: str = "BTF", base_name: str = "base BTF", patience: object = None
) -> bytes:
    """De-duplicate raw BTF; with `base`, raw BTF or a `Base`, BTF that is split from it.

    Either byte order is read; the result has that of `data`, a header of 24 bytes, and the string section as
    it was. `name` and `base_name` are what messages call the two; `patience` is for tests (refuted.py). Raises
    `InputError` when either is damaged, or holds a graph of types that cannot be de-duplicated.
    """
    below: Base = Base(base, base_name) if isinstance(base, bytes) else base
    space: Space
    input = cython.declare(DedupInput)
    error = cython.declare(DedupError)
    number: cython.pointer[uint32_t] = cython.NULL
    words: cython.size_t = 0
    strings: cython.ulonglong
    swap: cython.bint
    header = wire_header(data, name, below is not None)
    swap, _, _, str_at, str_len = header
    strings = str_len
    input.first_own = 1
    input.base = cython.NULL
    input.likes = True
    input.n_resolved = 0
    if below is not None:
        strings += below.strings.size
        if strings > 0xFFFFFFFF:
            raise InputError(Place(name, "strings"), f"{strings} bytes of strings", "less than 4 GiB")
        space = below.take()
        input.base = cython.address(below.types)
        input.first_own = below.types.n
    else:
        space = Space()
    space.load(
        cython.cast(cython.pointer[cython.const[cython.uchar]], data), name, header, cython.cast(uint32_t, strings)
    )
    input.words = space.r.words.p
    input.offs = cython.cast(cython.pointer[cython.size_t], space.r.offs.p)
    input.n = cython.cast(uint32_t, space.r.offs.n)
    input.patience = usual_patience(input.n) if patience is None else patience
    input.room = cython.address(space.r)
    number = cython.cast(cython.pointer[uint32_t], malloc(space.r.offs.n * cython.sizeof(uint32_t)))
    if number == cython.NULL or not room_reserve(cython.address(space.r), space.r.offs.n):
        free(number)
        raise MemoryError
    with cython.nogil:
        if dedup_run(cython.address(input), space.r.map, cython.address(error)) == DEDUP_OK:
            words = wire_compact(input.words, input.offs, input.first_own, input.n, space.r.map, number)
    free(number)
    if error.code != DEDUP_OK:
        raise failure(name, cython.address(input), cython.address(error))
    out = raw_result(cython.address(input), words, data[str_at : str_at + str_len], swap)
    if below is not None:
        below.give(space)
    return out


@cython.cfunc
def failure(
    name: str, input: cython.pointer[cython.const[DedupInput]], error: cython.pointer[cython.const[DedupError]]
):
    """The exception for a de-duplication of raw BTF that has failed."""
    if error.code == DEDUP_MEMORY:
        return MemoryError()
    found, expected = REASONS[error.code]
    at = 0
    if error.id >= input.first_own:
        at = 4 * (input.offs[error.id] - input.offs[input.first_own])
    return InputError(Place(name, "types", at), found.format(id=error.id), expected)


@cython.cfunc
def raw_result(
    input: cython.pointer[cython.const[DedupInput]], words: cython.size_t, strings: bytes, swap: cython.bint
) -> bytes:
    """Raw BTF of the own types that are left, which have so many words."""
    out: bytearray = bytearray(WIRE_HEADER + 4 * words)
    view: cython.pointer[cython.uchar] = out
    wire_store_header(view, cython.cast(uint32_t, 4 * words), cython.cast(uint32_t, len(strings)), swap)
    with cython.nogil:
        if words:
            wire_store(view + WIRE_HEADER, input.words + input.offs[input.first_own], words, swap)
    out += strings
    return bytes(out)
