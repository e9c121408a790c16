"""One BTF, whole or split from another, judged by the rules of a kernel's version."""

from sys import byteorder

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.accept.accept import (
    CODES,
    KIND_DATASEC,
    KIND_INT,
    kind_of,
    record_of,
    text_of,
    vlen_of,
    wire_each,
    wire_fixed,
)
from cython.cimports.pybtf.core.accept.accept_chains import check_chains
from cython.cimports.pybtf.core.accept.accept_fit import check_fit, check_sorted
from cython.cimports.pybtf.core.accept.accept_layer import Types
from cython.cimports.pybtf.core.accept.accept_meta import check_records
from cython.cimports.pybtf.core.accept.accept_resolve import resolve_all
from cython.cimports.pybtf.core.btf.type_section import wire_load
from cython.cimports.pybtf.core.btf.type_view import is_long


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pointer_size(y: cython.pointer[cython.const[Types]]) -> uint32_t:
    """BTF does not tell. On Linux it is the size of `long`, and 8 if there is no `long`."""
    id: uint32_t
    r: cython.pointer[cython.const[uint32_t]]
    for id in range(y.first, y.end):
        r = record_of(y, id)
        if kind_of(y, id) == KIND_INT and (r[2] == 4 or r[2] == 8) and r[0] < y.text_end:
            if is_long(text_of(y, r[0])):
                return r[2]
    return 8


@cython.cclass
class Layer:
    """The types of `data` at `types` (offset and size in bytes) with the strings at `strings`.

    `little` is the byte order, `version` 100 times the major version and the minor, `pointer` the size of a pointer,
    0 if it is not known.
    Both sections lie within the data. Nothing else is taken for granted.
    """

    def __cinit__(self):
        memset(cython.address(self.y), 0, cython.sizeof(Types))

    def __dealloc__(self):
        free(self.y.words)
        free(self.y.offs)
        free(self.y.to)
        free(self.y.sizes)
        free(self.y.state)
        free(self.y.found)

    def __init__(
        self, data: bytes, types: tuple, strings: tuple, little: cython.bint, version: int, pointer: int,
        base: Layer = None,
    ):
        at: cython.size_t
        size: uint64_t
        text: cython.p_const_char = data
        src: cython.pointer[cython.const[cython.uchar]] = data
        swap: cython.bint = little != (byteorder == "little")
        room: cython.size_t
        at, size = types
        if at + size > cython.cast(uint64_t, len(data)) or strings[0] + strings[1] > len(data) or types[1] > 0xFFFFFFFF:
            raise ValueError("sections that are outside the data")
        self.data = data
        self.base = base
        self.y.first = 1
        self.y.version = version
        self.y.pointer = pointer
        self.y.size = size
        self.text_at = strings[0]
        self.y.text = text + self.text_at
        if base is not None:
            self.y.base = cython.address(base.y)
            self.y.first = base.y.end
            self.y.text_first = base.y.text_end
        self.y.text_end = min((base.y.text_end if base is not None else 0) + strings[1], 0xFFFFFFFF)
        room = size // 12 + 1
        self.y.words = cython.cast(cython.pointer[uint32_t], malloc(size + 4))
        self.y.offs = cython.cast(cython.pointer[uint32_t], malloc(4 * room))
        self.y.to = cython.cast(cython.pointer[uint32_t], calloc(4, room))
        self.y.sizes = cython.cast(cython.pointer[uint32_t], calloc(4, room))
        self.y.state = cython.cast(cython.pointer[cython.uchar], calloc(1, room))
        if (
            self.y.words == cython.NULL or self.y.offs == cython.NULL or self.y.to == cython.NULL
            or self.y.sizes == cython.NULL or self.y.state == cython.NULL
        ):  # fmt: skip
            raise MemoryError
        with cython.nogil:
            wire_load(self.y.words, src + at, size // 4, swap)
            check_records(cython.address(self.y), self.y.offs, cython.cast(uint32_t, room))
            if self.y.pointer == 0:
                if self.y.base != cython.NULL:
                    self.y.pointer = self.y.base.pointer
                else:
                    self.y.pointer = pointer_size(cython.address(self.y))
        self.check_memory()

    @cython.cfunc
    def check_memory(self):
        if self.y.no_memory:
            raise MemoryError

    @property
    def whole(self) -> bool:
        """Whether all records could be told apart."""
        return self.y.whole

    @property
    def first(self) -> int:
        """The first id of this layer."""
        return self.y.first

    @property
    def surplus(self) -> int:
        """The number of records for which there is no id."""
        return self.y.surplus

    def __len__(self) -> int:
        """The number of ids, void and those of the base included."""
        return self.y.end

    def resolve(self):
        """Look at references, sizes, members and functions."""
        with cython.nogil:
            resolve_all(cython.address(self.y))
        self.check_memory()

    def chains(self):
        """Look at chains of modifiers."""
        with cython.nogil:
            check_chains(cython.address(self.y))
        self.check_memory()

    def fit(self):
        """Look for what shows that split BTF belongs to another base. After `resolve`."""
        with cython.nogil:
            check_fit(cython.address(self.y))
        self.check_memory()

    def order(self):
        """Look whether types are sorted by name."""
        with cython.nogil:
            check_sorted(cython.address(self.y))
        self.check_memory()

    def findings(self) -> list:
        """What was found, in this order: (rule, id, number of the member or parameter, value).

        Of one rule no more than a hundred; `counts` has all.
        """
        i: cython.size_t
        found: list = []
        for i in range(self.y.n_found):
            found.append((self.y.found[i].code, self.y.found[i].id, self.y.found[i].at, self.y.found[i].value))
        return found

    def counts(self) -> dict:
        """How often each rule was broken, by its number."""
        return {code: self.y.counts[code] for code in range(CODES) if self.y.counts[code]}

    def kind(self, id: int) -> int:
        """The kind of a type, 0 for void, 255 if there is none of this id."""
        return kind_of(cython.address(self.y), id) if 0 <= id <= 0xFFFFFFFF else 255

    def of_kinds(self, kinds: tuple) -> list:
        """The ids of all types of these kinds, those of the base included."""
        id: uint32_t
        mask: uint32_t = 0
        found: list = []
        for kind in kinds:
            mask |= cython.cast(uint32_t, 1) << cython.cast(uint32_t, kind)
        for id in range(1, self.y.end):
            if mask >> kind_of(cython.address(self.y), id) & 1:
                found.append(id)
        return found

    def head(self, id: int) -> tuple:
        """The second and third word of a record that exists, and of an INT the fourth, else 0."""
        if not 0 < id < self.y.end:
            raise IndexError(id)
        r: cython.pointer[cython.const[uint32_t]] = record_of(cython.address(self.y), id)
        return r[1], r[2], r[3] if kind_of(cython.address(self.y), id) == KIND_INT else 0

    def names_below(self) -> list:
        """Offsets into the strings of the base, of all names of this layer, each once."""
        id: uint32_t
        i: uint32_t
        each: uint32_t
        kind: uint32_t
        r: cython.pointer[cython.const[uint32_t]]
        found: dict = {}
        for id in range(self.y.first, self.y.end):
            r = record_of(cython.address(self.y), id)
            kind = kind_of(cython.address(self.y), id)
            if r[0] < self.y.text_first:
                found[r[0]] = True
            each = wire_each(kind)
            if each and kind != KIND_DATASEC:
                for i in range(vlen_of(cython.address(self.y), r)):
                    if r[3 + each * cython.cast(cython.size_t, i)] < self.y.text_first:
                        found[r[3 + each * cython.cast(cython.size_t, i)]] = True
        return list(found)

    def record(self, id: int) -> list:
        """The words of a record that exists."""
        if not 0 < id < self.y.end:
            raise IndexError(id)
        r: cython.pointer[cython.const[uint32_t]] = record_of(cython.address(self.y), id)
        kind: uint32_t = kind_of(cython.address(self.y), id)
        each: cython.size_t = wire_each(kind)
        words: cython.size_t = 3 + wire_fixed(kind) + each * vlen_of(cython.address(self.y), r)
        at: cython.size_t
        found: list = []
        for at in range(words):
            found.append(r[at])
        return found

    def text(self, offset: int) -> bytes:
        """The string at an offset; nothing if that is outside."""
        if not 0 <= offset < self.y.text_end:
            return b""
        return text_of(cython.address(self.y), offset)

    def mentions(self, words: tuple) -> bool:
        """Whether one of these is among the strings of this layer."""
        start: cython.Py_ssize_t = self.text_at
        end: cython.Py_ssize_t = start + self.y.text_end - self.y.text_first
        return any(self.data.find(word, start, end) >= 0 for word in words)

    def name(self, id: int) -> bytes:
        """The name of a type; nothing if it has none, or does not exist."""
        if not 0 < id < self.y.end:
            return b""
        return self.text(record_of(cython.address(self.y), id)[0])
