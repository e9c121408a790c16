"""Symbols sorted by name.

Names are scattered over the string table, so a comparison of two names waits for memory, and half of the functions of
an x86-64 kernel since 6.2 are called `__pfx_` and something: their first eight bytes say nearly nothing. So names are
never compared. A name is read eight bytes at a time, as one big-endian number beside the symbol, and the symbols are
sorted by that number. Where several have the same number, and their names go on, these are sorted among themselves by
their next eight bytes, and so on. All reads of one step are independent of each other, and each byte of a name is read
at most once: long names that differ in their last bytes cost no more than their length.

Every step is stable, so equal names keep the order of the symbol table.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.pybtf.core.elf.symbol_sort import Candidate
from cython.cimports.pybtf.core.support.cursor import HOST_IS_BIG, bswap64

FEW = cython.declare(uint32_t, 40)  # so few are sorted by insertion
DIGITS = cython.declare(uint32_t, 8)  # of a word, a byte each


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_bytes(name: cython.p_const_char, size: cython.size_t) -> uint64_t:
    v: uint64_t = 0
    if size >= 8:
        memcpy(cython.address(v), name, 8)
    else:
        memcpy(cython.address(v), name, size)
    return v if HOST_IS_BIG else bswap64(v)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_symbols(
    a: cython.pointer[Candidate], spare: cython.pointer[Candidate], n: uint32_t, strtab: cython.p_const_char
) -> cython.bint:
    """See `symbol_sort.pxd`."""
    # Runs of two and more that are equal so far, as pairs of first and end: those of this step, and of the next.
    runs: cython.pointer[uint32_t] = cython.cast(
        cython.pointer[uint32_t], malloc((cython.cast(cython.size_t, n) * 2 + 1) * cython.sizeof(uint32_t))
    )
    following: cython.pointer[uint32_t] = runs + n
    swap: cython.pointer[uint32_t]
    count: uint32_t
    more: uint32_t
    depth: uint32_t = 0
    i: uint32_t
    if runs == cython.NULL:
        return False
    sort_words(a, spare, n)
    count = equal_runs(a, 0, n, runs)
    while count:
        depth += 8
        more = 0
        for i in range(0, count, 2):
            next_words(a + runs[i], runs[i + 1] - runs[i], depth, strtab)
            sort_words(a + runs[i], spare, runs[i + 1] - runs[i])
            more += equal_runs(a, runs[i], runs[i + 1], following + more)
        swap = runs
        runs = following
        following = swap
        count = more
    free(runs if runs < following else following)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def equal_runs(
    a: cython.pointer[Candidate], low: uint32_t, high: uint32_t, out: cython.pointer[uint32_t]
) -> uint32_t:
    """Put the runs of equal words in a[low:high] whose names go on into `out`. How many words that are."""
    n: uint32_t = 0
    first: uint32_t = low
    while first < high:
        low = first + 1
        while low < high and a[low].word == a[first].word:
            low += 1
        if low - first > 1 and a[first].word & 0xFF:
            out[n] = first
            out[n + 1] = low
            n += 2
        first = low
    return n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def next_words(
    a: cython.pointer[Candidate], n: uint32_t, depth: uint32_t, strtab: cython.p_const_char
) -> cython.void:
    """The eight bytes of each name from `depth` on, up to which all have some."""
    i: uint32_t
    for i in range(n):
        a[i].word = first_bytes(strtab + a[i].name + depth, a[i].base - depth)


# ---- by one word --------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_words(a: cython.pointer[Candidate], spare: cython.pointer[Candidate], n: uint32_t) -> cython.void:
    """Stable; into `a`."""
    if n <= FEW:
        insertion_sort(a, n)
    else:
        radix_sort(a, spare, n)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def insertion_sort(a: cython.pointer[Candidate], n: uint32_t) -> cython.void:
    moved = cython.declare(Candidate)
    i: uint32_t
    j: uint32_t
    for i in range(1, n):
        j = i
        if a[i].word >= a[i - 1].word:
            continue
        moved = a[i]
        while j and moved.word < a[j - 1].word:
            a[j] = a[j - 1]
            j -= 1
        a[j] = moved


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def radix_sort(a: cython.pointer[Candidate], spare: cython.pointer[Candidate], n: uint32_t) -> cython.void:
    """By one byte of the word after the other, the last one first."""
    counts: uint32_t[2048]
    here: cython.pointer[uint32_t]
    from_: cython.pointer[Candidate] = a
    to: cython.pointer[Candidate] = spare
    swap: cython.pointer[Candidate]
    word: uint64_t
    at: uint32_t
    i: uint32_t
    digit: uint32_t
    memset(counts, 0, cython.sizeof(counts))
    for i in range(n):
        word = a[i].word
        for digit in range(DIGITS):
            counts[(digit << 8) + ((word >> (8 * digit)) & 0xFF)] += 1
    for digit in range(DIGITS):
        here = counts + (digit << 8)
        if here[(a[0].word >> (8 * digit)) & 0xFF] == n:  # all have the same
            continue
        at = 0
        for i in range(256):
            at += here[i]
            here[i] = at - here[i]
        for i in range(n):
            at = (from_[i].word >> (8 * digit)) & 0xFF
            to[here[at]] = from_[i]
            here[at] += 1
        swap = from_
        from_ = to
        to = swap
    if from_ != a:
        memcpy(a, from_, cython.cast(cython.size_t, n) * cython.sizeof(Candidate))
