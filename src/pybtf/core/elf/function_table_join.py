"""One function table of several files, for encodings that put all of them into one BTF.

A function of one file has nothing to do with that of the same name in another: each has an entry of its own, so equal
names are neighbours here, in the order of the files. The tables are sorted already, and are merged. What was found out
about an entry within its file, its ambiguity for instance, remains.
"""

import cython
from cython.cimports.cpython.mem import PyMem_Free, PyMem_Malloc
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.stdlib import malloc
from cython.cimports.libc.string import memcmp, memcpy
from cython.cimports.pybtf.core.elf.function_table import FuncTable, FunctionTable, allocate, insert

Part = cython.struct(table=cython.pointer[FuncTable], at=uint32_t)


def join_tables(tables: list) -> FunctionTable:
    """One table of all, which keeps them alive. `tables`: of the files, in their order."""
    joined: FunctionTable = FunctionTable()
    one: FunctionTable
    size: cython.size_t = 0
    count: uint32_t = len(tables)
    i: uint32_t
    done: cython.bint
    parts: cython.pointer[Part] = cython.cast(cython.pointer[Part], PyMem_Malloc((count + 1) * cython.sizeof(Part)))
    if parts == cython.NULL:
        raise MemoryError
    for i in range(count):
        one = tables[i]
        parts[i].table = cython.address(one.t)
        parts[i].at = 0
        size += one.t.first[one.t.n]
    with cython.nogil:
        done = size >> 31 == 0 and join(cython.address(joined.t), parts, count, size)
    PyMem_Free(parts)
    if not done:
        raise MemoryError
    joined.parts = list(tables)
    return joined


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def join(
    t: cython.pointer[FuncTable], parts: cython.pointer[Part], count: uint32_t, size: cython.size_t
) -> cython.bint:
    """Fill `t` with `size` symbols. 0: no memory."""
    symbol: uint32_t = 0
    next: uint32_t
    if not allocate(t, size):
        return False
    t.file = cython.cast(cython.pointer[uint32_t], malloc((size + 1) * cython.sizeof(uint32_t)))
    t.head = cython.cast(cython.pointer[uint32_t], malloc((size + 1) * cython.sizeof(uint32_t)))
    if t.file == cython.NULL or t.head == cython.NULL:
        return False
    t.first[0] = 0
    while True:
        next = first_part(parts, count)
        if next == count:
            return True
        add_entry(t, parts[next].table, parts[next].at, next, symbol)
        symbol = t.first[t.n]
        parts[next].at += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_part(parts: cython.pointer[Part], count: uint32_t) -> uint32_t:
    """The part whose next entry comes first, `count` if all are at their end."""
    best: uint32_t = count
    i: uint32_t
    for i in range(count):
        if parts[i].at < parts[i].table.n:
            if best == count or compare(parts[i].table, parts[i].at, parts[best].table, parts[best].at) < 0:
                best = i
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compare(a: cython.pointer[FuncTable], i: uint32_t, b: cython.pointer[FuncTable], j: uint32_t) -> cython.int:
    """Names as bytes, a prefix first."""
    x: uint32_t = a.name_len[i]
    y: uint32_t = b.name_len[j]
    r: cython.int = memcmp(a.name[i], b.name[j], x if x < y else y)
    if r:
        return r
    return (x > y) - (x < y)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_entry(
    t: cython.pointer[FuncTable], from_: cython.pointer[FuncTable], i: uint32_t, file: uint32_t, symbol: uint32_t
) -> cython.void:
    """Append entry `i` of a table, whose symbols begin at `symbol` here."""
    first: uint32_t = from_.first[i]
    n: uint32_t = from_.first[i + 1] - first
    e: uint32_t = t.n
    t.name[e] = from_.name[i]
    t.name_len[e] = from_.name_len[i]
    t.hash[e] = from_.hash[i]
    t.ambiguous[e] = from_.ambiguous[i]
    t.kfunc[e] = from_.kfunc[i]
    t.kfunc_flags[e] = from_.kfunc_flags[i]
    t.file[e] = file
    memcpy(t.value + symbol, from_.value + first, n * cython.sizeof(t.value[0]))
    memcpy(t.sym_name + symbol, from_.sym_name + first, n * cython.sizeof(t.sym_name[0]))
    memcpy(t.sym_flags + symbol, from_.sym_flags + first, n)
    t.n += 1
    t.first[t.n] = symbol + n
    if e and compare(t, e - 1, t, e) == 0:
        t.head[e] = t.head[e - 1]
    else:
        t.head[e] = e
        insert(t, e)
