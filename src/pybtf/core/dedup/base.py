"""A base: the BTF of a kernel, read once, for any number of encodings of its modules, also at the same time.

A kernel has a hundred thousand types; a typical module brings ten thousand and keeps five hundred. So everything that
depends on the base alone is made here, once: its records checked and indexed, its strings findable by text, its
candidate tables filled as the de-duplication finds them when it comes to the module (candidates.pxd says how a table
lies on another), the names of its structs and of their members.

A `Base` never changes, except for what its models remember, which affects only speed. What a run has to write to,
the state of each type in the comparisons, is in a `Space`, which begins with the types of the base, so that they
and own types are found the same way, in one array. Making a space takes as long as encoding a small module; therefore
a run returns its space in its original state, and the next run takes it. There are as many spaces as there were
concurrent runs. The first is made with the base, so that one module needs no second copy of the types.

With one module, most of the time goes into the base, and most of that into touching memory for the first time, a page
here and a page there. Hence tables of the right size from the start, and look-ups a few types ahead (phases.py).
"""

from sys import byteorder

import cython
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, realloc
from cython.cimports.libc.string import memchr, memcpy, memset
from cython.cimports.pybtf.core.btf.kinds import KIND_ENUM, KIND_ENUM64, KIND_FWD
from cython.cimports.pybtf.core.btf.record_layout import Extremes
from cython.cimports.pybtf.core.btf.type_section import (
    WIRE_MEMORY,
    WIRE_OK,
    WIRE_TOO_MANY,
    WireError,
    wire_check,
    wire_index,
    wire_load,
)
from cython.cimports.pybtf.core.dedup.candidates import candidates_expect, candidates_free, candidates_init
from cython.cimports.pybtf.core.dedup.phases import Work, enter_base, enter_names
from cython.cimports.pybtf.core.dedup.type_graph import (
    DEDUP_MEMORY,
    DEDUP_OK,
    FINAL,
    UNMAPPED,
    BaseTypes,
    Node,
    Room,
    TypeGraph,
)
from cython.cimports.pybtf.core.strings.base_strings import TOO_LONG, BaseString, BaseStrings, base_string
from cython.cimports.pybtf.core.strings.name_prediction import Models, models_free, models_index
from cython.cimports.pybtf.core.support.hashing import hash_bytes, lock, unlock
from cython.cimports.pybtf.core.support.hugepages import large, large_zeroed, touch
from cython.cimports.pybtf.core.support.memory import prefetch, u32s_free, u32s_reserve, u64s_free, u64s_reserve

from pybtf.core.btf.type_section import wire_error, wire_header
from pybtf.errors import Place

OWN_WORDS = cython.declare(cython.size_t, 1 << 21)  # room for what is built on a base, for a start: for a large module
OWN_TYPES = cython.declare(cython.size_t, 1 << 17)
MUCH = cython.declare(cython.size_t, 4 << 20)  # bytes of DIEs for which models are made


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def words_make(r: cython.pointer[Room], n: cython.size_t) -> cython.bint:
    """Make room for `n` words in an empty room. 0 if out of memory."""
    r.words.p = cython.cast(cython.pointer[uint32_t], large(n * cython.sizeof(uint32_t)))
    if r.words.p == cython.NULL:
        return False
    r.words.cap = n
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def room_make(r: cython.pointer[Room], n: cython.size_t) -> cython.bint:
    """Make `nodes` and `map`, which are not there yet, with `n` entries. 0 if out of memory."""
    r.nodes = cython.cast(cython.pointer[Node], large(n * cython.sizeof(Node)))
    r.map = cython.cast(cython.pointer[uint32_t], large(n * cython.sizeof(uint32_t)))
    if r.nodes == cython.NULL or r.map == cython.NULL:
        return False
    r.cap = n
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def room_renew(r: cython.pointer[Room], n: uint32_t) -> cython.bint:
    """Move `nodes` and `map`, of which `n` entries count, to other memory. 0 if out of memory, and they stay."""
    nodes: cython.pointer[Node] = r.nodes
    map: cython.pointer[uint32_t] = r.map
    done: cython.bint = room_make(r, r.cap)
    if done:
        memcpy(r.nodes, nodes, n * cython.sizeof(Node))
        memcpy(r.map, map, n * cython.sizeof(uint32_t))
    else:
        free(r.nodes)
        free(r.map)
        r.nodes = nodes
        r.map = map
        return False
    free(nodes)
    free(map)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def room_reserve(r: cython.pointer[Room], n: cython.size_t) -> cython.bint:
    """Make `nodes` and `map` hold at least `n` entries. 0 if out of memory."""
    cap: cython.size_t = r.cap + r.cap // 2
    nodes: cython.pointer[Node]
    map: cython.pointer[uint32_t]
    if n <= r.cap:
        return True
    cap = cap if cap > n else n
    nodes = cython.cast(cython.pointer[Node], realloc(r.nodes, cap * cython.sizeof(Node)))
    if nodes == cython.NULL:
        return False
    r.nodes = nodes
    map = cython.cast(cython.pointer[uint32_t], realloc(r.map, cap * cython.sizeof(uint32_t)))
    if map == cython.NULL:
        return False
    r.map = map
    r.cap = cap
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def room_load(
    r: cython.pointer[Room],
    src: cython.pointer[cython.const[uint8_t]],
    n_words: cython.size_t,
    swap: cython.bint,
    strings: uint32_t,
    error: cython.pointer[WireError],
) -> cython.int:
    """Append a type section, checked: its names are below `strings`. WIRE_*."""
    first: cython.size_t = r.words.n
    start: uint32_t = cython.cast(uint32_t, r.offs.n)
    n: uint32_t = start
    status: cython.int
    extremes = cython.declare(Extremes)
    error.id = error.value = 0
    error.word = first
    if not u32s_reserve(cython.address(r.words), n_words + 1):
        return WIRE_MEMORY
    wire_load(r.words.p + first, src, n_words, swap)
    status = wire_index(
        r.words.p,
        n_words,
        start,
        first,
        cython.cast(cython.pointer[cython.pointer[cython.size_t]], cython.address(r.offs.p)),
        cython.address(n),
        cython.address(r.offs.cap),
        cython.address(extremes),
        error,
    )
    if status == WIRE_OK and (first + n_words) >> 32:
        status = WIRE_TOO_MANY
    r.offs.n = n
    r.words.n += n_words
    if status == WIRE_OK:
        status = wire_check(
            r.words.p,
            cython.cast(cython.pointer[cython.size_t], r.offs.p),
            start,
            n,
            strings,
            cython.address(extremes),
            error,
        )
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def room_stand(r: cython.pointer[Room], n: uint32_t) -> cython.void:
    """Nodes and map of the first `n` types, those of a base: each stands for itself."""
    id: uint32_t
    kind: uint32_t
    node: cython.pointer[Node] = r.nodes
    node.map = FINAL
    node.hypothesis = UNMAPPED
    node.offset = node.info = 0
    r.map[0] = 0
    for id in range(1, n):
        node += 1
        node.hypothesis = UNMAPPED
        node.offset = cython.cast(uint32_t, r.offs.p[id])
        node.info = r.words.p[node.offset + 1]
        kind = (node.info >> 24) & 31
        # Only these can be found to be declarations of own types.
        node.map = id if kind == KIND_FWD or kind == KIND_ENUM or kind == KIND_ENUM64 else FINAL | id
        r.map[id] = id
    r.changed = False


@cython.final
@cython.cclass
class Space:
    """A `Room` with an owner."""

    def __cinit__(self):
        memset(cython.address(self.r), 0, cython.sizeof(Room))

    def __dealloc__(self):
        u32s_free(cython.address(self.r.words))
        u64s_free(cython.address(self.r.offs))
        free(self.r.nodes)
        free(self.r.map)

    def __init__(self):
        if not u64s_reserve(cython.address(self.r.offs), 1):
            raise MemoryError
        self.r.offs.p[0] = 0
        self.r.offs.n = 1

    @cython.cfunc
    def load(
        self, src: cython.pointer[cython.const[cython.uchar]], name: str, header: tuple, strings: uint32_t
    ) -> object:
        """Append the types of the raw BTF at `src`, checked; `header` is what `wire_header` said of it.

        `strings`: length in bytes of all strings there are, of those below too. Raises `InputError`.
        """
        swap: cython.bint
        at: cython.size_t
        size: cython.size_t
        first: cython.size_t = self.r.words.n
        error = cython.declare(WireError)
        status: cython.int
        swap, at, size = header[:3]
        with cython.nogil:
            status = room_load(cython.address(self.r), src + at, size // 4, swap, strings, cython.address(error))
        if status != WIRE_OK:
            raise wire_error(Place(name, "types", 4 * (error.word - first)), status, error.id, error.value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_strings(text: cython.p_const_char, size: cython.size_t) -> cython.size_t:
    """How many NUL bytes there are. In a byte for each stretch, for many bytes are then compared at once."""
    count: cython.size_t = 0
    at: cython.size_t
    i: cython.size_t
    few: uint8_t
    for at in range(0, size - size % 128, 128):
        few = 0
        for i in range(at, at + 128):
            few += text[i] == 0
        count += few
    for i in range(size - size % 128, size):
        count += text[i] == 0
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def index_strings(b: cython.pointer[BaseStrings]) -> cython.bint:
    """Enter every string of the section, the first of equal ones. 0 if out of memory."""
    cap: cython.size_t = 1024
    count: cython.size_t
    at: cython.size_t = 0
    i: cython.size_t
    k: cython.size_t
    n: cython.size_t
    end: cython.p_const_char
    starts = cython.declare(uint32_t[16])
    sizes = cython.declare(uint32_t[16])
    hashes = cython.declare(uint64_t[16])
    count = count_strings(b.text, b.size)
    while cap < 2 * count:
        cap *= 2
    b.mask = cap - 1
    b.slots = cython.cast(cython.pointer[BaseString], large_zeroed(cap * cython.sizeof(BaseString)))
    if b.slots == cython.NULL:
        return False
    b.distinct = True
    at = 0
    while at < b.size:
        # The places of a few strings are on their way from memory together.
        n = 0
        while at < b.size and n < 16:
            end = cython.cast(cython.p_const_char, memchr(b.text + at, 0, b.size - at))
            starts[n] = cython.cast(uint32_t, at)
            sizes[n] = cython.cast(uint32_t, end - (b.text + at))
            hashes[n] = hash_bytes(b.text + at, sizes[n])
            prefetch(cython.address(b.slots[hashes[n] & b.mask]))
            at += sizes[n] + 1
            n += 1
        for k in range(n):
            if sizes[k] and base_string(b, b.text + starts[k], sizes[k], hashes[k]) == 0:
                i = hashes[k] & b.mask
                while b.slots[i].offset:
                    i = (i + 1) & b.mask
                b.slots[i].tag = cython.cast(uint32_t, hashes[k] >> 32)
                b.slots[i].offset = starts[k]
            elif sizes[k]:
                b.distinct = False
            if sizes[k] >= TOO_LONG:
                b.distinct = False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def index_types(t: cython.pointer[BaseTypes], r: cython.pointer[Room]) -> cython.int:
    """Make the tables of the types that are in `r`. A DEDUP_* status."""
    w = cython.declare(Work)
    g: cython.pointer[TypeGraph] = cython.address(w.g)
    status: cython.int
    done: cython.bint
    i: cython.size_t
    memset(cython.address(w), 0, cython.sizeof(Work))
    g.words = r.words.p
    g.n = g.first_own = t.n
    g.nodes = r.nodes
    g.effort = 0
    candidates_init(cython.address(w.table), t.n, cython.NULL, 0)
    done = candidates_expect(cython.address(w.table), t.n)
    done = candidates_init(cython.address(w.enums), t.n, cython.NULL, 0) and done
    done = candidates_init(cython.address(w.mixed), t.n, cython.NULL, 0) and done
    status = enter_base(cython.address(w)) if done else DEDUP_MEMORY
    t.table = w.table
    t.enums = w.enums
    t.mixed = w.mixed
    t.distinct = w.distinct
    if not candidates_init(cython.address(t.names), t.n, cython.NULL, 0):
        status = DEDUP_MEMORY
    if status == DEDUP_OK:
        status = enter_names(cython.address(w), cython.address(t.names))
    for i in range(g.touched.n):
        t.several[g.touched.p[i]] = 1
        g.nodes[g.touched.p[i]].hypothesis = UNMAPPED
    u32s_free(cython.address(w.structs))
    u32s_free(cython.address(g.touched))
    return status


@cython.final
@cython.cclass
class Base:
    """Raw BTF of either byte order, checked and indexed: `data`, bytes or a buffer. `name` is what messages call it.

    Raises `InputError` where it is damaged. `little` is its byte order; `len()` counts its types.
    """

    def __cinit__(self):
        memset(cython.address(self.types), 0, cython.sizeof(BaseTypes))
        memset(cython.address(self.strings), 0, cython.sizeof(BaseStrings))
        memset(cython.address(self.models), 0, cython.sizeof(Models))

    def __dealloc__(self):
        free(self.types.several)
        candidates_free(cython.address(self.types.table))
        candidates_free(cython.address(self.types.enums))
        candidates_free(cython.address(self.types.mixed))
        candidates_free(cython.address(self.types.names))
        free(self.strings.slots)
        models_free(cython.address(self.models))
        if self.source.buf != cython.NULL:
            PyBuffer_Release(cython.address(self.source))

    def __init__(self, data: object, name: str, once: cython.bint = False):
        """`once`: it is for one encoding. What pays off in several is left out, unless that one is large."""
        t: cython.pointer[BaseTypes] = cython.address(self.types)
        status: cython.int
        done: cython.bint
        space: Space
        text: cython.p_const_char
        if self.source.buf != cython.NULL:
            raise TypeError("a base is made once")
        PyObject_GetBuffer(data, cython.address(self.source), PyBUF_SIMPLE)
        self.raw = data
        text = cython.cast(cython.p_const_char, self.source.buf)
        self.name = name
        self.header = header = wire_header(data if isinstance(data, bytes) else memoryview(data), name, False)
        self.little = (byteorder == "little") != header[0]
        self.strings.text = text + cython.cast(cython.size_t, header[3])
        self.strings.size = header[4]
        space = self.make()
        t.n = cython.cast(uint32_t, space.r.offs.n)
        t.several = cython.cast(cython.pointer[uint8_t], calloc(t.n, 1))
        if t.several == cython.NULL:
            raise MemoryError
        with cython.nogil:
            status = index_types(t, cython.address(space.r))
            done = index_strings(cython.address(self.strings))
        if status != DEDUP_OK or not done:
            raise MemoryError
        self.spare = [space]
        if not once:
            self.foresee(space, MUCH)

    @cython.cfunc
    def foresee(self, space: Space, size: cython.size_t) -> object:
        """Make the models, of the types in a space, unless they are there, or that takes longer than `size` bytes of
        DIEs do without.
        """
        done: cython.bint = True
        if size < MUCH:
            return
        with cython.nogil:
            lock(cython.address(self.busy))
            if self.models.slots == cython.NULL:
                done = models_index(
                    cython.address(self.models),
                    cython.address(self.strings),
                    cython.address(space.r.words),
                    space.r.offs.p,
                    self.types.n,
                )
            unlock(cython.address(self.busy))
        if not done:
            raise MemoryError

    @cython.cfunc
    def make(self) -> Space:
        """A new space that begins with this base. Raises `InputError`, the first time, if the base is damaged."""
        space: Space = Space()
        n: uint32_t
        done: cython.bint
        words: cython.size_t = self.header[2] // 4
        # What is not used of the room costs nothing; to move a base would.
        if not words_make(cython.address(space.r), words + OWN_WORDS):
            raise MemoryError
        touch(space.r.words.p, words * cython.sizeof(uint32_t))
        space.load(
            cython.cast(cython.pointer[cython.const[cython.uchar]], self.source.buf),
            self.name,
            self.header,
            self.strings.size,
        )
        n = cython.cast(uint32_t, space.r.offs.n)
        with cython.nogil:
            done = u64s_reserve(cython.address(space.r.offs), OWN_TYPES) and room_make(
                cython.address(space.r), cython.cast(cython.size_t, n) + OWN_TYPES
            )
            if done:
                touch(space.r.nodes, n * cython.sizeof(Node))
                touch(space.r.map, n * cython.sizeof(uint32_t))
                room_stand(cython.address(space.r), n)
        if not done:
            raise MemoryError
        return space

    def renew(self):
        """In a process that was forked: of what each run writes to, get copies of its own at once, and not page by
        page.
        """
        space: Space
        for space in self.spare:
            if not room_renew(cython.address(space.r), self.types.n):
                raise MemoryError

    @property
    def data(self):
        return bytes(self.raw)

    def __len__(self):
        return self.types.n - 1

    @cython.cfunc
    def take(self) -> Space:
        """A space that begins with this base, for one run."""
        try:
            return self.spare.pop()
        except IndexError:
            return self.make()

    @cython.cfunc
    def give(self, space: Space) -> object:
        """Take back a space for the next run. Only its entries past the base may be left in any state.

        One that has become much larger than the base is not kept: a huge module should not be paid for ever after.
        """
        t: cython.pointer[BaseTypes] = cython.address(self.types)
        words: cython.size_t = self.header[2] // 4
        if space.r.words.cap > 4 * words + 2 * OWN_WORDS:
            return
        space.r.words.n = words
        space.r.offs.n = t.n
        if space.r.changed:
            room_stand(cython.address(space.r), t.n)
        self.spare.append(space)
