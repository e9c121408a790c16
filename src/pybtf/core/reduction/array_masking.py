"""Types that libbpf's comparison may take for equal although they differ in elements of arrays.

It compares two arrays by their numbers of elements, and by their element types only if nothing was assumed of
the two before. So an array that was met before *masks* a difference in the elements. The pair that matters is two
classes of types that come to one chain of candidates (their hashes `shape` are equal) and differ in nothing else (their
hashes `blind` are, too: see `measure_content` in doubts.py). docs/reduction.md has an example.

`masked` walks from such a pair to the first place where the two differ, which is a pair of arrays. If what the arrays
are of is equal but for arrays in it, the walk goes on there. The difference can be masked if

- one of the two arrays may have been met before: what both types have in front of this place leads to it (`reaches`),
  or the types have a name, so that the comparison may have begun anywhere; and
- what it was met with may then be taken for the other one. It was an array of its own class, so some unit has both
  (`together`, for all pairs of arrays at once); or the array leads to another one (ARRAYS), so that arrays of other
  classes may be taken for it.

Types that differ in loose enumerations as well have other hashes `blind`. If there is such a pair that leads to arrays,
everything is kept, too (`are_loose`): in such a program, nearly everything is in any case.

If there is such a pair, everything is kept. It is not enough to keep all types that reach one of the two. What was met
before depends on which arrays are one: those of two units become one if the types that have them are dropped in one
unit. And a type that is mapped on the way to another than its own stands for no other.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.stdlib import calloc, free, qsort
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.encoder import Encoder, KeptUnit
from cython.cimports.pybtf.core.reduction.analysis import *
from cython.cimports.pybtf.core.reduction.unit_names import next_watched
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.memory import U32s, u32s_free, u32s_push

EFFORT_OF_PAIR = cython.declare(uint64_t, 64)  # steps that one counts as, because it takes memory


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
    if not spend(a, a.before.n):
        return 1
    for i in range(a.before.n):
        if visit(a, a.before.p[i]) < 0:
            return -1
    while todo.n:
        todo.n -= 1
        c = todo.p[todo.n]
        if c == x or c == y:
            return 1
        if push_targets(e, a, c):
            return -1
        if not spend(a, 1):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_link(a: cython.pointer[Analysis], pairs: cython.pointer[U32s], c: uint32_t, other: uint32_t) -> cython.int:
    """Adds `other` to the list of the classes with which class `c` is in a pair. Nonzero: no memory.

    A list is made of links, two words each: the number of the next link, from 1, or 0, and a class. That of class `c`
    begins with link `users[c]`.
    """
    if not u32s_push(pairs, a.users[c]) or not u32s_push(pairs, other):
        return 1
    a.users[c] = cython.cast(uint32_t, pairs.n // 2)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_pair(a: cython.pointer[Analysis], pairs: cython.pointer[U32s], x: uint32_t, y: uint32_t) -> cython.int:
    """Notes two classes of arrays of which `together` is to say whether a unit has both: two links, one in the list of
    each. Not if it takes too long. Nonzero: no memory.
    """
    if a.users[x] and pairs.p[2 * a.users[x] - 1] == y:
        return 0  # as often: many types differ in the same arrays
    if not spend(a, EFFORT_OF_PAIR):
        return 0
    return add_link(a, pairs, x, y) or add_link(a, pairs, y, x)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def watch_pairs(e: cython.pointer[Encoder], a: cython.pointer[Analysis], pairs: cython.pointer[U32s]) -> uint32_t:
    """Makes the classes of all pairs WATCHED, and no others. The first unit that can have both of a pair."""
    at: cython.size_t
    x: uint32_t
    y: uint32_t
    first: uint32_t = e.n_kept
    CHECK(pairs.n % 4 == 0, "a pair is not two links")
    memset(a.watch, 0, a.n)
    for at in range(0, pairs.n, 4):
        y = pairs.p[at + 1]
        x = pairs.p[at + 3]
        a.watch[x] = a.watch[y] = WATCHED
        first = min(first, max(e.first_unit.p[x], e.first_unit.p[y]))
    return first


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def together(e: cython.pointer[Encoder], a: cython.pointer[Analysis], pairs: cython.pointer[U32s]) -> cython.bint:
    """Whether some unit has types of both classes of a pair: an array that was met before was then taken for one of its
    own class, of the unit that has the other one. The class list is read once, however many pairs there are.
    """
    u: uint32_t
    i: uint32_t
    c: uint32_t
    link: uint32_t
    p: cython.pointer[uint32_t]
    t: cython.pointer[KeptUnit]
    first: uint32_t = watch_pairs(e, a, pairs)
    if not spend(a, e.class_list.n):
        return True
    for u in range(first, e.n_kept):
        t = cython.address(e.kept[u])
        p = e.class_list.p + t.classes
        a.stamp += 1
        i = next_watched(a.watch, WATCHED, p, 1, t.n_types)
        while i < t.n_types:
            c = p[i]
            a.visited[c] = a.stamp
            link = a.users[c]
            while link:
                if a.visited[pairs.p[2 * link - 1]] == a.stamp or not spend(a, 1):
                    return True
                link = pairs.p[2 * link - 2]
            i = next_watched(a.watch, WATCHED, p, i + 1, t.n_types)
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def masked(
    e: cython.pointer[Encoder],
    a: cython.pointer[Analysis],
    pairs: cython.pointer[U32s],
    x: uint32_t,
    y: uint32_t,
    anywhere: cython.bint,
) -> cython.int:
    """Whether classes `x` and `y`, equal but for elements of arrays, may be taken for equal. -1: no memory.

    0: only if a unit has both classes of one of `pairs`, to which this adds. `anywhere`: also where a comparison begins
    elsewhere, so that anything may have been met before.

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
        if not spend(a, 1):
            return 1
        rx = class_record(e.classes, x)
        ry = class_record(e.classes, y)
        refs_of(rx, cython.address(fx))
        refs_of(ry, cython.address(fy))
        if record_kind(rx) != record_kind(ry) or fx.n != fy.n:
            return 0  # the hashes collided
        if record_kind(rx) == KIND_ARRAY:
            found = 1 if anywhere else reaches(e, a, x, y)
            if found < 0:
                return found
            if found:
                if (a.marks[x] | a.marks[y]) & ARRAYS:
                    return 1  # others may be taken for one of them
                if a.marks[x] & a.marks[y] & OCCURS and note_pair(a, pairs, x, y):
                    return -1
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
        if not spend(a, fx.n):
            return 1
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
def are_loose(a: cython.pointer[Analysis], shapes: cython.pointer[cython.const[Shape]], n: uint32_t) -> cython.bint:
    """Whether two classes of these, which are in order, come to one chain, are loose, and lead to arrays."""
    i: uint32_t
    last: uint32_t = n
    for i in range(n):
        if a.marks[shapes[i].id] & LOOSE and a.marks[shapes[i].id] & ARRAYS:
            if last < n and shapes[i].shape == shapes[last].shape:
                return True
            last = i
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt_arrays(e: cython.pointer[Encoder], a: cython.pointer[Analysis]) -> cython.int:
    """Whether types of one chain that differ in array elements only may be taken for equal. -1: no memory. If it takes
    too long (`tired`), the answer does not matter.
    """
    n: uint32_t = 0
    c: uint32_t
    i: uint32_t
    j: uint32_t
    kind: uint32_t
    found: cython.int
    at: cython.size_t
    pairs: U32s
    shapes: cython.pointer[Shape] = cython.cast(cython.pointer[Shape], calloc(a.n, cython.sizeof(Shape)))
    if shapes == cython.NULL:
        return -1
    memset(cython.address(pairs), 0, cython.sizeof(U32s))
    for c in range(1, a.n):
        kind = record_kind(class_record(e.classes, c))
        if a.marks[c] & OCCURS and (kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_TYPEDEF):
            shapes[n].shape = a.shape[c]
            shapes[n].blind = a.blind[c]
            shapes[n].id = c
            n += 1
    qsort(shapes, n, cython.sizeof(Shape), compare_shapes)
    found = a.loose and are_loose(a, shapes, n)
    for i in range(n):
        j = i + 1
        while j < n and shapes[j].shape == shapes[i].shape and shapes[j].blind == shapes[i].blind and found == 0:
            if not spend(a, 1):
                break
            # A name with two definitions may also be compared on the way from something else.
            found = masked(e, a, cython.address(pairs), shapes[i].id, shapes[j].id, a.key[shapes[i].id] != 0)
            j += 1
    free(shapes)
    if found == 0 and pairs.n:
        found = together(e, a, cython.address(pairs))
    for at in range(1, pairs.n, 2):
        a.users[pairs.p[at]] = 0
    u32s_free(cython.address(pairs))
    return found
