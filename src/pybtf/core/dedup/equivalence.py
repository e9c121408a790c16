"""Are two types, one new (the candidate), one canonical, the same type, seen through everything they reach?

Types refer to each other in cycles, so the answer is a hypothesis that holds until it is contradicted: while
the two graphs are walked in parallel, the `hypothesis` of node y records which x was assumed to be y. Meeting
y again with the same x is no contradiction. Meeting it with another x' is one, unless x and x' are copies of
each other inside one unit (compilers emit those), which `identical` judges with bounded depth and, where
arrays are concerned, very leniently; it decides like libbpf, not like a purist.

A forward declaration is equivalent to a definition of its name and kind. That is how a unit that knows a
struct only by name merges with one that has its body, and why an equivalence, once found, does more than
answer: `apply_hypothesis` maps every struct met on the way, and every forward whose definition was met.

The walk is depth first and in order of the references, because the order of assumptions is observable. It
uses an explicit stack: a chain of pointers costs nothing, a struct one frame, and no canonical type is
entered twice, so the stack is bounded by the number of types. All steps are counted against `effort`, since
graphs can be written that need exponential time in `identical`, and quadratic time at large.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import realloc
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_ENUM,
    KIND_ENUM64,
    KIND_FLOAT,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_INT,
    KIND_STRUCT,
    KIND_UNION,
)
from cython.cimports.pybtf.core.btf.record_layout import (
    RefSpan,
    wire_forward_kind,
    wire_is_link,
    wire_kind,
    wire_refs,
    wire_vlen,
)
from cython.cimports.pybtf.core.dedup.equivalence import (
    EQ_NO,
    EQ_YES,
    IDENTICAL_DEPTH,
    compatible_enums,
    equal_members,
    equal_three,
)
from cython.cimports.pybtf.core.dedup.refuted import is_refuted
from cython.cimports.pybtf.core.dedup.type_graph import (
    DEDUP_CYCLE,
    DEDUP_EFFORT,
    DEDUP_KIND,
    DEDUP_MEMORY,
    FINAL,
    UNMAPPED,
    Node,
    PendingPairs,
    TypeGraph,
    kind_of,
    note_replaced,
    record_of,
    resolve,
    surely_same,
)
from cython.cimports.pybtf.core.support.check import CHECK, CHECKED
from cython.cimports.pybtf.core.support.memory import prefetch, u32s_push


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
@cython.nogil
@cython.exceptval(check=False)
def grow_frames(g: cython.pointer[TypeGraph]) -> cython.bint:
    cap: cython.size_t = 2 * g.cap_frames if g.cap_frames else 256
    p: cython.pointer[PendingPairs]
    p = cython.cast(cython.pointer[PendingPairs], realloc(g.frames, cap * cython.sizeof(PendingPairs)))
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
    compared (Q21).
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
        if wire_is_link(ka):
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
def known_equal(nodes: cython.pointer[Node], x: uint32_t, y: uint32_t) -> cython.bint:
    """Whether a pair is known to be equivalent at sight.

    The map does not change during a walk and assumptions are only added, so this may be asked early. A y that
    a resolved declaration stands for never has a hypothesis of its own.
    """
    return nodes[y].hypothesis == x or surely_same(nodes, x, y)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def compare_elements(
    g: cython.pointer[TypeGraph],
    f: cython.pointer[PendingPairs],
    a: cython.pointer[uint32_t],
    b: cython.pointer[uint32_t],
    left: uint32_t,
    stride: cython.int,
) -> cython.bint:
    """Compare members or parameters without their types; on success `f` is what of the types must be looked
    into.

    `a` and `b` are elements of name, type and, with a stride of 3, offset. Types that are known to be equal at sight
    need no second look, before the first and after the last doubtful one. What the doubtful ones will need is
    fetched in advance: here the loads overlap, in the walk each waits for the one before.
    """
    nodes: cython.pointer[Node] = g.nodes
    words: cython.pointer[uint32_t] = g.words
    last: uint32_t = 0
    f.left = 0
    while left:
        if a[0] != b[0] or (stride == 3 and a[2] != b[2]):
            return False
        if not known_equal(nodes, a[1], b[1]):
            if f.left == 0:
                f.px = a + 1
                f.py = b + 1
                f.left = left
            last = left
            prefetch(words + nodes[a[1]].offset)
            prefetch(words + nodes[b[1]].offset)
        a += stride
        b += stride
        left -= 1
    if f.left:
        f.left -= last - 1
        f.stride = stride
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def equivalent(g: cython.pointer[TypeGraph], x: uint32_t, y: uint32_t) -> cython.int:
    """Whether candidate `x` is canonical `y`: EQ_YES, EQ_NO or minus a status. Leaves its assumptions behind.

    The caller charges the assumptions against `effort`; what else is done here is charged per struct.
    """
    nodes: cython.pointer[Node] = g.nodes
    words: cython.pointer[uint32_t] = g.words
    rx: cython.pointer[uint32_t]
    ry: cython.pointer[uint32_t]
    kx: uint32_t
    ky: uint32_t
    my: uint32_t
    h: uint32_t
    parent: uint32_t = 0
    refuted: cython.bint = False
    now = cython.declare(PendingPairs)  # the frame in work; the stack has those below it
    depth: cython.size_t = 0
    answer: cython.int
    now.px = now.py = cython.NULL
    now.left = 0
    now.stride = 0
    now.parent = 0
    g.refuted.parents.n = 0
    while True:
        # Judge the pair (x, y). `continue` goes on with the targets it was replaced by; falling out of the
        # `if` goes on with the next pair of the frames.
        my = resolve(g, y)
        if my != resolve(g, x):
            if x == 0 or y == 0:
                g.refuted.failed = parent
                return EQ_NO
            ky = kind_of(nodes, y)
            if ky == KIND_FWD and my != y and kind_of(nodes, my) != KIND_FWD:
                y = my
                ky = kind_of(nodes, y)
            h = nodes[y].hypothesis
            if h == UNMAPPED:
                nodes[y].hypothesis = x
                if not u32s_push(cython.address(g.touched), y):
                    nodes[y].hypothesis = UNMAPPED
                    return fail(g, DEDUP_MEMORY, x)
                g.refuted.failed = cython.cast(uint32_t, g.touched.n)
                if g.refuted.on:
                    if not u32s_push(cython.address(g.refuted.parents), parent):
                        return fail(g, DEDUP_MEMORY, x)
                    if is_refuted(g, x, y):
                        if not CHECKED:
                            return EQ_NO
                        refuted = True
                parent = g.refuted.failed
                rx = words + nodes[x].offset
                ry = words + nodes[y].offset
                kx = kind_of(nodes, x)
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
                elif wire_is_link(kx):
                    if rx[1] != ry[1]:
                        return EQ_NO
                    x = rx[2]
                    y = ry[2]
                    if not known_equal(nodes, x, y):
                        continue
                elif kx == KIND_STRUCT or kx == KIND_UNION or kx == KIND_FUNC_PROTO or kx == KIND_ARRAY:
                    if not spend(g, wire_vlen(rx)):
                        return fail(g, DEDUP_EFFORT, x)
                    if now.left:
                        if depth == g.cap_frames and not grow_frames(g):
                            return fail(g, DEDUP_MEMORY, x)
                        g.frames[depth] = now
                        depth += 1
                    now.parent = parent
                    if kx == KIND_STRUCT or kx == KIND_UNION:
                        if not equal_three(rx, ry):
                            return EQ_NO
                        if not compare_elements(g, cython.address(now), rx + 3, ry + 3, wire_vlen(rx), 3):
                            return EQ_NO
                    elif kx == KIND_FUNC_PROTO:
                        if rx[1] != ry[1]:
                            return EQ_NO
                        if not compare_elements(g, cython.address(now), rx + 3, ry + 3, wire_vlen(rx), 2):
                            return EQ_NO
                        if not known_equal(nodes, rx[2], ry[2]):  # the return type comes first
                            x = rx[2]
                            y = ry[2]
                            continue
                    else:
                        if not equal_three(rx, ry) or rx[5] != ry[5]:
                            return EQ_NO
                        now.px = rx + 4  # the index type, then the element type
                        now.py = ry + 4
                        now.left = 2
                        now.stride = -1
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
                    g.refuted.failed = 0
                    return answer
        while True:
            if now.left == 0:
                if depth == 0:
                    CHECK(not refuted, "two types were said to differ that are equivalent")
                    return EQ_YES
                depth -= 1
                now = g.frames[depth]
            x = now.px[0]
            y = now.py[0]
            now.px += now.stride
            now.py += now.stride
            now.left -= 1
            if not known_equal(nodes, x, y):
                parent = now.parent
                break


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def map_to(nodes: cython.pointer[Node], id: uint32_t, target: uint32_t) -> cython.void:
    """Map `id` to something that is not mapped further at present."""
    nodes[id].map = target if nodes[target].map != (FINAL | target) else FINAL | target


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def apply_hypothesis(g: cython.pointer[TypeGraph]) -> cython.bint:
    """Map what a successful comparison has shown, and forget its assumptions.

    Returns "adjusts base": then the candidate itself is not decided.
    """
    i: cython.size_t
    x: uint32_t
    y: uint32_t
    t: uint32_t
    c: uint32_t
    kt: uint32_t
    kc: uint32_t
    nodes: cython.pointer[Node] = g.nodes
    adjusts_base: cython.bint = g.adjusts_base
    for i in range(g.touched.n):
        y = g.touched.p[i]
        x = nodes[y].hypothesis
        nodes[y].hypothesis = UNMAPPED
        kc = kind_of(nodes, y)
        if kc != KIND_STRUCT and kc != KIND_UNION and kc != KIND_FWD:
            if y < g.first_own <= x:
                g.likes[x - g.first_own] = y
            continue  # resolves to its kind, and so does x
        t = resolve(g, x)
        c = resolve(g, y)
        kt = kind_of(nodes, t)
        kc = kind_of(nodes, c)
        if kt != KIND_FWD and kc == KIND_FWD:
            map_to(nodes, c, t)
            note_replaced(g, c)
        if adjusts_base:
            continue
        if kt == KIND_FWD:
            if kc != KIND_FWD:
                map_to(nodes, t, c)
                note_replaced(g, t)
        elif kt == KIND_STRUCT or kt == KIND_UNION:
            if kc != KIND_FWD and nodes[t].map == 0 and nodes[c].map != 0:
                map_to(nodes, t, c)
    g.touched.n = 0
    g.adjusts_base = False
    return adjusts_base


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def drop_hypothesis(g: cython.pointer[TypeGraph]) -> cython.void:
    """Forget the assumptions of a comparison that failed."""
    i: cython.size_t
    for i in range(g.touched.n):
        g.nodes[g.touched.p[i]].hypothesis = UNMAPPED
    g.touched.n = 0
    g.adjusts_base = False
