"""Functions: from what all units observed about each function to the ones that are emitted.

A function of the symbol table may have been seen many times: inlined in some units, compiled in others, with
parameters optimised away here and whole there. All these states of one entry are combined. If they contradict
each other, or the convention, the function is left out: better no prototype than a wrong one. Else one of
them, the canonical state, gives the prototype.

The order decides in three cases: which state is compared with all others (the first), which is canonical,
and in which order flags flow from state to state. So the states are sorted once, stably: by entry, those with
an address first. Entries are in name order already; with several input files entries of one name are
neighbours and sort as one, which may split the states of one entry into two runs. Each run then stands for
itself (Q30).

When two prototypes agree is the matter of prototype_match.py.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc, qsort, realloc
from cython.cimports.libc.string import memcmp, memset, strlen
from cython.cimports.pybtf.core.classes.class_record import ClassTable
from cython.cimports.pybtf.core.classes.plain_names import LONGEST_PLAIN, is_plain
from cython.cimports.pybtf.core.elf.function_table import SYM_CLONE, SYM_SUFFIXED, FuncTable
from cython.cimports.pybtf.core.functions.function_merge import (
    COMBINE_EFFORT,
    COMBINE_MEMORY,
    COMBINED,
    FATE_AMBIGUOUS,
    FATE_EMITTED,
    FATE_INCONSISTENT,
    FATE_INVALID_NAME,
    FATE_OPTIMIZED,
    FATE_REORDERED,
    FATE_UNCERTAIN,
    FATE_UNEXPECTED,
    FN_CONSISTENT,
    FN_PLAIN_NAMES,
    FN_TRUE_SIGNATURE,
    NO_SUFFIXED,
    Combiner,
    Emission,
    Emitted,
    Site,
)
from cython.cimports.pybtf.core.functions.prototype_match import (
    MATCH_EFFORT,
    MATCH_NO,
    matcher_compare,
    matcher_free,
    matcher_init,
)
from cython.cimports.pybtf.core.model.function_state import (
    S_INCONSISTENT,
    S_OPTIMIZED,
    S_REORDERED,
    S_SIGNATURE_CHANGED,
    S_UNCERTAIN,
    S_UNEXPECTED,
    State,
)

# ---------------------------------------------------------------- the symbols of one entry


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def by_value(a: cython.p_const_void, b: cython.p_const_void) -> cython.int:
    x: cython.pointer[cython.const[Site]] = cython.cast(cython.pointer[cython.const[Site]], a)
    y: cython.pointer[cython.const[Site]] = cython.cast(cython.pointer[cython.const[Site]], b)
    if x.value != y.value:
        return -1 if x.value < y.value else 1
    return -1 if x.suffixed < y.suffixed else x.suffixed > y.suffixed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_sites(c: cython.pointer[Combiner], entry: uint32_t) -> cython.bint:
    """Collect the addresses of the entry's symbols, each once, with what the symbols there have in common."""
    t: cython.pointer[cython.const[FuncTable]] = c.table
    first: uint32_t = t.first[entry]
    n: uint32_t = t.first[entry + 1] - first
    p: cython.pointer[Site]
    i: uint32_t
    if n > c.cap_sites:
        p = cython.cast(cython.pointer[Site], realloc(c.sites, n * cython.sizeof(Site)))
        if p == cython.NULL:
            return False
        c.sites = p
        c.cap_sites = n
    for i in range(n):
        c.sites[i].value = t.value[first + i]
        c.sites[i].clone = (t.sym_flags[first + i] & SYM_CLONE) != 0
        c.sites[i].suffixed = first + i if t.sym_flags[first + i] & SYM_SUFFIXED else NO_SUFFIXED
    c.n_sites = n
    if n < 2:
        return True
    qsort(c.sites, n, cython.sizeof(Site), by_value)
    c.n_sites = 1
    p = c.sites
    for i in range(1, n):
        if c.sites[i].value == p.value:
            p.clone |= c.sites[i].clone  # `suffixed` is the first already
        else:
            p += 1
            p[0] = c.sites[i]
            c.n_sites += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def site_of(c: cython.pointer[Combiner], address: uint64_t) -> cython.pointer[Site]:
    """What the entry's symbols say about an address; NULL if there is none.

    In a relocatable file there hardly ever is one: symbols have offsets in their sections, and DWARF the addresses of
    sections that have been laid out (Q5).
    """
    low: uint32_t = 0
    high: uint32_t = c.n_sites
    middle: uint32_t
    while low < high:
        middle = low + (high - low) // 2
        if c.sites[middle].value < address:
            low = middle + 1
        else:
            high = middle
    if low < c.n_sites and c.sites[low].value == address:
        return c.sites + low
    return cython.NULL


# ---------------------------------------------------------------- one run of states


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def accumulate(c: cython.pointer[Combiner], begin: cython.size_t, end: cython.size_t) -> cython.int:
    """Let the flags of the run flow together, and compare prototypes. Nonzero: as `combine_functions`."""
    shared: uint8_t = S_UNEXPECTED | S_INCONSISTENT | S_UNCERTAIN | S_REORDERED
    a: cython.pointer[cython.const[State]] = c.states + c.order[begin]
    b: cython.pointer[cython.const[State]]
    merged: uint8_t = c.flags[begin] & shared
    i: cython.size_t
    matched: cython.int
    for i in range(begin + 1, end):
        b = c.states + c.order[i]
        merged |= c.flags[i] & shared
        # A copy that was only inlined cannot contradict real code, if true signatures are wanted (Q34).
        if not merged & (S_UNEXPECTED | S_INCONSISTENT | S_REORDERED) and not (
            c.options & FN_TRUE_SIGNATURE and a.address and not b.address
        ):
            matched = matcher_compare(cython.address(c.matcher), a.proto, b.proto)
            if matched < 0:
                c.out.entry = a.entry
                return COMBINE_EFFORT if matched == MATCH_EFFORT else COMBINE_MEMORY
            if matched == MATCH_NO:
                merged |= S_INCONSISTENT
        c.flags[i] |= merged
    c.flags[begin] |= merged
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def skip_optimized(c: cython.pointer[Combiner], i: cython.size_t) -> cython.bint:
    """Whether the state at index `i` is that of a clone whose parameters are not those of the source."""
    site: cython.pointer[Site]
    if c.options & FN_TRUE_SIGNATURE or not c.flags[i] & S_OPTIMIZED:
        return False
    if c.flags[i] & S_SIGNATURE_CHANGED:
        return True
    if c.states[c.order[i]].address == 0:
        return False
    site = site_of(c, c.states[c.order[i]].address)
    return site != cython.NULL and site.clone


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def canonical_of(c: cython.pointer[Combiner], begin: cython.size_t, end: cython.size_t) -> cython.size_t:
    """The index of the state that speaks for the run: one at the address of a symbol, whole if possible."""
    i: cython.size_t
    placed: cython.size_t = end
    if end - begin == 1:
        return begin
    for i in range(begin, end):
        if site_of(c, c.states[c.order[i]].address) != cython.NULL:
            if not skip_optimized(c, i):
                return i
            if placed == end:
                placed = i
    return placed if placed < end else begin


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def true_clone(c: cython.pointer[Combiner], begin: cython.size_t, end: cython.size_t) -> cython.size_t:
    """The index of the first sound state at the address of a suffixed symbol; `end` if there is none. What else is said
    against the function does not count, and it gets no tags of kfuncs (Q29).
    """
    i: cython.size_t
    site: cython.pointer[Site]
    for i in range(begin, end):
        if c.states[c.order[i]].address == 0 or c.flags[i] & (S_UNEXPECTED | S_UNCERTAIN):
            continue
        site = site_of(c, c.states[c.order[i]].address)
        if site != cython.NULL and site.suffixed != NO_SUFFIXED:
            return i
    return end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fate_of(c: cython.pointer[Combiner], begin: cython.size_t, canonical: cython.size_t) -> cython.int:
    """Why the run is dropped, or FATE_EMITTED. Only the test for inconsistency can be switched off (Q15)."""
    flags: uint8_t = c.flags[begin]
    if flags & S_UNEXPECTED:
        return FATE_UNEXPECTED
    if flags & S_INCONSISTENT and c.options & FN_CONSISTENT:
        return FATE_INCONSISTENT
    if flags & S_UNCERTAIN:
        return FATE_UNCERTAIN
    if flags & S_REORDERED:
        return FATE_REORDERED
    if skip_optimized(c, canonical):
        return FATE_OPTIMIZED
    if c.table.ambiguous[c.states[c.order[begin]].entry]:
        return FATE_AMBIGUOUS
    return FATE_EMITTED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_plain_name(t: cython.pointer[cython.const[FuncTable]], entry: uint32_t) -> cython.bint:
    """Whether all kernels take the name. To replace characters, as in names of types, could name another function."""
    i: uint32_t
    if t.name_len[entry] > LONGEST_PLAIN:
        return False
    for i in range(t.name_len[entry]):
        if not is_plain(t.name[entry][i], i == 0):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emit(c: cython.pointer[Combiner], i: cython.size_t, plain: cython.bint) -> cython.bint:
    """Append the state at index `i` to the emission; `plain`: by the normal path. 0 if memory ran out."""
    out: cython.pointer[Emission] = c.out
    t: cython.pointer[cython.const[FuncTable]] = c.table
    s: cython.pointer[cython.const[State]] = c.states + c.order[i]
    e: cython.pointer[Emitted]
    site: cython.pointer[Site] = cython.NULL
    cap: cython.size_t
    if out.n == out.cap:
        cap = out.cap * 2 if out.cap else 1024
        e = cython.cast(cython.pointer[Emitted], realloc(out.p, cap * cython.sizeof(Emitted)))
        if e == cython.NULL:
            return False
        out.p = e
        out.cap = cap
    e = out.p + out.n
    out.n += 1
    e.entry = s.entry
    e.state = c.order[i]
    e.name = t.name[s.entry]
    e.name_len = t.name_len[s.entry]
    e.full_symbol_name = False
    e.kfunc = plain and t.kfunc[s.entry]
    e.kfunc_flags = t.kfunc_flags[s.entry] if t.kfunc[s.entry] else 0
    if c.options & FN_TRUE_SIGNATURE and s.address:
        site = site_of(c, s.address)
    if site != cython.NULL and site.suffixed != NO_SUFFIXED:
        e.full_symbol_name = True
        e.name = t.sym_name[site.suffixed]
        e.name_len = cython.cast(uint32_t, strlen(e.name))
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def combine_run(c: cython.pointer[Combiner], begin: cython.size_t, end: cython.size_t) -> cython.int:
    """Decides over one run, the states `order[begin:end]` of an entry: emits one of them, or notes why none is
    (docs/rules.md, 5.6). An entry with several runs (Q30) counts as emitted if one of them is. Nonzero: as
    `combine_functions`.
    """
    entry: uint32_t = c.states[c.order[begin]].entry
    fate: cython.int = FATE_EMITTED
    chosen: cython.size_t = end
    clone: cython.bint = False
    status: cython.int
    if not find_sites(c, entry):
        return COMBINE_MEMORY
    status = accumulate(c, begin, end)
    if status:
        return status
    if c.options & FN_TRUE_SIGNATURE:
        chosen = true_clone(c, begin, end)
        clone = chosen < end
    if not clone:
        chosen = canonical_of(c, begin, end)
        fate = fate_of(c, begin, chosen)
    if fate == FATE_EMITTED and c.options & FN_PLAIN_NAMES and not has_plain_name(c.table, entry):
        fate = FATE_INVALID_NAME
    c.out.counts[fate] += 1
    if c.out.fate[entry] != FATE_EMITTED:
        c.out.fate[entry] = fate
    if fate == FATE_EMITTED and not emit(c, chosen, not clone):
        return COMBINE_MEMORY
    return COMBINED


# ---------------------------------------------------------------- all states


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def same_name(t: cython.pointer[cython.const[FuncTable]], a: uint32_t, b: uint32_t) -> cython.bint:
    return t.name_len[a] == t.name_len[b] and memcmp(t.name[a], t.name[b], t.name_len[a]) == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort(c: cython.pointer[Combiner], n: cython.size_t) -> cython.bint:
    """Fill `order` by (name, address is zero), stably: a counting sort, entries being in name order already."""
    rank: uint32_t = 0
    i: cython.size_t
    e: uint32_t
    key: cython.size_t
    entries: cython.size_t = c.table.n
    ranks: cython.pointer[uint32_t] = cython.cast(
        cython.pointer[uint32_t], malloc((entries + 1) * cython.sizeof(uint32_t))
    )
    starts: cython.pointer[cython.size_t] = cython.cast(
        cython.pointer[cython.size_t], calloc(2 * entries + 2, cython.sizeof(cython.size_t))
    )
    if ranks == cython.NULL or starts == cython.NULL:
        free(ranks)
        free(starts)
        return False
    for e in range(c.table.n):
        if e and not same_name(c.table, e - 1, e):
            rank += 1
        ranks[e] = rank
    for i in range(n):
        starts[2 * cython.cast(cython.size_t, ranks[c.states[i].entry]) + (c.states[i].address == 0) + 1] += 1
    for i in range(1, 2 * entries + 1):
        starts[i] += starts[i - 1]
    for i in range(n):
        key = 2 * cython.cast(cython.size_t, ranks[c.states[i].entry]) + (c.states[i].address == 0)
        c.order[starts[key]] = cython.cast(uint32_t, i)
        starts[key] += 1
    free(ranks)
    free(starts)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def combine_all(c: cython.pointer[Combiner], n: cython.size_t) -> cython.int:
    """Fills `order` and `flags`, then takes run by run, which gives the order of emission. Nonzero: as
    `combine_functions`.
    """
    status: cython.int
    begin: cython.size_t = 0
    end: cython.size_t
    entry: uint32_t
    i: cython.size_t
    if not sort(c, n):
        return COMBINE_MEMORY
    for i in range(n):
        c.flags[i] = c.states[c.order[i]].flags
    while begin < n:
        entry = c.states[c.order[begin]].entry
        end = begin + 1
        while end < n and c.states[c.order[end]].entry == entry:
            end += 1
        status = combine_run(c, begin, end)
        if status:
            return status
        begin = end
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def combine_functions(
    states: cython.pointer[cython.const[State]],
    n: cython.size_t,
    table: cython.pointer[cython.const[FuncTable]],
    classes: cython.pointer[cython.const[ClassTable]],
    options: cython.int,
    out: cython.pointer[Emission],
) -> cython.int:
    """See function_merge.pxd."""
    c: Combiner
    status: cython.int = COMBINE_MEMORY
    memset(cython.address(c), 0, cython.sizeof(Combiner))
    c.states = states
    c.table = table
    c.options = options
    c.out = out
    matcher_init(cython.address(c.matcher), classes)
    c.order = cython.cast(cython.pointer[uint32_t], malloc((n + 1) * cython.sizeof(uint32_t)))
    c.flags = cython.cast(cython.pointer[uint8_t], malloc(n + 1))
    out.fate = cython.cast(cython.pointer[uint8_t], calloc(cython.cast(cython.size_t, table.n) + 1, 1))
    if c.order != cython.NULL and c.flags != cython.NULL and out.fate != cython.NULL:
        status = combine_all(cython.address(c), n)
    matcher_free(cython.address(c.matcher))
    free(c.order)
    free(c.flags)
    free(c.sites)
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def emission_free(e: cython.pointer[Emission]) -> cython.void:
    free(e.p)
    free(e.fate)
    memset(e, 0, cython.sizeof(Emission))
