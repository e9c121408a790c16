"""Types that libbpf's comparison may take for equal although they differ.

It compares two arrays by their numbers of elements, and by their element types only if nothing was assumed of
the two before. So types that differ only in the elements of arrays can be taken for one another, if such an
array may have been met on the way: one of the same class, in the unit that has the other. The search for such pairs
goes by two hashes: `shape`, of what chooses the chain of candidates, and `blind`, of the whole content but for elements
of arrays.

If there is such a pair, everything is kept. It is not enough to keep all types that reach one of the two. What was met
before depends on which arrays are one: those of two units become one if the types that have them are dropped in one
unit. And a type that is mapped on the way to another than its own stands for no other.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.stdlib import calloc, free, qsort
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.encoder import Encoder
from cython.cimports.pybtf.core.reduction.analysis import *
from cython.cimports.pybtf.core.support.memory import U32s, u32s_push


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def compare_shapes(x: cython.p_const_void, y: cython.p_const_void) -> cython.int:
    """The order of `qsort`: by shape, then by `blind`, then by class."""
    p: cython.pointer[Shape] = cython.cast(cython.pointer[Shape], x)
    q: cython.pointer[Shape] = cython.cast(cython.pointer[Shape], y)
    if p.shape != q.shape:
        return -1 if p.shape < q.shape else 1
    if p.blind != q.blind:
        return -1 if p.blind < q.blind else 1
    return (p.id > q.id) - (p.id < q.id)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reaches(e: cython.pointer[Encoder], a: cython.pointer[Analysis], x: uint32_t, y: uint32_t) -> cython.int:
    """Whether a comparison of what is in `a.before` can have met class `x` or `y`. -1: no memory."""
    c: uint32_t
    i: cython.size_t = 0
    todo: cython.pointer[U32s] = cython.address(a.todo)
    todo.n = 0
    a.stamp += 1
    for i in range(a.before.n):
        if visit(a, a.before.p[i]) < 0:
            return -1
    while todo.n:
        todo.n -= 1
        c = todo.p[todo.n]
        if c == x or c == y or not spend(a, 1):
            return 1
        if push_targets(e, a, c):
            return -1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def together(e: cython.pointer[Encoder], a: cython.pointer[Analysis], x: uint32_t, y: uint32_t) -> cython.bint:
    """Whether some unit has types of both array classes, or perhaps of others that may be taken for one of them.

    An array that was met before was then taken for one of its own class, of the unit that has the other one.
    """
    u: uint32_t
    i: uint32_t
    p: cython.pointer[uint32_t]
    has_x: uint32_t
    has_y: uint32_t
    if (a.marks[x] | a.marks[y]) & ARRAYS or not spend(a, e.class_list.n):
        return True
    if not a.marks[x] & a.marks[y] & OCCURS:
        return False
    for u in range(max(e.first_unit.p[x], e.first_unit.p[y]), e.n_streams):
        p = e.class_list.p + e.streams[u].classes
        has_x = has_y = 0
        for i in range(1, e.streams[u].n_types):  # without a branch: many at a time
            has_x |= p[i] == x
            has_y |= p[i] == y
        if has_x & has_y:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def masked(
    e: cython.pointer[Encoder], a: cython.pointer[Analysis], x: uint32_t, y: uint32_t, anywhere: cython.bint
) -> cython.int:
    """Whether classes `x` and `y`, equal but for elements of arrays, may be taken for equal. -1: no memory.

    `anywhere`: also where a comparison begins elsewhere, so that anything may have been met before.

    Walks to the first place where they differ, which is an array; it can hide the difference only if it was met before.
    That they are equal but for that is known from hashes only; the walk sees to it that it stays within both.
    """
    rx: cython.pointer[cython.const[uint32_t]]
    ry: cython.pointer[cython.const[uint32_t]]
    fx: Refs
    fy: Refs
    k: uint32_t
    found: cython.int
    a.before.n = 0
    while True:
        rx = class_record(e.classes, x)
        ry = class_record(e.classes, y)
        refs_of(rx, cython.address(fx))
        refs_of(ry, cython.address(fy))
        if record_kind(rx) != record_kind(ry) or fx.n != fy.n:
            return 0  # the hashes collided
        if record_kind(rx) == KIND_ARRAY:
            found = 1 if anywhere else reaches(e, a, x, y)
            if found < 0 or (found and together(e, a, x, y)):
                return found
            if a.blind[fx.third] != a.blind[fy.third]:
                return 0
        if fx.third != fy.third:
            x = fx.third
            y = fy.third
            if x == 0 or y == 0:
                return 0
            continue
        if not u32s_push(cython.address(a.before), fx.third):
            return -1
        k = 0
        while k < fx.n and fx.first[k * fx.step + 1] == fy.first[k * fy.step + 1]:
            if not u32s_push(cython.address(a.before), fx.first[k * fx.step + 1]):
                return -1
            k += 1
        if k == fx.n:
            return 0
        x = fx.first[k * fx.step + 1]
        y = fy.first[k * fy.step + 1]
        if x == 0 or y == 0:
            return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_arrays(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Whether types of one chain that differ in array elements only may be taken for equal. -1: no memory."""
    n: uint32_t = 0
    c: uint32_t
    i: uint32_t
    j: uint32_t
    kind: uint32_t
    found: cython.int = 0
    shapes: cython.pointer[Shape] = cython.cast(cython.pointer[Shape], calloc(a.n, cython.sizeof(Shape)))
    if shapes == cython.NULL:
        return -1
    for c in range(1, a.n):
        kind = record_kind(class_record(e.classes, c))
        if a.marks[c] & OCCURS and (kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_TYPEDEF):
            shapes[n].shape = a.shape[c]
            shapes[n].blind = a.blind[c]
            shapes[n].id = c
            n += 1
    qsort(shapes, n, cython.sizeof(Shape), compare_shapes)
    for i in range(n):
        j = i + 1
        while j < n and shapes[j].shape == shapes[i].shape and shapes[j].blind == shapes[i].blind and found == 0:
            if not spend(a, 1):
                break
            # A name with two definitions may also be compared on the way from something else.
            found = masked(e, a, shapes[i].id, shapes[j].id, a.key[shapes[i].id] != 0)
            j += 1
    free(shapes)
    return found
