"""The types of one BTF for those who ask in Python: found by id and by name, made into objects one at a time.

Only sound records of known kinds become objects. For others the answer is None; pybtf.btf.records says what is wrong
with them, and makes an object of a kind that only a layout section describes.
"""

import cython
from cython.cimports.cpython.object import PyObject
from cython.cimports.cpython.tuple import PyTuple_New
from cython.cimports.cpython.unicode import PyUnicode_DecodeUTF8
from cython.cimports.libc.stdint import int32_t, int64_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc, realloc
from cython.cimports.libc.string import memcmp, strlen
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_DATASEC,
    KIND_DECL_TAG,
    KIND_ENUM64,
    KIND_FUNC,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_INT,
    KIND_STRUCT,
    KIND_UNION,
    KIND_VAR,
)
from cython.cimports.pybtf.core.btf.read_types import (
    FLAGGED,
    PyDict_GetItemWithError,
    new,
    new_row,
    set_item,
    set_slot,
)
from cython.cimports.pybtf.core.btf.record_layout import (
    WIRE_INFO_RESERVED,
    WIRE_KINDS,
    RefSpan,
    wire_each,
    wire_fixed,
    wire_kind,
    wire_names,
    wire_refs,
    wire_vlen,
)
from cython.cimports.pybtf.core.btf.type_section import wire_load
from cython.cimports.pybtf.core.support.hashing import hash_bytes

from pybtf.errors import InputError

MAX_LINKAGE = cython.declare(uint32_t, 2)

# What objects are made of, once pybtf.btf.types has been imported: see `teach`.
CLASSES = cython.declare(list, [])
SLOTS = cython.declare(list, [])
ROWS = cython.declare(list, [])
LINKAGES = cython.declare(list, [])
ENCODINGS = cython.declare(list, [])


def teach(classes: list, slots: list, rows: list, linkages: list, encodings: list):
    """By kind: the class, its slots' descriptors in the order in which they are filled, the class of an element.

    Several threads may do this at a time; the classes come last, since `is_taught` looks at them.
    """
    SLOTS[:] = slots
    ROWS[:] = rows
    LINKAGES[:] = linkages
    ENCODINGS[:] = encodings
    CLASSES[:] = classes


def is_taught() -> bool:
    return len(CLASSES) > 0


@cython.cfunc
@cython.exceptval(check=False)
def longest(strings: uint64_t, types: uint64_t) -> uint64_t:
    """Bytes of all names together that BTF with so many bytes of strings stays far below, each string counted once, or
    once for each type.
    """
    return 16 * strings + 256 * types + 65536


def shared_names(place: object) -> InputError:
    """The error for names that are parts of each other, or of which many types have the same: a small file can have
    any number of bytes of them.
    """
    found = "names that begin inside others, or a name that very many types share"
    return InputError(place, found, "BTF made by a compiler or encoder")


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def may_be(r: cython.pointer[cython.const[uint32_t]]) -> cython.bint:
    """Whether the info word is one that its kind can have."""
    kind: uint32_t = wire_kind(r)
    if r[1] & WIRE_INFO_RESERVED:
        return False
    if kind >= WIRE_KINDS:
        return True
    if r[1] >> 31 and not (FLAGGED >> kind) & 1:
        return False
    return wire_each(kind) or wire_vlen(r) <= (MAX_LINKAGE if kind == KIND_FUNC else 0)


@cython.cclass
class TypeIndex:
    """The records of a type section, `size` bytes at `at` in `data`, and the strings, at `text`. Call `index` first."""

    def __cinit__(self):
        self.words = self.starts = self.heads = self.after = cython.NULL

    def __dealloc__(self):
        free(self.words)
        free(self.starts)
        free(self.heads)
        free(self.after)

    def __init__(
        self, data: bytes, at: cython.size_t, size: cython.size_t, swap: cython.bint, text: cython.size_t,
        text_size: cython.size_t, base: TypeIndex = None, place: object = None
    ):  # fmt: skip
        start: cython.p_const_char = data
        self.data = data
        self.base = base
        self.text = start + text
        self.text_start = base.text_end if base is not None else 0
        self.text_end = self.text_start + text_size
        self.first_id = self.end_id = base.end_id if base is not None else 1
        self.n_words = size // 4
        self.names = {}
        self.place = place
        self.room = longest(self.text_end, 0)
        self.words = cython.cast(cython.pointer[uint32_t], malloc(size + 4))
        if self.words == cython.NULL:
            raise MemoryError
        wire_load(
            self.words, cython.cast(cython.pointer[cython.const[cython.uchar]], start) + at, self.n_words, swap
        )

    @cython.cfunc
    def grow(self, cap: cython.pointer[cython.size_t]):
        p: cython.pointer[uint32_t]
        cap[0] = 2 * cap[0] if cap[0] else 1024
        p = cython.cast(cython.pointer[uint32_t], realloc(self.starts, cap[0] * cython.sizeof(uint32_t)))
        if p == cython.NULL:
            raise MemoryError
        self.starts = p

    def index(self, layout: object) -> object:
        """Find where records begin. Returns None, or the word at which one begins that cannot be; its id is `end_id`.

        `layout`: the entries of the layout section by kind, in bytes, multiples of 4: once, and for each element. Those
        of known kinds are not looked at.
        """
        at: cython.size_t = 0
        cap: cython.size_t = 0
        n: cython.size_t = 0
        length: cython.size_t
        kind: uint32_t
        fixed: uint32_t[32]
        each: uint32_t[32]
        known: uint32_t = (cython.cast(uint32_t, 1) << WIRE_KINDS) - 2
        for kind in range(32):
            fixed[kind] = 3 + wire_fixed(kind)
            each[kind] = wire_each(kind)
        for kind in range(WIRE_KINDS, min(len(layout), 32)):
            known |= cython.cast(uint32_t, 1) << kind
            fixed[kind] = 3 + layout[kind][0] // 4
            each[kind] = layout[kind][1] // 4
        self.grow(cython.address(cap))
        while at < self.n_words:
            self.end_id = self.first_id + n
            if self.n_words - at < 3:
                return at
            kind = wire_kind(self.words + at)
            length = fixed[kind] + cython.cast(cython.size_t, each[kind]) * wire_vlen(self.words + at)
            if not (known >> kind) & 1 or not may_be(self.words + at) or length > self.n_words - at:
                return at
            self.starts[n] = at
            n += 1
            at += length
            if n == cap:
                self.grow(cython.address(cap))
        self.starts[n] = at
        self.end_id = self.first_id + n
        return None

    def all_words(self) -> bytes:
        """The records, in the machine's byte order."""
        p: cython.p_char = cython.cast(cython.p_char, self.words)
        return p[: 4 * self.n_words]

    def all_starts(self) -> bytes:
        """Where they begin, and the end, as 32-bit numbers."""
        p: cython.p_char = cython.cast(cython.p_char, self.starts)
        return p[: 4 * (self.end_id - self.first_id + 1)]

    def kind(self, id: uint32_t) -> int:
        """Of an own type, whose id is within the bounds."""
        return wire_kind(self.words + self.starts[id - self.first_id])

    def count_kinds(self) -> list:
        counts: uint32_t[32]
        i: cython.size_t
        for i in range(32):
            counts[i] = 0
        for i in range(self.end_id - self.first_id):
            counts[wire_kind(self.words + self.starts[i])] += 1
        return [counts[i] for i in range(32)]

    # Names

    @cython.cfunc
    @cython.exceptval(check=False)
    def string(self, offset: cython.size_t) -> cython.p_const_char:
        """The string at an offset, NULL if there is none."""
        layer: TypeIndex = self
        if offset >= self.text_end:
            return cython.NULL
        while offset < layer.text_start:
            layer = layer.base
        return layer.text + (offset - layer.text_start)

    @cython.cfunc
    def name_at(self, offset: uint32_t) -> str:
        """The text at an offset, which has been checked."""
        key: object = offset
        text: cython.p_const_char
        size: uint64_t
        found: cython.pointer[PyObject] = PyDict_GetItemWithError(self.names, key)
        if found != cython.NULL:
            return cython.cast(str, found)
        text = self.string(offset)
        size = strlen(text)
        if size > self.room:
            raise shared_names(self.place)
        self.room -= size
        # What is there stays: another thread may have looked it up, without a reference of its own.
        return self.names.setdefault(key, PyUnicode_DecodeUTF8(text, size, b"surrogateescape"))

    @cython.cfunc
    def hash_names(self):
        """Chain the ids by the hash of their names, those of a chain in their order."""
        n: cython.size_t = self.end_id - self.first_id
        size: cython.size_t = 64
        slot: uint32_t
        name: cython.p_const_char
        length: uint64_t
        room: uint64_t = longest(self.text_end, n)
        while size < n:
            size *= 2
        self.after = cython.cast(cython.pointer[uint32_t], calloc(n + 1, cython.sizeof(uint32_t)))
        self.heads = cython.cast(cython.pointer[uint32_t], calloc(size, cython.sizeof(uint32_t)))
        if self.after == cython.NULL or self.heads == cython.NULL:
            free(self.heads)
            free(self.after)
            self.heads = self.after = cython.NULL
            raise MemoryError
        self.mask = size - 1
        while n:
            n -= 1
            name = self.string(self.words[self.starts[n]])
            if name != cython.NULL and name[0]:
                length = strlen(name)
                if length > room:
                    free(self.heads)
                    free(self.after)
                    self.heads = self.after = cython.NULL
                    raise shared_names(self.place)
                room -= length
                slot = cython.cast(uint32_t, hash_bytes(name, length)) & self.mask
                self.after[n] = self.heads[slot]
                self.heads[slot] = n + 1

    def find(self, name: bytes, kind: cython.int = -1) -> list:
        """The ids of own types of this name, and this kind if one is given."""
        size: cython.size_t = len(name)
        text: cython.p_const_char = name
        other: cython.p_const_char
        at: uint32_t
        r: cython.pointer[cython.const[uint32_t]]
        found: list = []
        if size == 0 or strlen(text) != size:
            return found
        with cython.critical_section(self):
            if self.heads == cython.NULL:
                self.hash_names()
        at = self.heads[cython.cast(uint32_t, hash_bytes(text, size)) & self.mask]
        while at:
            r = self.words + self.starts[at - 1]
            other = self.string(r[0])
            if strlen(other) == size and memcmp(other, text, size) == 0 and (
                kind < 0 or wire_kind(r) == cython.cast(uint32_t, kind)
            ):
                found.append(self.first_id + at - 1)
            at = self.after[at - 1]
        return found

    def named(self, kind: cython.int = -1) -> dict:
        """The ids of the own types with names, and of this kind if one is given, by name."""
        i: cython.size_t
        r: cython.pointer[cython.const[uint32_t]]
        found: dict = {}
        for i in range(self.end_id - self.first_id):
            r = self.words + self.starts[i]
            if kind >= 0 and wire_kind(r) != cython.cast(uint32_t, kind):
                continue
            if r[0] and r[0] < self.text_end:
                found.setdefault(self.name_at(r[0]), []).append(self.first_id + i)
        return found

    # Objects

    def type(self, id: uint32_t):
        """The own type of this id, which is within the bounds; None if something is wrong with its record."""
        r: cython.pointer[cython.const[uint32_t]] = self.words + self.starts[id - self.first_id]
        kind: uint32_t = wire_kind(r)
        slots: list
        made: object
        if not self.is_sound(r):
            return None
        slots = cython.cast(list, SLOTS[kind])
        made = new(CLASSES[kind])
        set_slot(slots[0], made, self.name_at(r[0]))
        set_slot(slots[1], made, True if r[1] >> 31 else False)
        set_slot(slots[2], made, id)
        return self.fill(made, r, slots, ROWS[kind])

    @cython.cfunc
    @cython.exceptval(check=False)
    def is_sound(self, r: cython.pointer[cython.const[uint32_t]]) -> cython.bint:
        """Whether names and references exist, and no word is what it cannot be."""
        kind: uint32_t = wire_kind(r)
        i: uint32_t
        refs: RefSpan
        names: RefSpan
        if kind == 0 or kind >= WIRE_KINDS or r[0] >= self.text_end:
            return False
        refs = wire_refs(cython.cast(cython.pointer[uint32_t], r))
        for i in range(refs.count):
            if refs.p[i * refs.stride] >= self.end_id:
                return False
        names = wire_names(cython.cast(cython.pointer[uint32_t], r))
        for i in range(names.count):
            if names.p[i * names.stride] >= self.text_end:
                return False
        if kind == KIND_INT:
            return (r[3] & 0xF000FF00) == 0
        if kind == KIND_ARRAY or kind == KIND_FWD:
            return r[2] == 0
        if kind == KIND_VAR:
            return r[3] <= MAX_LINKAGE
        if kind == KIND_DECL_TAG:
            return cython.cast(int32_t, r[3]) >= -1
        return True

    @cython.cfunc
    def fill(self, made: object, r: cython.pointer[cython.const[uint32_t]], slots: list, row: object):
        """Fill the slots after the first three."""
        kind: uint32_t = wire_kind(r)
        if kind == KIND_FWD:
            return made
        if kind == KIND_ARRAY:
            set_slot(slots[3], made, r[3])
            set_slot(slots[4], made, r[4])
            set_slot(slots[5], made, r[5])
            return made
        set_slot(slots[3], made, r[2])  # size or type
        if row is not None:
            set_slot(slots[4], made, self.rows(r, row))
        elif kind == KIND_INT:
            set_slot(slots[4], made, r[3] & 0xFF)
            set_slot(slots[5], made, ENCODINGS[(r[3] >> 24) & 15])
            set_slot(slots[6], made, (r[3] >> 16) & 0xFF)
        elif kind == KIND_FUNC:
            set_slot(slots[4], made, LINKAGES[wire_vlen(r)])
        elif kind == KIND_VAR:
            set_slot(slots[4], made, LINKAGES[r[3]])
        elif kind == KIND_DECL_TAG:
            set_slot(slots[4], made, cython.cast(int32_t, r[3]))
        return made

    @cython.cfunc
    def rows(self, r: cython.pointer[cython.const[uint32_t]], row: object) -> tuple:
        """Members, enumerators, parameters or variables."""
        kind: uint32_t = wire_kind(r)
        count: uint32_t = wire_vlen(r)
        flag: cython.bint = r[1] >> 31
        wide: uint64_t
        i: uint32_t
        m: cython.pointer[cython.const[uint32_t]] = r + 3
        one: object
        found: tuple = PyTuple_New(count)
        for i in range(count):
            if kind == KIND_STRUCT or kind == KIND_UNION:
                one = new_row(row, 4)
                set_item(one, 0, self.name_at(m[0]))
                set_item(one, 1, m[1])
                set_item(one, 2, m[2] & 0xFFFFFF if flag else m[2])
                set_item(one, 3, m[2] >> 24 if flag else 0)
            elif kind == KIND_FUNC_PROTO:
                one = new_row(row, 2)
                set_item(one, 0, self.name_at(m[0]))
                set_item(one, 1, m[1])
            elif kind == KIND_DATASEC:
                one = new_row(row, 3)
                set_item(one, 0, m[0])
                set_item(one, 1, m[1])
                set_item(one, 2, m[2])
            else:
                one = new_row(row, 2)
                set_item(one, 0, self.name_at(m[0]))
                wide = m[1]
                if kind == KIND_ENUM64:
                    wide |= cython.cast(uint64_t, m[2]) << 32
                if not flag:
                    set_item(one, 1, wide)
                elif kind == KIND_ENUM64:
                    set_item(one, 1, cython.cast(int64_t, wide))
                else:
                    set_item(one, 1, cython.cast(int32_t, m[1]))
            set_item(found, i, one)
            m += wire_each(kind)
        return found
