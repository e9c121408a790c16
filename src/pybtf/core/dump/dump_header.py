"""A whole header of C: the frame that bpftool puts around it, the types in their order, the kernel's functions."""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t
from cython.cimports.libc.stdlib import calloc, free, qsort
from cython.cimports.libc.string import memset, strcmp, strlen
from cython.cimports.pybtf.core.btf.kinds import KIND_DECL_TAG, KIND_FUNC
from cython.cimports.pybtf.core.btf.record_layout import wire_kind
from cython.cimports.pybtf.core.btf.type_view import View, view_name, view_record
from cython.cimports.pybtf.core.dump.dump_c import (
    C_CYCLE,
    C_DEEP,
    C_EFFORT,
    C_KIND,
    C_MEMORY,
    C_OK,
    MAX_CHAIN,
    MAX_DEPTH,
    CDump,
    c_declaration,
    c_emit,
    c_fail,
)
from cython.cimports.pybtf.core.dump.dump_c_names import tag_bit
from cython.cimports.pybtf.core.dump.dump_c_order import mark_referenced, order_type
from cython.cimports.pybtf.core.dump.dump_c_words import Words, word_faults, words_init
from cython.cimports.pybtf.core.dump.dump_header import AFTER_KFUNCS, BEFORE_KFUNCS, END, START, Kfunc
from cython.cimports.pybtf.core.dump.dump_layout import check_chains
from cython.cimports.pybtf.core.dump.dump_names import names_free
from cython.cimports.pybtf.core.dump.dump_sort import sort_types
from cython.cimports.pybtf.core.dump.text_buffer import TEXT_MEMORY, Text, put, text_free
from cython.cimports.pybtf.core.support.memory import U32s, u32s_free, u32s_push

from pybtf.core.dump.dump_c_names import c_names

FREE_EFFORT = cython.declare(cython.size_t, 1 << 26)
NO_COMPONENT = cython.declare(uint32_t, 0xFFFFFFFF)
EFFORT_PER_WORD = cython.declare(cython.size_t, 256)

@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compare(a: cython.p_const_void, b: cython.p_const_void) -> cython.int:
    left: cython.pointer[cython.const[Kfunc]] = cython.cast(cython.pointer[cython.const[Kfunc]], a)
    right: cython.pointer[cython.const[Kfunc]] = cython.cast(cython.pointer[cython.const[Kfunc]], b)
    order: cython.int = strcmp(left.name, right.name)
    if order:
        return order
    return -1 if left.id < right.id else 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def tagged(d: cython.pointer[CDump], id: uint32_t, tag: cython.p_const_char) -> uint32_t:
    """The function, as a whole, that the declaration tag with this id gives this name to; 0 if it is another tag."""
    r: cython.pointer[uint32_t] = view_record(d.v, id)
    if wire_kind(r) != KIND_DECL_TAG or r[3] != NO_COMPONENT or r[2] == 0:
        return 0
    if wire_kind(view_record(d.v, r[2])) != KIND_FUNC:
        return 0
    return r[2] if strcmp(view_name(d.v, r[0]), tag) == 0 else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def can_compare(d: cython.pointer[CDump], name: cython.p_const_char, id: uint32_t) -> cython.bint:
    """Whether a name may be sorted. Tags are small, and any number of them may be about functions of one long name."""
    size: cython.size_t = strlen(name)
    if size > d.effort:
        c_fail(d, C_EFFORT, id)
        return False
    d.effort -= size
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emit_kfuncs(d: cython.pointer[CDump]) -> cython.void:
    """The functions that BPF programs may call, by name; tags tell them."""
    kfuncs: cython.pointer[Kfunc]
    fast: cython.pointer[uint8_t]
    count: cython.size_t = 0
    i: cython.size_t
    id: uint32_t
    of: uint32_t
    length: uint32_t
    words = cython.declare(Words)
    t: cython.pointer[Text] = cython.address(d.out)
    for id in range(1, d.v.n):
        count += tagged(d, id, b"bpf_kfunc") != 0
    kfuncs = cython.cast(cython.pointer[Kfunc], calloc(count + 1, cython.sizeof(Kfunc)))
    fast = cython.cast(cython.pointer[uint8_t], calloc(d.v.n, 1))
    if kfuncs == cython.NULL or fast == cython.NULL:
        c_fail(d, C_MEMORY, 0)
        count = 0
    else:
        count = 0
        for id in range(1, d.v.n):
            of = tagged(d, id, b"bpf_fastcall")
            if of:
                fast[of] = 1
            of = tagged(d, id, b"bpf_kfunc")
            if of:
                kfuncs[count].name = view_name(d.v, view_record(d.v, of)[0])
                kfuncs[count].id = of
                if not can_compare(d, kfuncs[count].name, of):
                    count = 0
                    break
                count += 1
        qsort(kfuncs, count, cython.sizeof(Kfunc), compare)
    words_init(cython.address(words))
    for i in range(count):
        of = kfuncs[i].id
        d.unlike |= kfuncs[i].name[0] and word_faults(cython.address(words), kfuncs[i].name, cython.address(length))
        put(t, b"extern ")
        if fast[of]:
            put(t, b"__bpf_fastcall ")
        c_declaration(d, view_record(d.v, of)[2], kfuncs[i].name, 1, 0)
        put(t, b" __weak __ksym;\n")
    free(kfuncs)
    free(fast)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emit_types(d: cython.pointer[CDump], ids: cython.pointer[U32s]) -> cython.void:
    """Types and what they need."""
    i: cython.size_t
    k: cython.size_t
    for i in range(ids.n):
        d.queue.n = 0
        if order_type(d, ids.p[i], False) < 0:
            return
        for k in range(d.queue.n):
            c_emit(d, d.queue.p[k], 0)
        if d.status:
            return


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def all_types(d: cython.pointer[CDump], ids: cython.pointer[U32s], sorted: cython.bint) -> cython.void:
    """Fill `ids` with the types there are, those of the base, too."""
    id: uint32_t
    if sorted:
        if not sort_types(d, ids):
            c_fail(d, C_MEMORY, 0)
        return
    for id in range(1, d.v.n):
        if not u32s_push(ids, id):
            c_fail(d, C_MEMORY, 0)
            return


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def header(d: cython.pointer[CDump], ids: cython.pointer[U32s], sorted: cython.bint) -> cython.void:
    """The text, of the types `ids`, or of all if there are none."""
    every: cython.bint = ids.n == 0
    if check_chains(d) != C_OK:
        return
    mark_referenced(d)
    if every:
        all_types(d, ids, sorted)
    put(cython.address(d.out), START)
    emit_types(d, ids)
    if every and d.status == C_OK:
        put(cython.address(d.out), BEFORE_KFUNCS)
        emit_kfuncs(d)
        put(cython.address(d.out), AFTER_KFUNCS)
    put(cython.address(d.out), END)


REASONS = {
    C_CYCLE: ("type {id} contains itself", "a pointer, or a struct with a name, between the two"),
    C_DEEP: ("type {id} nests too deeply", f"at most {MAX_CHAIN} references in a row, and {MAX_DEPTH} levels"),
    C_KIND: ("type {id} is used in a declaration, where a type of its kind cannot be", "a type of C"),
    C_EFFORT: (
        "the header takes too many steps, or becomes too long, at type {id}",
        "BTF made by a compiler or encoder",
    ),
}


def dump_header(
    view: View,
    chosen: object = (),
    sorted: cython.bint = True,
    effort: cython.size_t = FREE_EFFORT,
    as_is: cython.bint = False,
) -> bytes:
    """The header as `bpftool btf dump ... format c` writes it, `unsorted` or not.

    What C cannot say is replaced (dump_c_names.py), unless all is to be written `as_is`.
    `chosen` are the ids of the types that are wanted, with what they need; without any, all, the base's, too. `effort`
    is the number of steps and bytes that any BTF may take, in addition to those for its length. Raises `InputError` if
    a type contains itself, or is not one of C, or if it takes more.
    """
    most: cython.size_t = effort + EFFORT_PER_WORD * view.n_words
    unlike = cython.declare(cython.bint)
    other: object = None
    used: View
    bad: uint32_t = 0
    mixed: cython.bint = False
    text: bytes
    for id in chosen:
        if not 0 < id < view.v.n:
            raise IndexError(id)
    if not as_is:
        other, bad, mixed = c_names(view, most)
    if not bad:
        used = view if other is None else other
        text = written(view, used, chosen, sorted, most, mixed, cython.address(unlike))
        if as_is or not unlike or other is not None:
            return text
        other, bad, mixed = c_names(view, most, True)
    if bad:
        refuse(view, C_EFFORT, bad)
    used = view if other is None else other
    return written(view, used, chosen, sorted, most, False, cython.address(unlike))


@cython.cfunc
def refuse(view: View, status: cython.int, id: uint32_t):
    found, expected = REASONS[status]
    view.fail(id, 0, found.format(id=id), expected)


@cython.cfunc
def names_clash(d: cython.pointer[CDump]) -> cython.bint:
    """Whether a header that is written declares `struct a` and has a union or an enum that is called so, too."""
    tags: dict = {}
    id: uint32_t
    tag: uint8_t
    r: cython.pointer[uint32_t]
    for id in range(1, d.v.n):
        r = view_record(d.v, id)
        tag = tag_bit(r)
        if d.use[id] == 1 and tag and r[0]:
            if tags.setdefault(r[0], tag) != tag:
                return True
    return False


@cython.cfunc
def written(
    given: View,
    view: View,
    chosen: object,
    sorted: cython.bint,
    most: cython.size_t,
    mixed: cython.bint,
    unlike: cython.pointer[cython.bint],
) -> bytes:
    """The header of a view that is made of the one that was given, or is that one.

    `unlike`: whether something is as C has it not. `mixed`: names are to be looked at for that, too.
    """
    ids = cython.declare(U32s)
    d = cython.declare(CDump)
    memset(cython.address(ids), 0, cython.sizeof(U32s))
    memset(cython.address(d), 0, cython.sizeof(CDump))
    d.v = cython.address(view.v)
    d.effort = most
    d.out.limit = d.effort
    try:
        for id in chosen:
            if not u32s_push(cython.address(ids), id):
                raise MemoryError
        d.state = cython.cast(cython.pointer[uint8_t], calloc(view.v.n, 1))
        d.alignment = cython.cast(cython.pointer[uint8_t], calloc(view.v.n, 1))
        d.use = cython.cast(cython.pointer[uint32_t], calloc(view.v.n, cython.sizeof(uint32_t)))
        if d.state == cython.NULL or d.alignment == cython.NULL or d.use == cython.NULL:
            raise MemoryError
        with cython.nogil:
            header(cython.address(d), cython.address(ids), sorted)
        if d.status == C_MEMORY or d.out.status == TEXT_MEMORY:
            raise MemoryError
        if d.status == C_OK and d.out.status:
            c_fail(cython.address(d), C_EFFORT, 0)
        if d.status != C_OK:
            refuse(given, d.status, d.bad if d.bad < given.v.n else 0)
        unlike[0] = d.unlike or (mixed and names_clash(cython.address(d)))
        return d.out.p[: d.out.n]
    finally:
        text_free(cython.address(d.out))
        names_free(cython.address(d.tags))
        names_free(cython.address(d.identifiers))
        u32s_free(cython.address(d.queue))
        u32s_free(cython.address(d.chain))
        u32s_free(cython.address(ids))
        free(d.state)
        free(d.alignment)
        free(d.use)
