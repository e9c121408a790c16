"""BTF that is open for reading by what prints it: one array of records, found by id, checked as a whole.

Once a `View` exists, every record is whole, and every name and reference in it lies within its table. Code that follows
references must still expect cycles.
"""

from sys import byteorder

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.stdlib import free, realloc
from cython.cimports.libc.string import memcpy, strcmp, strlen
from cython.cimports.pybtf.core.btf.kinds import KIND_INT
from cython.cimports.pybtf.core.btf.record_layout import Extremes, RefSpan, wire_kind, wire_names
from cython.cimports.pybtf.core.btf.type_section import (
    WIRE_OK,
    WireError,
    wire_check,
    wire_index,
    wire_load,
)
from cython.cimports.pybtf.core.btf.type_view import TypeView, chain_next, is_chain, view_name, view_record

from pybtf.core.btf.type_section import wire_error, wire_header
from pybtf.errors import InputError, Place

# Names may share their bytes, as `b` and `ab` do. Whoever prints all of them needs memory for each. Those of a kernel
# are together half of its BTF.
NAME_SHARE = cython.declare(cython.size_t, 16)
NAME_FREE = cython.declare(cython.size_t, 1 << 16)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_long(name: cython.p_const_char) -> cython.bint:
    """See `type_view.pxd`; the words may come in any order."""
    i: cython.int
    spellings: cython.p_const_char[11]
    spellings[0] = b"long unsigned int"
    spellings[1] = b"long int"
    spellings[2] = b"unsigned long"
    spellings[3] = b"long"
    spellings[4] = b"long unsigned"
    spellings[5] = b"unsigned long int"
    spellings[6] = b"int long"
    spellings[7] = b"unsigned int long"
    spellings[8] = b"long int unsigned"
    spellings[9] = b"int unsigned long"
    spellings[10] = b"int long unsigned"
    for i in range(11):
        if strcmp(name, spellings[i]) == 0:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pointer_size(v: cython.pointer[cython.const[TypeView]]) -> uint32_t:
    """BTF does not tell. On Linux it is the size of `long`, and 8 if there is no `long`."""
    id: uint32_t
    r: cython.pointer[uint32_t]
    for id in range(1, v.n):
        r = view_record(v, id)
        if wire_kind(r) == KIND_INT and (r[2] == 4 or r[2] == 8) and is_long(view_name(v, r[0])):
            return r[2]
    return 8


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_stray(v: cython.pointer[cython.const[TypeView]], name: uint32_t) -> cython.bint:
    """Whether a name begins in the middle of one of the base's strings."""
    return 0 < name < v.base_size and v.base_text[name - 1] != 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def names_total(
    v: cython.pointer[cython.const[TypeView]], id: uint32_t, enough: cython.size_t
) -> cython.size_t:
    """Bytes of the names in all records from one on, each as often as it stands there; `enough` ends it."""
    k: uint32_t
    r: cython.pointer[uint32_t]
    names: RefSpan
    total: cython.size_t = 0
    while id < v.n and total <= enough:
        r = view_record(v, id)
        total += strlen(view_name(v, r[0]))
        names = wire_names(r)
        for k in range(names.count):
            if total > enough:
                break
            total += strlen(view_name(v, names.p[k * names.stride]))
        id += 1
    return total


@cython.cclass
class View:
    """Raw BTF, with `base` what it is split from: raw BTF, or a view of it, which is not checked again.

    The names are what messages call the two; a view has one. `pointer` is the size of a pointer if that is known.
    Raises `InputError`, if either is damaged.
    """

    def __cinit__(self):
        self.v.words = cython.NULL
        self.v.offs = cython.NULL

    def __dealloc__(self):
        free(self.v.words)
        free(cython.cast(cython.p_void, self.v.offs))

    def __init__(self, data: bytes, name: str, base: object = None, base_name: str = "base BTF", pointer: int = 0):
        below: View = base if isinstance(base, View) else None
        words: cython.size_t
        base_words: cython.size_t = 0
        text: cython.p_const_char = data
        base_text: cython.p_const_char
        grown: cython.p_void
        header = wire_header(data, name, base is not None)
        base_header = (False, 0, 0, 0, 0)
        strings = header[4]
        self.own_size = header[4]
        if below is not None:
            base, base_name = below.data, below.name
        self.data, self.base_data = data, base
        self.name, self.base_name = name, base_name
        self.little = (byteorder == "little") != header[0]
        if base is not None:
            base_header = wire_header(base, base_name, False)
            strings += base_header[4]
            base_text = base
            self.v.base_text = base_text + cython.cast(cython.size_t, base_header[3])
            self.v.base_size = base_header[4]
        if strings > 0xFFFFFFFF:
            raise InputError(Place(name, "strings"), f"{strings} bytes of strings", "less than 4 GiB")
        self.v.own_text = text + cython.cast(cython.size_t, header[3])
        words = header[2] // 4
        base_words = base_header[2] // 4
        grown = realloc(cython.NULL, (words + base_words + 1) * cython.sizeof(uint32_t))
        if grown == cython.NULL:
            raise MemoryError
        self.v.words = cython.cast(cython.pointer[uint32_t], grown)
        self.v.n = 1
        if below is not None:
            self.take(below)
        elif base is not None:
            self.load(base, base_name, base_header, 1, 0, 0)
        self.v.first_own = self.v.n
        self.own_words = base_words
        self.n_words = base_words + words
        self.load(data, name, header, self.v.n, base_words, self.v.base_size)
        self.v.pointer_size = pointer or pointer_size(cython.address(self.v))

    @cython.cfunc
    def take(self, below: View):
        """Copy the records of a base, which have been checked."""
        grown: cython.p_void
        if below.v.first_own != 1:
            raise ValueError("a base that is split itself")
        grown = realloc(cython.NULL, below.v.n * cython.sizeof(cython.size_t))
        if grown == cython.NULL:
            raise MemoryError
        memcpy(grown, below.v.offs, below.v.n * cython.sizeof(cython.size_t))
        memcpy(self.v.words, below.v.words, below.n_words * cython.sizeof(uint32_t))
        self.v.offs = cython.cast(cython.pointer[cython.size_t], grown)
        self.v.n = below.v.n
        self.cap = below.v.n

    @cython.cfunc
    def load(self, data: bytes, name: str, header: tuple, first_id: uint32_t, at: cython.size_t, below: uint32_t):
        """Append the records of one file, checked. `below`: bytes of strings in front of its own."""
        swap: cython.bint
        start: cython.size_t
        size: cython.size_t
        error = cython.declare(WireError)
        extremes = cython.declare(Extremes)
        status: cython.int
        src: cython.pointer[cython.const[cython.uchar]] = data
        offs: cython.pointer[cython.size_t] = cython.cast(cython.pointer[cython.size_t], self.v.offs)
        n: uint32_t = first_id
        strings: uint32_t = header[4] + below
        swap, start, size = header[:3]
        with cython.nogil:
            wire_load(self.v.words + at, src + start, size // 4, swap)
            status = wire_index(
                self.v.words, size // 4, first_id, at, cython.address(offs), cython.address(n),
                cython.address(self.cap), cython.address(extremes), cython.address(error),
            )  # fmt: skip
            self.v.offs = offs
            if status == WIRE_OK:
                status = wire_check(
                    self.v.words, offs, first_id, n, strings, cython.address(extremes), cython.address(error)
                )
        if status != WIRE_OK:
            raise wire_error(Place(name, "types", 4 * (error.word - at)), status, error.id, error.value)
        self.v.n = n
        limit: cython.size_t = NAME_SHARE * len(data) + NAME_FREE
        if names_total(cython.address(self.v), first_id, limit) > limit:
            where = Place(name, "strings")
            raise InputError(where, f"names of more than {limit} bytes in all", "names that share fewer bytes")

    @cython.cfunc
    def fail(self, id: uint32_t, word: cython.size_t, found: str, expected: str):
        """Raise the error that is about one word of a record."""
        at: cython.size_t = self.v.offs[id] + word if id else 0
        own: cython.bint = id >= self.v.first_own
        place = Place(self.name if own else self.base_name, "types", 4 * (at - (self.own_words if own else 0)))
        raise InputError(place, found, expected)

    def __len__(self) -> int:
        """The number of ids, void and those of the base included."""
        return self.v.n

    @property
    def first_own(self) -> int:
        return self.v.first_own

    def stray_name(self) -> int:
        """The first name of an own record that begins in the middle of one of the base's strings; 0 if none does.

        On the strings of another base than its own, some of many names do.
        """
        id: uint32_t
        k: uint32_t
        r: cython.pointer[uint32_t]
        names: RefSpan
        for id in range(self.v.first_own, self.v.n):
            r = view_record(cython.address(self.v), id)
            if is_stray(cython.address(self.v), r[0]):
                return r[0]
            names = wire_names(r)
            for k in range(names.count):
                if is_stray(cython.address(self.v), names.p[k * names.stride]):
                    return names.p[k * names.stride]
        return 0

    def find(self, name: bytes) -> list:
        """The ids of all types of this name, the base's included."""
        id: uint32_t
        text: cython.p_const_char = name
        found: list = []
        if not name:
            return found
        for id in range(1, self.v.n):
            if strcmp(view_name(cython.address(self.v), view_record(cython.address(self.v), id)[0]), text) == 0:
                found.append(id)
        return found

    def kind(self, id: int) -> int:
        if not 0 < id < self.v.n:
            raise IndexError(id)
        return wire_kind(view_record(cython.address(self.v), id))

    def sizes(self) -> tuple:
        """Bytes of all, of the type section and of the strings."""
        return len(self.data), 4 * (self.n_words - self.own_words), self.own_size

    def name_of(self, id: int) -> bytes:
        if not 0 < id < self.v.n:
            raise IndexError(id)
        return view_name(cython.address(self.v), view_record(cython.address(self.v), id)[0])

    def target(self, id: int) -> int:
        """What a type with one reference is about: of a function its prototype, of a variable its type."""
        if not 0 < id < self.v.n:
            raise IndexError(id)
        r: cython.pointer[uint32_t] = view_record(cython.address(self.v), id)
        return chain_next(r) if is_chain(wire_kind(r)) else 0

    def names(self) -> set:
        """The names of all types, the base's included."""
        id: uint32_t
        found: set = set()
        for id in range(1, self.v.n):
            name: bytes = view_name(cython.address(self.v), view_record(cython.address(self.v), id)[0])
            found.add(name)
        found.discard(b"")
        return found
