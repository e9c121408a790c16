"""Are two types, one new (the candidate), one canonical, the same type, seen through everything they reach?

Types refer to each other in cycles, so the answer is a hypothesis that holds until it is contradicted: while
the two graphs are walked in parallel, the `hypothesis` of node y records which x was assumed to be y. Meeting
y again with the same x is not a contradiction. Meeting it with another x' is one, unless x and x' are copies of
each other inside one unit (compilers emit those), which `identical` judges with bounded depth and, where
arrays are concerned, very leniently; it decides like libbpf, not like a purist.

A forward declaration is equivalent to a definition of its name and kind. That is how a unit that knows a
struct only by name merges with one that has its body, and why an equivalence, once found, does more than
answer: `apply_hypothesis` maps every struct met on the way, and every forward whose definition was met.

The walk is depth first and in order of the references, because the order of assumptions is observable. It
uses an explicit stack: a chain of pointers costs nothing, a struct one frame, and no canonical type is
entered twice, so the stack is bounded by the number of types. All steps are counted against `effort`, since
graphs can be written that need exponential time in `identical`, and quadratic time at large.

Begin with `equivalent`, then `judge`: what is known of a pair, or assumed of it; then `judge_records`: its words.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import realloc
from cython.cimports.libc.string import memset
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
    wire_has_typed_elements,
    wire_is_link,
    wire_kind,
    wire_refs,
    wire_vlen,
)
from cython.cimports.pybtf.core.dedup.equivalence import (
    EQ_NO,
    EQ_ONWARDS,
    EQ_YES,
    IDENTICAL_DEPTH,
    Comparison,
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
def past_links(
    g: cython.pointer[TypeGraph], a: cython.pointer[uint32_t], b: cython.pointer[uint32_t]
) -> cython.int:
    """Follows two types, in parallel, through pointers, qualifiers and typedefs that are the same, to two records of
    one kind that are none of these. EQ_ONWARDS: there they are; else the answer.
    """
    ra: cython.pointer[uint32_t]
    rb: cython.pointer[uint32_t]
    hops: uint32_t = 0
    while True:
        if not spend(g, 1):
            return fail(g, DEDUP_EFFORT, a[0])
        if a[0] == 0 or b[0] == 0:
            return EQ_YES if a[0] == b[0] else EQ_NO
        ra = record_of(g, a[0])
        rb = record_of(g, b[0])
        if wire_kind(ra) != wire_kind(rb):
            return EQ_NO
        if not wire_is_link(wire_kind(ra)):
            return EQ_ONWARDS
        if ra[1] != rb[1] or ra[0] != rb[0]:
            return EQ_NO
        hops += 1
        if hops == g.n:  # longer than any chain without a cycle
            return fail(g, DEDUP_CYCLE, a[0])
        a[0] = ra[2]
        b[0] = rb[2]


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
    kind: uint32_t
    sa: RefSpan
    sb: RefSpan
    i: cython.size_t
    answer: cython.int
    if depth == 0:
        return EQ_NO
    answer = past_links(g, cython.address(a), cython.address(b))
    if answer != EQ_ONWARDS:
        return answer
    ra = record_of(g, a)
    rb = record_of(g, b)
    kind = wire_kind(ra)
    if kind == KIND_INT:
        return equal_three(ra, rb) and ra[3] == rb[3]
    if kind == KIND_ENUM or kind == KIND_ENUM64:
        if not spend(g, wire_vlen(ra)):
            return fail(g, DEDUP_EFFORT, a)
        return compatible_enums(ra, rb)
    if kind == KIND_FWD or kind == KIND_FLOAT:
        return equal_three(ra, rb)
    if kind == KIND_ARRAY:
        return equal_three(ra, rb) and ra[5] == rb[5]
    if not wire_has_typed_elements(kind):
        return EQ_NO
    if not spend(g, wire_vlen(ra)):
        return fail(g, DEDUP_EFFORT, a)
    if kind == KIND_FUNC_PROTO:
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
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def assume(g: cython.pointer[TypeGraph], c: cython.pointer[Comparison]) -> cython.int:
    """Notes the hypothesis that the pair is one type. EQ_NO: it is known to differ."""
    g.nodes[c.y].hypothesis = c.x
    if not u32s_push(cython.address(g.touched), c.y):
        g.nodes[c.y].hypothesis = UNMAPPED
        return fail(g, DEDUP_MEMORY, c.x)
    g.refuted.failed = cython.cast(uint32_t, g.touched.n)
    if g.refuted.on:
        if not u32s_push(cython.address(g.refuted.parents), c.parent):
            return fail(g, DEDUP_MEMORY, c.x)
        if is_refuted(g, c.x, c.y):
            if not CHECKED:
                return EQ_NO
            c.refuted = True
    c.parent = g.refuted.failed
    return EQ_YES


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def go_on_with(
    g: cython.pointer[TypeGraph], c: cython.pointer[Comparison], x: uint32_t, y: uint32_t
) -> cython.int:
    """The pair is one type if `x` and `y` are."""
    if known_equal(g.nodes, x, y):
        return EQ_YES
    c.x = x
    c.y = y
    return EQ_ONWARDS


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def may_be_defined(
    g: cython.pointer[TypeGraph],
    c: cython.pointer[Comparison],
    rx: cython.pointer[uint32_t],
    ry: cython.pointer[uint32_t],
) -> cython.int:
    """A pair of two kinds: they go together only if one is a declaration, and the other may be its definition."""
    kx: uint32_t = kind_of(g.nodes, c.x)
    ky: uint32_t = kind_of(g.nodes, c.y)
    if kx == KIND_FWD:
        if ky != wire_forward_kind(rx):
            return EQ_NO
    elif ky == KIND_FWD:
        if kx != wire_forward_kind(ry):
            return EQ_NO
        if c.y < g.first_own:
            g.adjusts_base = True
    else:
        return EQ_NO
    return EQ_YES


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def enter(
    g: cython.pointer[TypeGraph],
    c: cython.pointer[Comparison],
    rx: cython.pointer[uint32_t],
    ry: cython.pointer[uint32_t],
) -> cython.int:
    """Two records with references of which more than one may have to be followed: `c.now` becomes what is left of
    them. The return type of a prototype comes first; of an array the index type does.
    """
    kind: uint32_t = kind_of(g.nodes, c.x)
    now: cython.pointer[PendingPairs] = cython.address(c.now)
    if not spend(g, wire_vlen(rx)):
        return fail(g, DEDUP_EFFORT, c.x)
    if now.left:
        if c.depth == g.cap_frames and not grow_frames(g):
            return fail(g, DEDUP_MEMORY, c.x)
        g.frames[c.depth] = now[0]
        c.depth += 1
    now.parent = c.parent
    if kind == KIND_STRUCT or kind == KIND_UNION:
        if not equal_three(rx, ry):
            return EQ_NO
        return compare_elements(g, now, rx + 3, ry + 3, wire_vlen(rx), 3)
    if kind == KIND_FUNC_PROTO:
        if rx[1] != ry[1] or not compare_elements(g, now, rx + 3, ry + 3, wire_vlen(rx), 2):
            return EQ_NO
        return go_on_with(g, c, rx[2], ry[2])
    if not equal_three(rx, ry) or rx[5] != ry[5]:
        return EQ_NO
    now.px = rx + 4
    now.py = ry + 4
    now.left = 2
    now.stride = -1
    return EQ_YES


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def judge_records(g: cython.pointer[TypeGraph], c: cython.pointer[Comparison]) -> cython.int:
    """By the words of the two records, without what they refer to."""
    rx: cython.pointer[uint32_t] = g.words + g.nodes[c.x].offset
    ry: cython.pointer[uint32_t] = g.words + g.nodes[c.y].offset
    kind: uint32_t = kind_of(g.nodes, c.x)
    if rx[0] != ry[0]:
        return EQ_NO
    if kind != kind_of(g.nodes, c.y):
        return may_be_defined(g, c, rx, ry)
    if wire_is_link(kind):
        return go_on_with(g, c, rx[2], ry[2]) if rx[1] == ry[1] else EQ_NO
    if kind == KIND_STRUCT or kind == KIND_UNION or kind == KIND_FUNC_PROTO or kind == KIND_ARRAY:
        return enter(g, c, rx, ry)
    if kind == KIND_INT:
        return equal_three(rx, ry) and rx[3] == ry[3]
    if kind == KIND_ENUM or kind == KIND_ENUM64:
        if not spend(g, wire_vlen(rx)):
            return fail(g, DEDUP_EFFORT, c.x)
        return compatible_enums(rx, ry)
    if kind == KIND_FLOAT or kind == KIND_FWD:
        return equal_three(rx, ry)
    return fail(g, DEDUP_KIND, c.x)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def judge(g: cython.pointer[TypeGraph], c: cython.pointer[Comparison]) -> cython.int:
    """The pair in hand: by what its types are mapped to, by what has been assumed of it, or by its records."""
    answer: cython.int
    assumed: uint32_t
    to: uint32_t = resolve(g, c.y)
    if to == resolve(g, c.x):
        return EQ_YES
    if c.x == 0 or c.y == 0:
        g.refuted.failed = c.parent
        return EQ_NO
    if kind_of(g.nodes, c.y) == KIND_FWD and to != c.y and kind_of(g.nodes, to) != KIND_FWD:
        c.y = to
    assumed = g.nodes[c.y].hypothesis
    if assumed == UNMAPPED:
        answer = assume(g, c)
        return judge_records(g, c) if answer == EQ_YES else answer
    if assumed == c.x:
        return EQ_YES
    answer = identical(g, assumed, c.x, IDENTICAL_DEPTH)
    if answer != EQ_YES:
        g.refuted.failed = 0
    return answer


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def next_pair(g: cython.pointer[TypeGraph], c: cython.pointer[Comparison]) -> cython.bint:
    """Takes the next pair that is not known to be equal at sight. False: there is none."""
    now: cython.pointer[PendingPairs] = cython.address(c.now)
    while True:
        if now.left == 0:
            if c.depth == 0:
                return False
            c.depth -= 1
            now[0] = g.frames[c.depth]
        c.x = now.px[0]
        c.y = now.py[0]
        now.px += now.stride
        now.py += now.stride
        now.left -= 1
        if not known_equal(g.nodes, c.x, c.y):
            c.parent = now.parent
            return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def equivalent(g: cython.pointer[TypeGraph], x: uint32_t, y: uint32_t) -> cython.int:
    """Whether candidate `x` is canonical `y`: EQ_YES, EQ_NO or minus a status. Leaves its assumptions behind.

    The caller charges the assumptions against `effort`; what else is done here is charged per struct.
    """
    c = cython.declare(Comparison)
    answer: cython.int
    memset(cython.address(c), 0, cython.sizeof(Comparison))
    c.x = x
    c.y = y
    g.refuted.parents.n = 0
    while True:
        answer = judge(g, cython.address(c))
        if answer == EQ_YES:
            if not next_pair(g, cython.address(c)):
                CHECK(not c.refuted, "two equivalent types were said to differ")
                return EQ_YES
        elif answer != EQ_ONWARDS:
            return answer


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
