"""Whether two prototypes match: by pahole's rules, on the classes of their types.

Both types are walked in parallel. Same class means same type, so the walk mostly ends at once. It never enters named
structs or typedefs, hence its depth is that of pointers, arrays and prototypes nested in one declaration. Hostile input
can make that any number, and can make prototypes fan out exponentially; so the walk is iterative, remembers the pairs
it has visited, and after `MAX_STEPS` of them in all gives up, which is an error; real kernels need some thousand.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_CONST,
    KIND_ENUM,
    KIND_ENUM64,
    KIND_FLOAT,
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
from cython.cimports.pybtf.core.classes.class_record import (
    KIND_CYCLE,
    KIND_KEY_ENUM,
    KIND_KEY_ENUM64,
    KIND_KEY_STRUCT,
    KIND_KEY_UNION,
    REC_COUNT,
    REC_HEAD,
    REC_KIND,
    REC_NAME,
    REC_THIRD,
    ClassTable,
    class_record,
    record_kind,
)
from cython.cimports.pybtf.core.functions.prototype_match import (
    MATCH_EFFORT,
    MATCH_MEMORY,
    MATCH_NO,
    MATCH_YES,
    Matcher,
)
from cython.cimports.pybtf.core.support.hashing import SALT2, fold
from cython.cimports.pybtf.core.support.memory import u64s_free, u64s_push

MAX_STEPS = cython.declare(uint64_t, 1 << 27)  # pairs of types compared in one run of the program
MAX_PAIRS = cython.declare(cython.size_t, 1 << 22)  # and remembered in one comparison
SMALL_TABLE = cython.declare(cython.size_t, 256)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def slot(table: cython.pointer[uint64_t], size: cython.size_t, pair: uint64_t) -> cython.size_t:
    """Where `pair` is, or would go, in a table of a power of two."""
    i: cython.size_t = fold(pair, SALT2)
    i &= size - 1
    while table[i] and table[i] != pair:
        i = (i + 1) & (size - 1)
    return i


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def resize(m: cython.pointer[Matcher], size: cython.size_t) -> cython.bint:
    """Gives the table of pairs `size` slots. False: no memory."""
    i: cython.size_t
    table: cython.pointer[uint64_t] = cython.cast(cython.pointer[uint64_t], calloc(size, cython.sizeof(uint64_t)))
    if table == cython.NULL:
        return False
    for i in range(m.size):
        if m.seen[i]:
            table[slot(table, size, m.seen[i])] = m.seen[i]
    free(m.seen)
    m.seen = table
    m.size = size
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_new(m: cython.pointer[Matcher], pair: uint64_t) -> cython.int:
    """Whether the pair is visited for the first time; -1 if memory ran out."""
    i: cython.size_t
    if m.used * 2 >= m.size and not resize(m, m.size * 2 if m.size else SMALL_TABLE):
        return -1
    i = slot(m.seen, m.size, pair)
    if m.seen[i]:
        return 0
    m.seen[i] = pair
    m.used += 1
    return 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def forget(m: cython.pointer[Matcher]) -> cython.void:
    """Empty the matcher for the next comparison; a table that grew large is given back."""
    m.todo.n = 0
    m.used = 0
    if m.size > SMALL_TABLE:
        free(m.seen)
        m.seen = cython.NULL
        m.size = 0
    elif m.size:
        memset(m.seen, 0, m.size * cython.sizeof(uint64_t))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def kind_at(r: cython.pointer[cython.const[uint32_t]]) -> cython.int:
    """The kind for the comparison: a forward declaration, a key, or what stands for a struct in itself, is a struct or
    union like any other.
    """
    kind: cython.int = record_kind(r)
    if kind == KIND_FWD:
        return KIND_UNION if r[REC_KIND] >> 31 else KIND_STRUCT
    if kind == KIND_KEY_STRUCT:
        return KIND_STRUCT
    if kind == KIND_KEY_UNION:
        return KIND_UNION
    if kind == KIND_KEY_ENUM:
        return KIND_ENUM
    if kind == KIND_KEY_ENUM64:
        return KIND_ENUM64
    if kind == KIND_CYCLE and is_struct(r[REC_COUNT]):
        return r[REC_COUNT]
    return kind


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_struct(kind: uint32_t) -> cython.bint:
    return kind == KIND_STRUCT or kind == KIND_UNION


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def name_at(r: cython.pointer[cython.const[uint32_t]]) -> uint32_t:
    """The name. What reaches itself without passing one has none."""
    return 0 if record_kind(r) == KIND_CYCLE else r[REC_NAME]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def push(m: cython.pointer[Matcher], a: uint32_t, b: uint32_t) -> cython.bint:
    """Has a pair compared later. False: no memory."""
    if a == b:
        return True
    return u64s_push(cython.address(m.todo), cython.cast(uint64_t, a) << 32 | b)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def push_parameters(
    m: cython.pointer[Matcher],
    a: cython.pointer[cython.const[uint32_t]],
    b: cython.pointer[cython.const[uint32_t]],
) -> cython.bint:
    i: uint32_t
    for i in range(a[REC_COUNT]):
        if not push(m, a[REC_HEAD + 2 * i + 1], b[REC_HEAD + 2 * i + 1]):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def same_number(
    kind: cython.int, a: cython.pointer[cython.const[uint32_t]], b: cython.pointer[cython.const[uint32_t]]
) -> cython.bint:
    """Whether two integers, or floating-point numbers, have one name, size and encoding."""
    if kind == KIND_INT and a[REC_HEAD] != b[REC_HEAD]:
        return False
    return a[REC_THIRD] == b[REC_THIRD] and a[REC_NAME] == b[REC_NAME]


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def goes_by_name(kind: cython.int) -> cython.bint:
    """Whether of types of this kind only the name is compared."""
    return (
        kind == KIND_STRUCT
        or kind == KIND_UNION
        or kind == KIND_TYPEDEF
        or kind == KIND_ENUM
        or kind == KIND_ENUM64
    )


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def only_refers(kind: cython.int) -> cython.bint:
    """Whether types of this kind match if their targets do."""
    return (
        kind == KIND_PTR
        or kind == KIND_VOLATILE
        or kind == KIND_CONST
        or kind == KIND_RESTRICT
        or kind == KIND_TYPE_TAG
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_pair(m: cython.pointer[Matcher], a: uint32_t, b: uint32_t) -> cython.int:
    """Compare two types down to where prototypes branch; parameters are queued. Returns MATCH_*.

    A `const` is passed over on either side, but void is only void: not the target of a pointer to `const void` (Q14).
    """
    ra: cython.pointer[cython.const[uint32_t]]
    rb: cython.pointer[cython.const[uint32_t]]
    kind: cython.int
    other: cython.int
    fresh: cython.int
    while a != b:
        if a == 0 or b == 0:
            return MATCH_NO
        if m.steps == 0 or m.used >= MAX_PAIRS:
            return MATCH_EFFORT
        m.steps -= 1
        fresh = is_new(m, cython.cast(uint64_t, a) << 32 | b)
        if fresh <= 0:
            return MATCH_YES if fresh == 0 else MATCH_MEMORY
        ra = class_record(m.classes, a)
        rb = class_record(m.classes, b)
        kind = kind_at(ra)
        other = kind_at(rb)
        if kind != other:
            if kind == KIND_CONST:
                a = ra[REC_THIRD]
            elif other == KIND_CONST:
                b = rb[REC_THIRD]
            else:
                return MATCH_NO
            continue
        if kind == KIND_INT or kind == KIND_FLOAT:
            return same_number(kind, ra, rb)
        if goes_by_name(kind):
            return name_at(ra) == name_at(rb)
        if kind == KIND_ARRAY:
            if ra[REC_HEAD] != rb[REC_HEAD]:
                return MATCH_NO
        elif kind == KIND_FUNC_PROTO:
            if ra[REC_COUNT] != rb[REC_COUNT]:
                return MATCH_NO
            if m.steps < ra[REC_COUNT]:  # those that are the same cost time as well
                return MATCH_EFFORT
            m.steps -= ra[REC_COUNT]
            if not push_parameters(m, ra, rb):
                return MATCH_MEMORY
        elif not only_refers(kind):
            return MATCH_NO
        a = ra[REC_THIRD]
        b = rb[REC_THIRD]
    return MATCH_YES


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def matcher_compare(m: cython.pointer[Matcher], a: uint32_t, b: uint32_t) -> cython.int:
    """See prototype_match.pxd."""
    pair: uint64_t
    result: cython.int = walk_pair(m, a, b)
    while result == MATCH_YES and m.todo.n:
        m.todo.n -= 1
        pair = m.todo.p[m.todo.n]
        result = walk_pair(m, cython.cast(uint32_t, pair >> 32), cython.cast(uint32_t, pair))
    forget(m)
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def matcher_init(
    m: cython.pointer[Matcher], classes: cython.pointer[cython.const[ClassTable]]
) -> cython.void:
    memset(m, 0, cython.sizeof(Matcher))
    m.classes = classes
    m.steps = MAX_STEPS


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def matcher_free(m: cython.pointer[Matcher]) -> cython.void:
    u64s_free(cython.address(m.todo))
    free(m.seen)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def types_match(classes: cython.pointer[cython.const[ClassTable]], a: uint32_t, b: uint32_t) -> cython.int:
    """See prototype_match.pxd."""
    m: Matcher
    result: cython.int
    matcher_init(cython.address(m), classes)
    result = matcher_compare(cython.address(m), a, b)
    matcher_free(cython.address(m))
    return result
