"""Which types of two BTFs differ in what they mean, and what Python needs to say how."""

import cython
from cython.cimports.libc.stdint import int32_t, int64_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc, qsort
from cython.cimports.libc.string import strcmp
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_DECL_TAG,
    KIND_ENUM64,
    KIND_FUNC_PROTO,
    KIND_VAR,
)
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import (
    View,
    is_composite,
    is_enum,
    is_modifier,
    kind_flag,
    member_bits,
    member_offset,
    view_name,
    view_record,
)
from cython.cimports.pybtf.core.diff.diff_compare import Row
from cython.cimports.pybtf.core.diff.diff_meaning import (
    DIFF_LONG_NAME,
    DIFF_MEMORY,
    DIFF_OK,
    KEY_ENTITY,
    MAX_NAME,
    OF_NOTHING,
    REF_VOID,
    Side,
    category_of,
    side_free,
    side_number,
    side_open,
)
from cython.cimports.pybtf.core.diff.diff_numbers import name_number, number_of_key, numbers_free, numbers_open
from cython.cimports.pybtf.core.support.memory import u32s_push

from pybtf.errors import InputError, Place

CATEGORIES = (
    "struct", "union", "enum", "typedef", "function", "variable", "forward", "number", "section",
)  # fmt: skip
# Real BTF, however different, takes a step or two for each word; nameless types may multiply without end.
FREE_EFFORT = cython.declare(uint64_t, 1 << 20)
EFFORT_PER_WORD = cython.declare(uint64_t, 8)
MAX_DEPTH = cython.declare(cython.int, 64)
MAX_FIELDS = cython.declare(cython.Py_ssize_t, 1 << 18)  # of one type, those of nameless ones in it included


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def by_key(a: cython.p_const_void, b: cython.p_const_void) -> cython.int:
    x: cython.pointer[cython.const[Row]] = cython.cast(cython.pointer[cython.const[Row]], a)
    y: cython.pointer[cython.const[Row]] = cython.cast(cython.pointer[cython.const[Row]], b)
    if x.key != y.key:
        return 1 if x.key > y.key else -1
    return (x.id > y.id) - (x.id < y.id)


@cython.cclass
class Comparison:
    """Two BTFs, with the meaning of each type as a number that they share. `side` is 0 for the old one, 1 for the new.

    Raises `InputError` for a name of 64 KiB or more, and where damaged BTF would take more than real one ever does.
    """

    def __cinit__(self):
        numbers_open(cython.address(self.t))

    def __dealloc__(self):
        numbers_free(cython.address(self.t))
        side_free(cython.address(self.sides[0]))
        side_free(cython.address(self.sides[1]))

    def __init__(self, old: View, new: View):
        side: cython.int
        view: View
        self.old, self.new = old, new
        self.effort = FREE_EFFORT + EFFORT_PER_WORD * (old.n_words + new.n_words)
        if self.t.slots == cython.NULL or self.t.name_slots == cython.NULL:
            raise MemoryError
        for side in range(2):
            view = self.view(side)
            if not side_open(
                cython.address(self.sides[side]), cython.address(view.v),
                view.v.base_size + cython.cast(uint32_t, view.own_size),
            ):  # fmt: skip
                raise MemoryError
            with cython.nogil:
                side_number(cython.address(self.t), cython.address(self.sides[side]))
            self.check()

    @cython.cfunc
    def view(self, side: cython.int) -> View:
        return self.new if side else self.old

    @cython.cfunc
    def side_of(self, side: cython.int, id: uint32_t) -> cython.pointer[Side]:
        """The side, if it has such a type; void is one."""
        if not 0 <= side <= 1 or id >= self.sides[side].v.n:
            raise IndexError(id)
        return cython.address(self.sides[side])

    @cython.cfunc
    def check(self):
        """Raise what has gone wrong."""
        side: cython.int
        if self.t.status == DIFF_OK:
            return
        if self.t.status == DIFF_MEMORY:
            raise MemoryError
        for side in range(2):
            if self.sides[side].bad:
                place = Place(self.view(side).name, "types")
                found = f"type {self.sides[side].bad}"
                if self.t.status == DIFF_LONG_NAME:
                    raise InputError(place, f"{found} has a name of {MAX_NAME} bytes or more", "a shorter one")
                raise InputError(place, f"{found} is one of too many", "at most 2^31 that differ")
        raise MemoryError

    @cython.cfunc
    def spend(self, amount: uint64_t, side: cython.int, id: uint32_t):
        if amount > self.effort:
            self.effort = 0
            raise InputError(
                Place(self.view(side).name, "types"), f"type {id} takes too many steps, or too much text",
                "BTF made by a compiler or encoder",
            )  # fmt: skip
        self.effort -= amount

    @cython.cfunc
    def rows(self, side: cython.int, count: cython.pointer[cython.size_t]) -> cython.pointer[Row]:
        """All own types with a category, in the order of their keys; of repeats the first."""
        id: uint32_t
        entity: uint64_t
        category: uint32_t
        n: cython.size_t = 0
        i: cython.size_t
        kept: cython.size_t = 0
        s: cython.pointer[Side] = cython.address(self.sides[side])
        rows: cython.pointer[Row] = cython.cast(
            cython.pointer[Row], malloc((cython.cast(cython.size_t, s.v.n) + 1) * cython.sizeof(Row))
        )
        if rows == cython.NULL:
            raise MemoryError
        with cython.nogil:
            for id in range(s.v.first_own, s.v.n):
                category = category_of(s.v, id)
                if category == OF_NOTHING:
                    continue
                self.t.key.n = 0
                if not u32s_push(cython.address(self.t.key), KEY_ENTITY | category):
                    self.t.status = DIFF_MEMORY
                if not u32s_push(
                    cython.address(self.t.key),
                    name_number(cython.address(self.t), s, view_record(s.v, id)[0]),
                ):  # fmt: skip
                    self.t.status = DIFF_MEMORY
                entity = number_of_key(cython.address(self.t))
                if self.t.status != DIFF_OK:
                    s.bad = id
                    break
                rows[n].key = entity << 32 | s.contents[id]
                rows[n].id = id
                n += 1
            qsort(rows, n, cython.sizeof(Row), by_key)
            for i in range(n):
                if kept == 0 or rows[i].key != rows[kept - 1].key:
                    rows[kept] = rows[i]
                    kept += 1
        if self.t.status != DIFF_OK:
            free(rows)
            self.check()
        count[0] = kept
        return rows

    def counts(self, side: cython.int) -> list:
        """How many own types there are of each category."""
        s: cython.pointer[Side] = self.side_of(side, 0)
        id: uint32_t
        numbers: uint32_t[10]
        for id in range(10):
            numbers[id] = 0
        for id in range(s.v.first_own, s.v.n):
            numbers[category_of(s.v, id)] += 1
        return [numbers[id] for id in range(OF_NOTHING)]

    def leftovers(self) -> list:
        """What has no equal on the other side: number of the category, name, ids in the old BTF, ids in the new.

        Types of one category and one name are together. Of several, those with an equal are not in the lists.
        """
        n: cython.size_t = 0
        m: cython.size_t = 0
        i: cython.size_t = 0
        k: cython.size_t = 0
        here: uint64_t
        found: list = []
        left: list
        right: list
        first: uint32_t
        side: cython.int
        s: cython.pointer[Side]
        a: cython.pointer[Row] = cython.NULL
        b: cython.pointer[Row] = cython.NULL
        try:
            a = self.rows(0, cython.address(n))
            b = self.rows(1, cython.address(m))
            while i < n or k < m:
                if k == m or (i < n and a[i].key <= b[k].key):
                    if k < m and a[i].key == b[k].key:
                        i += 1
                        k += 1
                        continue
                    here = a[i].key >> 32
                    first, side = a[i].id, 0
                else:
                    here = b[k].key >> 32
                    first, side = b[k].id, 1
                left, right = [], []
                while (i < n and a[i].key >> 32 == here) or (k < m and b[k].key >> 32 == here):
                    if i < n and k < m and a[i].key == b[k].key:
                        i += 1
                        k += 1
                    elif k == m or b[k].key >> 32 != here or (i < n and a[i].key < b[k].key):
                        left.append(a[i].id)
                        i += 1
                    else:
                        right.append(b[k].id)
                        k += 1
                s = cython.address(self.sides[side])
                name: bytes = view_name(s.v, view_record(s.v, first)[0])
                self.spend(len(name), side, first)
                found.append((category_of(s.v, first), name, left, right))
        finally:
            free(a)
            free(b)
        return found

    def reference(self, side: cython.int, id: uint32_t) -> int:
        """The number of what a reference to a type means; 0 if nothing that was looked at refers to it."""
        s: cython.pointer[Side] = self.side_of(side, id)
        return s.refs[id] if id else REF_VOID

    def size(self, side: cython.int, id: uint32_t) -> int:
        """Bytes of a value of the type, 0 if it has none."""
        s: cython.pointer[Side] = self.side_of(side, id)
        return s.sizes[id] if id else 0

    def fields(self, side: cython.int, id: uint32_t) -> list:
        """All members of a struct or union, those of nameless ones within it, too.

        Of each the path, the offset in bits, the width if it is a bit-field, the size in bytes, the number of what its
        type means, and its type. The number is 0 of a member whose type has no name and is looked into.
        """
        s: cython.pointer[Side] = self.side_of(side, id)
        if id == 0 or not is_composite(wire_kind(view_record(s.v, id))):
            raise IndexError(id)
        return self.fill(side, id, [], b"", 0, 0)

    @cython.cfunc
    def fill(
        self, side: cython.int, id: uint32_t, found: list, path: bytes, offset: uint32_t, depth: cython.int
    ) -> list:  # fmt: skip
        """The rows of `fields`, appended to `found`, of a struct or union that may lie in another: `path` goes before
        its names, `offset` (bits) is added. A nameless one is looked into through qualifiers and arrays, each array
        `[]` in the path. Raises `InputError` if there are too many rows or levels.
        """
        s: cython.pointer[Side] = cython.address(self.sides[side])
        r: cython.pointer[uint32_t] = view_record(s.v, id)
        m: cython.pointer[uint32_t]
        i: uint32_t
        inner: uint32_t
        meaning: uint32_t
        steps: cython.int
        name: bytes
        inside: bytes
        arrays: bytes
        if depth > MAX_DEPTH or len(found) > MAX_FIELDS:
            self.spend(self.effort + 1, side, id)
        for i in range(wire_vlen(r)):
            m = r + 3 + 3 * i
            name = view_name(s.v, m[0])
            name = path + name
            inner = m[1]
            arrays = b""
            steps = 0
            while inner and steps < MAX_DEPTH:
                if is_modifier(wire_kind(view_record(s.v, inner))):
                    inner = view_record(s.v, inner)[2]
                elif wire_kind(view_record(s.v, inner)) == KIND_ARRAY:
                    inner = view_record(s.v, inner)[3]
                    arrays += b"[]"
                else:
                    break
                steps += 1
            self.spend(1 + len(name) // 8, side, id)
            if inner and view_record(s.v, inner)[0] == 0 and is_composite(wire_kind(view_record(s.v, inner))):
                inside = path
                if m[0] or arrays:
                    found.append((name, offset + member_offset(r, m), member_bits(r, m), s.sizes[m[1]], 0, m[1]))
                    inside = name + arrays + b"."
                self.fill(side, inner, found, inside, offset + member_offset(r, m), depth + 1)
                continue
            meaning = s.refs[m[1]] if m[1] else REF_VOID
            found.append((name, offset + member_offset(r, m), member_bits(r, m), s.sizes[m[1]], meaning, m[1]))
        return found

    def values(self, side: cython.int, id: uint32_t) -> list:
        """The enumerators of an enum: name and value."""
        s: cython.pointer[Side] = self.side_of(side, id)
        r: cython.pointer[uint32_t]
        e: cython.pointer[uint32_t]
        i: uint32_t
        low: uint64_t
        found: list = []
        name: bytes
        if id == 0 or not is_enum(wire_kind(view_record(s.v, id))):
            raise IndexError(id)
        r = view_record(s.v, id)
        for i in range(wire_vlen(r)):
            if wire_kind(r) == KIND_ENUM64:
                e = r + 3 + 3 * i
                low = cython.cast(uint64_t, e[2]) << 32 | e[1]
            else:
                e = r + 3 + 2 * i
                low = e[1]
                if kind_flag(r):
                    low = cython.cast(uint64_t, cython.cast(int64_t, cython.cast(int32_t, e[1])))
            name = view_name(s.v, e[0])
            self.spend(1 + len(name) // 8, side, id)
            found.append((name, cython.cast(int64_t, low) if kind_flag(r) else low))
        return found

    def prototype(self, side: cython.int, id: uint32_t) -> tuple:
        """Of a prototype the type returned, then of each parameter its name and type. Of `...` both are empty."""
        s: cython.pointer[Side] = self.side_of(side, id)
        r: cython.pointer[uint32_t]
        i: uint32_t
        found: list = []
        name: bytes
        if id == 0 or wire_kind(view_record(s.v, id)) != KIND_FUNC_PROTO:
            raise IndexError(id)
        r = view_record(s.v, id)
        for i in range(wire_vlen(r)):
            name = view_name(s.v, r[3 + 2 * i])
            self.spend(1 + len(name) // 8, side, id)
            found.append((name, r[4 + 2 * i]))
        return r[2], found

    def head(self, side: cython.int, id: uint32_t) -> tuple:
        """The kind of a type, its name, the type or size that its third word is, vlen, and its flag."""
        s: cython.pointer[Side] = self.side_of(side, id)
        r: cython.pointer[uint32_t]
        name: bytes
        if id == 0:
            return 0, b"", 0, 0, False
        r = view_record(s.v, id)
        name = view_name(s.v, r[0])
        self.spend(1 + len(name) // 8, side, id)
        return wire_kind(r), name, r[2], wire_vlen(r), bool(kind_flag(r))

    def array(self, side: cython.int, id: uint32_t) -> tuple:
        """Of an array the type and the number of its elements."""
        s: cython.pointer[Side] = self.side_of(side, id)
        if id == 0 or wire_kind(view_record(s.v, id)) != KIND_ARRAY:
            raise IndexError(id)
        return view_record(s.v, id)[3], view_record(s.v, id)[5]

    def fourth(self, side: cython.int, id: uint32_t) -> int:
        """The fourth word of an INT or a VAR: encoding and bits, or linkage."""
        s: cython.pointer[Side] = self.side_of(side, id)
        if id == 0 or (wire_kind(view_record(s.v, id)) != KIND_VAR and wire_kind(view_record(s.v, id)) != 1):
            raise IndexError(id)
        return view_record(s.v, id)[3]

    def tags(self, side: cython.int, id: uint32_t) -> list:
        """The declaration tags about a type: number of the member or parameter, -1 for the whole, and name; sorted."""
        s: cython.pointer[Side] = self.side_of(side, id)
        tag: uint32_t = s.tags[id]
        found: list = []
        name: bytes
        while tag:
            name = view_name(s.v, view_record(s.v, tag)[0])
            self.spend(1 + len(name) // 8, side, id)
            found.append((cython.cast(int32_t, view_record(s.v, tag)[3]), name))
            tag = s.more_tags[tag]
        found.sort()
        return found

    def tagged(self, side: cython.int, name: bytes) -> list:
        """The ids of own and other types that have a declaration tag of this name as a whole."""
        s: cython.pointer[Side] = self.side_of(side, 0)
        id: uint32_t
        found: list = []
        text: cython.p_const_char = name
        for id in range(s.v.first_own, s.v.n):
            if wire_kind(view_record(s.v, id)) == KIND_DECL_TAG and view_record(s.v, id)[3] == 0xFFFFFFFF:
                if strcmp(view_name(s.v, view_record(s.v, id)[0]), text) == 0:
                    found.append(view_record(s.v, id)[2])
        return found

    def section(self, side: cython.int, id: uint32_t) -> tuple:
        """Of a variable the name of its section, and its size there; empty and 0 if it is in none."""
        s: cython.pointer[Side] = self.side_of(side, id)
        name: bytes
        if id == 0 or s.sections[id] == 0:
            return b"", 0
        name = view_name(s.v, view_record(s.v, s.sections[id])[0])
        self.spend(1 + len(name) // 8, side, id)
        return name, (s.v.words + s.v.offs[s.sections[id]] + s.entries[id])[2]
