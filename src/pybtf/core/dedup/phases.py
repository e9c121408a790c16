"""The phases of de-duplication, each in the order of ids; each decides what later ones rely on (see `dedup.py`).

`Node.map` is the result in progress. A struct or union may be mapped before its turn, by a comparison that
began elsewhere; a forward declaration may be mapped to a definition, and that later to the canonical one.
What is mapped to itself is in the table of candidates. The phase of reference types, which no comparison follows,
works on the result itself (reference_types.py).

Each record is hashed when it is looked up, that is at most once: most structs of a unit are decided by a comparison
that began at another struct, and are not hashed at all. A hash only finds a chain; equality is always decided on words.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_DATASEC,
    KIND_ENUM,
    KIND_ENUM64,
    KIND_FWD,
    KIND_STRUCT,
    KIND_TYPEDEF,
    KIND_UNION,
    KIND_VAR,
)
from cython.cimports.pybtf.core.btf.record_layout import (
    RefSpan,
    wire_forward_kind,
    wire_is_primitive,
    wire_refs,
    wire_vlen,
    wire_words,
)
from cython.cimports.pybtf.core.dedup.candidates import (
    Candidates,
    Slot,
    candidates_free,
    candidates_init,
    candidates_insert,
    chain_first,
    chain_next,
    chain_of,
)
from cython.cimports.pybtf.core.dedup.equivalence import (
    EQ_NO,
    apply_hypothesis,
    compatible_enums,
    drop_hypothesis,
    equal_enums,
    equal_words,
    equivalent,
)
from cython.cimports.pybtf.core.dedup.phases import Work
from cython.cimports.pybtf.core.dedup.record_hash import hash_members, hash_name, hash_record, hash_typedef
from cython.cimports.pybtf.core.dedup.refuted import (
    is_refuted,
    refuted_begin,
    refuted_fetch,
    refuted_forget,
    refuted_note,
)
from cython.cimports.pybtf.core.dedup.type_graph import (
    DEDUP_EFFORT,
    DEDUP_KIND,
    DEDUP_LARGE,
    DEDUP_MEMORY,
    DEDUP_OK,
    EFFORT_PER_MEMBER,
    FINAL,
    UNMAPPED,
    Node,
    TypeGraph,
    kind_of,
    note_replaced,
    record_of,
    resolve,
)
from cython.cimports.pybtf.core.support.check import CHECK, CHECKED
from cython.cimports.pybtf.core.support.memory import prefetch, u32s_add, u32s_push, u32s_reserve


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def stop(w: cython.pointer[Work], status: cython.int, id: uint32_t) -> cython.int:
    w.g.bad = id
    return status


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def spend(w: cython.pointer[Work], steps: uint64_t) -> cython.bint:
    if w.g.effort < steps:
        return False
    w.g.effort -= steps
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def same_record(w: cython.pointer[Work], r: cython.pointer[uint32_t], hash: uint64_t) -> uint32_t:
    """The first candidate equal in all words, 0 if there is none. UNMAPPED: effort used up."""
    s: cython.pointer[cython.const[Slot]] = chain_of(cython.address(w.table), hash)
    c: uint32_t = chain_first(cython.address(w.table), s)
    n: cython.size_t = wire_words(r[1])
    while c:
        if equal_words(r, record_of(cython.address(w.g), c), n):
            return c
        if not spend(w, 1):
            return UNMAPPED
        c = chain_next(cython.address(w.table), s, c)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_or_insert(
    w: cython.pointer[Work],
    id: uint32_t,
    r: cython.pointer[uint32_t],
    hash: uint64_t,
    found: cython.pointer[uint32_t],
) -> cython.int:
    """See `phases.pxd`."""
    c: uint32_t = same_record(w, r, hash)
    if c == UNMAPPED:
        return stop(w, DEDUP_EFFORT, id)
    found[0] = c if c else id
    if c == 0 and not candidates_insert(cython.address(w.table), hash, id):
        return stop(w, DEDUP_MEMORY, id)
    return DEDUP_OK


# Enums. libbpf walks the chain of a name (Q19), which holds every anonymous enum of a kernel. All entries of
# a chain without empty enums and without duplicates are mutually unequal, so there the walk can only find the
# one equal entry: a look-up by all words does the same. `mixed` has the names whose chains are not so.


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def insert_enum(
    w: cython.pointer[Work], id: uint32_t, r: cython.pointer[uint32_t], name: uint64_t, full: uint64_t
) -> cython.bint:
    """Make an enum canonical. `full`: hash of all words."""
    s: cython.pointer[cython.const[Slot]]
    c: uint32_t
    plain: cython.bint = wire_vlen(r) != 0
    if plain:
        s = chain_of(cython.address(w.enums), full)
        c = chain_first(cython.address(w.enums), s)
        while c and not equal_enums(r, record_of(cython.address(w.g), c)):
            c = chain_next(cython.address(w.enums), s, c)
        if c:  # a base may hold duplicates
            plain = False
        elif not candidates_insert(cython.address(w.enums), full, id):
            return False
    if not plain and chain_of(cython.address(w.mixed), name) == cython.NULL:
        if not candidates_insert(cython.address(w.mixed), name, id):
            return False
    return candidates_insert(cython.address(w.table), name, id)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_or_insert_enum(
    w: cython.pointer[Work], id: uint32_t, r: cython.pointer[uint32_t], full: uint64_t
) -> cython.int:
    """`full`: hash of all words."""
    g: cython.pointer[TypeGraph] = cython.address(w.g)
    name: uint64_t = hash_name(r)
    s: cython.pointer[cython.const[Slot]]
    c: uint32_t
    found: uint32_t = 0
    rc: cython.pointer[uint32_t]
    if wire_vlen(r) and chain_of(cython.address(w.mixed), name) == cython.NULL:
        s = chain_of(cython.address(w.enums), full)
        c = chain_first(cython.address(w.enums), s)
        while c:
            if equal_enums(r, record_of(g, c)):
                found = c
                break
            c = chain_next(cython.address(w.enums), s, c)
    else:
        s = chain_of(cython.address(w.table), name)
        c = chain_first(cython.address(w.table), s)
        while c:
            rc = record_of(g, c)
            if not spend(w, 1 + cython.cast(uint64_t, wire_vlen(r))):
                return stop(w, DEDUP_EFFORT, id)
            if equal_enums(r, rc):
                found = c
                break
            if compatible_enums(r, rc):
                if wire_vlen(r) == 0:
                    found = c
                    break
                g.nodes[c].map = id  # the candidate is a declaration of this one
                note_replaced(g, c)
            c = chain_next(cython.address(w.table), s, c)
    g.nodes[id].map = found if found else id
    if not found and not insert_enum(w, id, r, name, full):
        return stop(w, DEDUP_MEMORY, id)
    return DEDUP_OK


# The phases.


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter_base(w: cython.pointer[Work]) -> cython.int:
    """Put all types, those of a base, into the tables. Their nodes are made.

    Typedefs get another hash than own ones look for (Q22).
    """
    g: cython.pointer[TypeGraph] = cython.address(w.g)
    first: uint32_t
    end: uint32_t
    chains: cython.size_t
    id: uint32_t
    r: cython.pointer[uint32_t]
    kind: uint32_t
    done: cython.bint
    hash: uint64_t
    hashes = cython.declare(uint64_t[16])
    w.distinct = True
    for first in range(1, g.n, 16):
        end = first + 16 if g.n - first > 16 else g.n
        # The places of a few types are asked for before the first is looked at, so that memory brings them together.
        for id in range(first, end):
            r = record_of(g, id)
            kind = kind_of(g.nodes, id)
            if kind == KIND_STRUCT or kind == KIND_UNION:
                hash = hash_members(g, r)
            elif kind == KIND_ENUM or kind == KIND_ENUM64:
                hash = hash_name(r)
            else:
                hash = hash_record(r)
            hashes[id - first] = hash
            prefetch(cython.address(w.table.slots[hash & w.table.mask]))
        for id in range(first, end):
            kind = kind_of(g.nodes, id)
            hash = hashes[id - first]
            if kind == KIND_VAR or kind == KIND_DATASEC:
                continue
            if kind == KIND_ENUM or kind == KIND_ENUM64:
                r = record_of(g, id)
                done = insert_enum(w, id, r, hash, hash_record(r))
            else:
                chains = w.table.used
                done = candidates_insert(cython.address(w.table), hash, id)
                if kind == KIND_STRUCT or kind == KIND_UNION:
                    done = done and u32s_push(cython.address(w.structs), id)
                elif w.table.used == chains:
                    w.distinct = False
            if not done:
                return stop(w, DEDUP_MEMORY, id)
    return DEDUP_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_type(w: cython.pointer[Work], id: uint32_t, node: cython.pointer[Node]) -> cython.bint:
    """Puts an own type on the list of its phase, which has room; VAR and DATASEC stand for themselves. 0: there is no
    such kind.
    """
    kind: uint32_t = (node.info >> 24) & 31
    if wire_is_primitive(kind):
        u32s_add(cython.address(w.primitives), id)
    elif kind == KIND_STRUCT or kind == KIND_UNION:
        u32s_add(cython.address(w.composites), id)
        w.g.effort += EFFORT_PER_MEMBER * cython.cast(uint64_t, node.info & 0xFFFF)
    elif kind == KIND_TYPEDEF:
        u32s_add(cython.address(w.composites), id)
    elif kind == KIND_VAR or kind == KIND_DATASEC:
        node.map = FINAL | id
    elif wire_words(node.info):
        u32s_add(cython.address(w.references), id)
    else:
        return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter_types(w: cython.pointer[Work], offs: cython.pointer[cython.const[cython.size_t]]) -> cython.int:
    """Make the nodes of the own types, whose records are at `offs`; a base has those below."""
    g: cython.pointer[TypeGraph] = cython.address(w.g)
    id: uint32_t
    node: cython.pointer[Node] = g.nodes
    n: cython.size_t = g.n - g.first_own
    if not (
        u32s_reserve(cython.address(w.primitives), n)
        and u32s_reserve(cython.address(w.composites), n)
        and u32s_reserve(cython.address(w.references), n)
    ):
        return stop(w, DEDUP_MEMORY, 0)
    node.map = FINAL
    node.hypothesis = UNMAPPED
    node.offset = node.info = 0
    node += g.first_own - 1
    for id in range(g.first_own, g.n):
        node += 1
        if offs[id] >> 32:
            return stop(w, DEDUP_LARGE, id)
        node.map = 0
        node.hypothesis = UNMAPPED
        node.offset = cython.cast(uint32_t, offs[id])
        node.info = g.words[offs[id] + 1]
        if not sort_type(w, id, node):
            return stop(w, DEDUP_KIND, id)
    return DEDUP_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def dedup_primitive(w: cython.pointer[Work], id: uint32_t) -> cython.int:
    g: cython.pointer[TypeGraph] = cython.address(w.g)
    r: cython.pointer[uint32_t] = record_of(g, id)
    hash: uint64_t = hash_record(r)
    kind: uint32_t = kind_of(g.nodes, id)
    found: uint32_t = 0
    status: cython.int
    if kind == KIND_ENUM or kind == KIND_ENUM64:
        return find_or_insert_enum(w, id, r, hash)
    status = find_or_insert(w, id, r, hash, cython.address(found))
    if status != DEDUP_OK:
        return status
    if kind != KIND_FWD:
        g.nodes[id].map = FINAL | found
        return DEDUP_OK
    g.nodes[id].map = found
    if found == id and not u32s_push(cython.address(w.forwards), id):
        return stop(w, DEDUP_MEMORY, id)
    return DEDUP_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def dedup_primitives(w: cython.pointer[Work]) -> cython.int:
    """INT, FLOAT, FWD, ENUM and ENUM64."""
    i: cython.size_t
    status: cython.int
    for i in range(w.primitives.n):
        status = dedup_primitive(w, w.primitives.p[i])
        if status != DEDUP_OK:
            return status
    return DEDUP_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def dedup_struct(w: cython.pointer[Work], id: uint32_t) -> cython.int:
    """STRUCT, UNION or TYPEDEF: map it to the first equivalent candidate, or make it canonical."""
    g: cython.pointer[TypeGraph] = cython.address(w.g)
    kind: uint32_t = kind_of(g.nodes, id)
    r: cython.pointer[uint32_t] = record_of(g, id)
    hash: uint64_t = hash_typedef(r) if kind == KIND_TYPEDEF else hash_members(g, r)
    s: cython.pointer[cython.const[Slot]] = chain_of(cython.address(w.table), hash)
    c: uint32_t = chain_first(cython.address(w.table), s)
    answer: cython.int
    status: cython.int = refuted_begin(g, id)
    next: uint32_t
    if status != DEDUP_OK:
        return status
    while c:
        if not spend(w, 1):
            return stop(w, DEDUP_EFFORT, id)
        next = chain_next(cython.address(w.table), s, c)
        if g.refuted.on:
            refuted_fetch(g, id, next)
            if is_refuted(g, id, c) and not CHECKED:
                c = next
                continue
        if kind_of(g.nodes, c) == kind:  # `equivalent` compares the rest
            answer = equivalent(g, id, c)
            if answer < 0:
                return -answer  # g.bad is set
            if not spend(w, 1 + g.touched.n):
                return stop(w, DEDUP_EFFORT, id)
            if answer == EQ_NO:
                if refuted_note(g) != DEDUP_OK:
                    return stop(w, DEDUP_MEMORY, id)
                drop_hypothesis(g)
            else:
                refuted_forget(g)
                if not apply_hypothesis(g):
                    g.nodes[id].map = FINAL | c
                    return DEDUP_OK
        c = next
    g.nodes[id].map = FINAL | id
    if not candidates_insert(cython.address(w.table), hash, id):
        return stop(w, DEDUP_MEMORY, id)
    if kind != KIND_TYPEDEF and not u32s_push(cython.address(w.structs), id):
        return stop(w, DEDUP_MEMORY, id)
    return DEDUP_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def resolve_given(g: cython.pointer[TypeGraph], given: cython.pointer[cython.const[uint32_t]]) -> cython.void:
    """Resolves a declaration of which the caller knows what becomes of it. All of a name are one type by now."""
    forward: uint32_t = resolve(g, given[0])
    if kind_of(g.nodes, forward) == KIND_FWD:
        g.nodes[forward].map = given[1]
    else:
        CHECK(forward == given[1], "a declaration was resolved to another type")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def dedup_structs(
    w: cython.pointer[Work], resolved: cython.pointer[cython.const[uint32_t]], n_resolved: cython.size_t
) -> cython.int:
    """The struct phase (docs/rules.md, 9.4): all STRUCT, UNION and TYPEDEF of the list, in the order of ids. Before
    one is compared, the declarations of `resolved` (DedupInput) that are due by its id are resolved, as comparisons of
    types that were dropped would have done. What was refuted before may hold then.
    """
    g: cython.pointer[TypeGraph] = cython.address(w.g)
    given: cython.size_t = 0
    i: cython.size_t
    id: uint32_t
    status: cython.int
    for i in range(w.composites.n):
        id = w.composites.p[i]
        while given < n_resolved and resolved[given + 2] <= id:
            resolve_given(g, resolved + given)
            refuted_forget(g)
            given += 3
        if g.nodes[id].map == 0:
            status = dedup_struct(w, id)
            if status != DEDUP_OK:
                return status
    while given < n_resolved:
        resolve_given(g, resolved + given)
        given += 3
    return DEDUP_OK


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def same_name(
    g: cython.pointer[TypeGraph],
    names: cython.pointer[Candidates],
    r: cython.pointer[uint32_t],
    hash: uint64_t,
) -> uint32_t:
    """The entry with the name of `r`, 0 if there is none."""
    s: cython.pointer[cython.const[Slot]] = chain_of(names, hash)
    c: uint32_t = chain_first(names, s)
    while c and record_of(g, c)[0] != r[0]:
        c = chain_next(names, s, c)
    return c


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter_names(w: cython.pointer[Work], names: cython.pointer[Candidates]) -> cython.int:
    """Put the first of each name among `w.structs` into `names`.

    Hypotheses are over: the field of an entry serves to say that its name has occurred again, and `touched`
    has such entries.
    """
    g: cython.pointer[TypeGraph] = cython.address(w.g)
    i: cython.size_t
    id: uint32_t
    c: uint32_t
    r: cython.pointer[uint32_t]
    hash: uint64_t
    for i in range(w.structs.n):
        id = w.structs.p[i]
        r = record_of(g, id)
        hash = hash_name(r)
        c = same_name(g, names, r, hash)
        if c == 0:
            if not candidates_insert(names, hash, id):
                return stop(w, DEDUP_MEMORY, id)
        elif g.nodes[c].hypothesis == UNMAPPED:
            if not u32s_push(cython.address(g.touched), c):
                return stop(w, DEDUP_MEMORY, id)
            g.nodes[c].hypothesis = 1
    return DEDUP_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def resolve_forwards(w: cython.pointer[Work]) -> cython.int:
    """A declaration that is left goes to the only struct or union of its name, if that is of its kind.

    Structs and unions share the names here: one of each blocks both (Q23).
    """
    g: cython.pointer[TypeGraph] = cython.address(w.g)
    names = cython.declare(Candidates)
    below: cython.pointer[cython.const[Candidates]] = cython.NULL
    i: cython.size_t
    id: uint32_t
    c: uint32_t
    r: cython.pointer[uint32_t]
    status: cython.int = DEDUP_OK
    if w.forwards.n == 0:
        return DEDUP_OK
    if g.base != cython.NULL:
        below = cython.address(g.base.names)
    if candidates_init(cython.address(names), g.n, below, g.first_own):
        status = enter_names(w, cython.address(names))
    else:
        status = stop(w, DEDUP_MEMORY, 0)
    for i in range(w.forwards.n if status == DEDUP_OK else 0):
        id = w.forwards.p[i]
        if g.nodes[id].map == id:
            r = record_of(g, id)
            c = same_name(g, cython.address(names), r, hash_name(r))
            if c == 0 or g.nodes[c].hypothesis != UNMAPPED or (c < g.first_own and g.base.several[c]):
                continue
            if kind_of(g.nodes, c) == wire_forward_kind(r):
                g.nodes[id].map = c
    drop_hypothesis(g)
    candidates_free(cython.address(names))
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def flatten(g: cython.pointer[TypeGraph], map: cython.pointer[uint32_t]) -> cython.void:
    """Write what is decided about each type to `map`, in final form; the phase of reference types decides the rest.

    The entries of a base are there already, but for those that have changed.
    """
    id: uint32_t
    i: cython.size_t
    for i in range(g.replaced.n):
        map[g.replaced.p[i]] = resolve(g, g.replaced.p[i])
    for id in range(0 if g.base == cython.NULL or g.base_changed else g.first_own, g.n):
        map[id] = resolve(g, id) if g.nodes[id].map else UNMAPPED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def restore_base(g: cython.pointer[TypeGraph], map: cython.pointer[uint32_t]) -> cython.void:
    """Undo what the run has changed of types of the base, when it is over."""
    i: cython.size_t
    for i in range(g.replaced.n):
        g.nodes[g.replaced.p[i]].map = map[g.replaced.p[i]] = g.replaced.p[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def rewrite_survivors(g: cython.pointer[TypeGraph], map: cython.pointer[uint32_t]) -> cython.void:
    """References of structs, typedefs, variables and sections. Those of reference types are final already."""
    id: uint32_t
    i: cython.size_t
    refs: RefSpan
    for id in range(g.first_own, g.n):
        if map[id] != id:
            continue
        refs = wire_refs(record_of(g, id))
        for i in range(refs.count):
            refs.p[i * refs.stride] = map[refs.p[i * refs.stride]]
