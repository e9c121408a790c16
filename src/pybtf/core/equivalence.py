# cython: annotation_typing=True
"""Are two types, one new (the candidate), one canonical, the same type, seen through everything they reach?

Types refer to each other in cycles, so the answer is a hypothesis that holds until it is contradicted: while the two
graphs are walked in parallel, the `hypothesis` of node y records which x was assumed to be y. Meeting y again with the same x
is no contradiction. Meeting it with another x' is one, unless x and x' are copies of each other inside one unit
(compilers emit those), which `identical` judges with bounded depth and, where arrays are concerned, very leniently; it
decides like the reference, not like a purist.

A forward declaration is equivalent to a definition of its name and kind. That is how a unit that knows a struct only by
name merges with one that has its body, and why an equivalence, once found, does more than answer: `apply_hypothesis`
maps every struct met on the way, and every forward whose definition was met.

The walk is depth first and in order of the references, because the order of assumptions is observable. It uses an
explicit stack: a chain of pointers costs nothing, a struct one frame, and no canonical type is entered twice, so the
stack is bounded by the number of types. All steps are counted against `effort`, since graphs can be written that need
exponential time in `identical`, and quadratic time at large.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import realloc
from cython.cimports.pybtf.core.equivalence import (
    EQ_NO,
    EQ_YES,
    IDENTICAL_DEPTH,
    compatible_enums,
    equal_members,
    equal_three,
)
from cython.cimports.pybtf.core.memory import u32s_push
from cython.cimports.pybtf.core.records import (
    KIND_ARRAY,
    KIND_CONST,
    KIND_ENUM,
    KIND_ENUM64,
    KIND_FLOAT,
    KIND_FUNC,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_INT,
    KIND_PTR,
    KIND_RESTRICT,
    KIND_STRUCT,
    KIND_TYPE_TAG,
    KIND_TYPEDEF,
    KIND_UNION,
    KIND_VOLATILE,
)
from cython.cimports.pybtf.core.typegraph import (
    DEDUP_CYCLE,
    DEDUP_EFFORT,
    DEDUP_KIND,
    DEDUP_MEMORY,
    FINAL,
    Frame,
    TypeGraph,
    kind_of,
    prefetch,
    record_of,
    resolve,
    surely_same,
)
from cython.cimports.pybtf.core.wire import RefSpan, wire_forward_kind, wire_kind, wire_refs, wire_vlen


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def fail(g: cython.pointer[TypeGraph], status: cython.int, id: uint32_t) -> cython.int:
    g.bad = id
    return -status


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def spend(g: cython.pointer[TypeGraph], steps: uint64_t) -> cython.bint:
    """Take `steps` off the allowance; 0 if it is used up."""
    if g.effort < steps:
        g.effort = 0
        return False
    g.effort -= steps
    return True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def assume(g: cython.pointer[TypeGraph], y: uint32_t, x: uint32_t) -> cython.bint:
    """Record the assumption that canonical `y` is candidate `x`. 0 if out of memory."""
    g.nodes[y].hypothesis = x
    return u32s_push(cython.address(g.touched), y)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def grow_frames(g: cython.pointer[TypeGraph]) -> cython.bint:
    cap: cython.size_t = 2 * g.cap_frames if g.cap_frames else 256
    p: cython.pointer[Frame] = cython.cast(
        cython.pointer[Frame], realloc(g.frames, cap * cython.sizeof(Frame))
    )
    if p == cython.NULL:
        return False
    g.frames = p
    g.cap_frames = cap
    return True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def equal_param_names(a: cython.pointer[uint32_t], b: cython.pointer[uint32_t]) -> cython.bint:
    """Whether two prototypes with equal info words name their parameters alike."""
    i: cython.size_t
    for i in range(wire_vlen(a)):
        if a[3 + 2 * i] != b[3 + 2 * i]:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def identical(g: cython.pointer[TypeGraph], a: uint32_t, b: uint32_t, depth: cython.int) -> cython.int:
    """Whether two candidates are copies of one type, looking `depth` structs or prototypes deep.

    Recursion is bounded by `IDENTICAL_DEPTH`. An array is judged by its own words alone: the elements are not
    compared (a quirk of the reference).
    """
    ra: cython.pointer[uint32_t]
    rb: cython.pointer[uint32_t]
    ka: uint32_t
    sa: RefSpan
    sb: RefSpan
    i: cython.size_t
    hops: uint32_t = 0
    answer: cython.int
    if depth == 0:
        return EQ_NO
    while True:
        if not spend(g, 1):
            return fail(g, DEDUP_EFFORT, a)
        if a == 0 or b == 0:
            return EQ_YES if a == b else EQ_NO
        ra = record_of(g, a)
        rb = record_of(g, b)
        ka = wire_kind(ra)
        if ka != wire_kind(rb):
            return EQ_NO
        if (
            ka == KIND_PTR
            or ka == KIND_CONST
            or ka == KIND_VOLATILE
            or ka == KIND_RESTRICT
            or ka == KIND_TYPEDEF
            or ka == KIND_FUNC
            or ka == KIND_TYPE_TAG
        ):
            if ra[1] != rb[1] or ra[0] != rb[0]:
                return EQ_NO
            hops += 1
            if hops == g.n:  # longer than any chain without a cycle
                return fail(g, DEDUP_CYCLE, a)
            a = ra[2]
            b = rb[2]
            continue
        break
    if ka == KIND_INT:
        return equal_three(ra, rb) and ra[3] == rb[3]
    if ka == KIND_ENUM or ka == KIND_ENUM64:
        if not spend(g, wire_vlen(ra)):
            return fail(g, DEDUP_EFFORT, a)
        return compatible_enums(ra, rb)
    if ka == KIND_FWD or ka == KIND_FLOAT:
        return equal_three(ra, rb)
    if ka == KIND_ARRAY:
        return equal_three(ra, rb) and ra[5] == rb[5]
    if not (ka == KIND_STRUCT or ka == KIND_UNION or ka == KIND_FUNC_PROTO):
        return EQ_NO
    if not spend(g, wire_vlen(ra)):
        return fail(g, DEDUP_EFFORT, a)
    if ka == KIND_FUNC_PROTO:
        if ra[1] != rb[1] or ra[0] != rb[0] or not equal_param_names(ra, rb):
            return EQ_NO
    elif not equal_members(ra, rb):
        return EQ_NO
    sa = wire_refs(ra)
    sb = wire_refs(rb)
    for i in range(sa.count):
        a = sa.p[i * sa.stride]
        b = sb.p[i * sb.stride]
        if a != b:
            answer = identical(g, a, b, depth - 1)
            if answer != EQ_YES:
                return answer
    return EQ_YES


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def compare_members(
    g: cython.pointer[TypeGraph], f: cython.pointer[Frame], a: cython.pointer[uint32_t], b: cython.pointer[uint32_t]
) -> cython.bint:
    """Shallow equality of two structs or unions; on success `f` is what of their members must be looked into.

    Members whose types are known to be the same need no second look, before the first and after the last doubtful one.
    What the doubtful ones will need is fetched in advance: here the loads overlap, in the walk each waits.
    """
    vlen: uint32_t = wire_vlen(a)
    i: uint32_t
    first: uint32_t = vlen
    last: uint32_t = 0
    if not equal_three(a, b):
        return False
    a += 3
    b += 3
    for i in range(vlen):
        if a[0] != b[0] or a[2] != b[2]:
            return False
        if not surely_same(g, a[1], b[1]):
            if first == vlen:
                first = i
            last = i
            prefetch(record_of(g, a[1]))
            prefetch(record_of(g, b[1]))
        a += 3
        b += 3
    f.left = last + 1 - first if first < vlen else 0
    f.px = a + 1 - 3 * cython.cast(cython.size_t, vlen - first)
    f.py = b + 1 - 3 * cython.cast(cython.size_t, vlen - first)
    f.stride = 3
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def equivalent(g: cython.pointer[TypeGraph], x: uint32_t, y: uint32_t) -> cython.int:
    """Whether candidate `x` is canonical `y`: EQ_YES, EQ_NO or minus a status. Leaves its assumptions behind."""
    rx: cython.pointer[uint32_t]
    ry: cython.pointer[uint32_t]
    kx: uint32_t
    ky: uint32_t
    mx: uint32_t
    my: uint32_t
    h: uint32_t
    depth: cython.size_t = 0
    f: cython.pointer[Frame]
    sx: RefSpan
    sy: RefSpan
    answer: cython.int
    while True:
        # Judge the pair (x, y). `continue` goes on with the targets it was replaced by; falling out of the `if` goes
        # on with the next pair of the frames.
        if not spend(g, 1):
            return fail(g, DEDUP_EFFORT, x)
        mx = resolve(g, x)
        my = resolve(g, y)
        if mx != my:
            if x == 0 or y == 0:
                return EQ_NO
            ky = kind_of(g, y)
            if ky == KIND_FWD and my != y and kind_of(g, my) != KIND_FWD:
                y = my
                ky = kind_of(g, y)
            h = g.nodes[y].hypothesis
            if h == 0:
                if not assume(g, y, x):
                    return fail(g, DEDUP_MEMORY, x)
                rx = record_of(g, x)
                ry = record_of(g, y)
                kx = kind_of(g, x)
                if rx[0] != ry[0]:
                    return EQ_NO
                if kx != ky:
                    # A declaration against what may be its definition.
                    if kx == KIND_FWD:
                        if ky != wire_forward_kind(rx):
                            return EQ_NO
                    elif ky == KIND_FWD:
                        if kx != wire_forward_kind(ry):
                            return EQ_NO
                        if y < g.first_own:
                            g.adjusts_base = True
                    else:
                        return EQ_NO
                elif (
                    kx == KIND_PTR
                    or kx == KIND_CONST
                    or kx == KIND_VOLATILE
                    or kx == KIND_RESTRICT
                    or kx == KIND_TYPEDEF
                    or kx == KIND_FUNC
                    or kx == KIND_TYPE_TAG
                ):
                    if rx[1] != ry[1]:
                        return EQ_NO
                    x = rx[2]
                    y = ry[2]
                    continue
                elif kx == KIND_STRUCT or kx == KIND_UNION or kx == KIND_FUNC_PROTO or kx == KIND_ARRAY:
                    if not spend(g, wire_vlen(rx)):
                        return fail(g, DEDUP_EFFORT, x)
                    if depth == g.cap_frames and not grow_frames(g):
                        return fail(g, DEDUP_MEMORY, x)
                    f = g.frames + depth
                    if kx == KIND_STRUCT or kx == KIND_UNION:
                        if not compare_members(g, f, rx, ry):
                            return EQ_NO
                    elif kx == KIND_FUNC_PROTO:
                        if rx[1] != ry[1] or not equal_param_names(rx, ry):
                            return EQ_NO
                        sx = wire_refs(rx)
                        sy = wire_refs(ry)
                        f.px = sx.p
                        f.py = sy.p
                        f.left = sx.count
                        f.stride = 2
                    else:
                        if not equal_three(rx, ry) or rx[5] != ry[5]:
                            return EQ_NO
                        f.px = rx + 4  # the index type, then the element type
                        f.py = ry + 4
                        f.left = 2
                        f.stride = -1
                    depth += 1
                elif kx == KIND_INT:
                    if not equal_three(rx, ry) or rx[3] != ry[3]:
                        return EQ_NO
                elif kx == KIND_ENUM or kx == KIND_ENUM64:
                    if not spend(g, wire_vlen(rx)):
                        return fail(g, DEDUP_EFFORT, x)
                    if not compatible_enums(rx, ry):
                        return EQ_NO
                elif kx == KIND_FLOAT or kx == KIND_FWD:
                    if not equal_three(rx, ry):
                        return EQ_NO
                else:
                    return fail(g, DEDUP_KIND, x)
            elif h != x:
                answer = identical(g, h, x, IDENTICAL_DEPTH)
                if answer != EQ_YES:
                    return answer
        while True:
            if depth == 0:
                return EQ_YES
            f = g.frames + (depth - 1)
            while f.left and surely_same(g, f.px[0], f.py[0]):
                f.px += f.stride
                f.py += f.stride
                f.left -= 1
            if f.left == 0:
                depth -= 1
                continue
            x = f.px[0]
            y = f.py[0]
            f.px += f.stride
            f.py += f.stride
            f.left -= 1
            break


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def map_to(g: cython.pointer[TypeGraph], id: uint32_t, target: uint32_t) -> cython.void:
    """Map `id` to something that is not mapped further at present."""
    g.nodes[id].map = target if g.nodes[target].map != (FINAL | target) else FINAL | target


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def apply_hypothesis(g: cython.pointer[TypeGraph]) -> cython.bint:
    """Map what a successful comparison has shown. Returns "adjusts base": then the candidate itself is not decided."""
    i: cython.size_t
    y: uint32_t
    t: uint32_t
    c: uint32_t
    kt: uint32_t
    kc: uint32_t
    for i in range(g.touched.n):
        y = g.touched.p[i]
        t = resolve(g, g.nodes[y].hypothesis)
        kt = kind_of(g, t)
        c = resolve(g, y)
        kc = kind_of(g, c)
        if kt != KIND_FWD and kc == KIND_FWD:
            map_to(g, c, t)
        if g.adjusts_base:
            continue
        if kt == KIND_FWD:
            if kc != KIND_FWD:
                map_to(g, t, c)
        elif kt == KIND_STRUCT or kt == KIND_UNION:
            if kc != KIND_FWD and g.nodes[t].map == 0 and g.nodes[c].map != 0:
                map_to(g, t, c)
    return g.adjusts_base


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def clear_hypothesis(g: cython.pointer[TypeGraph]) -> cython.void:
    i: cython.size_t
    for i in range(g.touched.n):
        g.nodes[g.touched.p[i]].hypothesis = 0
    g.touched.n = 0
    g.adjusts_base = False
