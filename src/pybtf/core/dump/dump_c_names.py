"""BTF that C cannot express, such as that of Rust and C++, becomes BTF that C can express.

bpftool prints a name as it is: `struct Option<u32> {`. No compiler takes a header with such a line. So a second BTF is
made from the first, with the same types under the same ids, and it becomes a header like any other: bpftool prints
the same text for it. BTF of C is left alone; finding out costs a look at each name.

These things are changed in all of the BTF, whichever types are selected:

- Invalid names, keywords, and empty names of typedefs, declarations, enumerators, and members that are pointers or
  arrays: their words are joined by underscores, `Option_u32`. Different names stay different, with a number if need be;
  the numbers that tell types of one name apart (`a___2`) never lead to a name that there is.
- Numbers whose names are not those of C (`u8` of Rust, `bool` of C++) get the C name for their size.
- Members, parameters and elements that have no size, or no values: an empty struct stands for void and functions, a
  struct that is only declared becomes an empty one, and an enum that is (`std::byte` is such) a number. What follows
  them still is where it has to be, as padding fills the gap.
- Bit-fields that are wider than their type (`bool b : 8`) get a wider one.
- A second member or parameter of one name in a struct or prototype; arrays that functions return; declarations whose
  name is that of another kind of type.
"""

from sys import byteorder

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import strlen
from cython.cimports.pybtf.core.btf.kinds import (
    INT_BOOL,
    INT_SIGNED,
    KIND_ARRAY,
    KIND_ENUM,
    KIND_FLOAT,
    KIND_FUNC,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_INT,
    KIND_STRUCT,
    KIND_TYPE_TAG,
    KIND_TYPEDEF,
)
from cython.cimports.pybtf.core.btf.record_layout import RefSpan, wire_forward_kind, wire_kind, wire_names, wire_vlen
from cython.cimports.pybtf.core.btf.type_section import WIRE_HEADER, wire_store_header
from cython.cimports.pybtf.core.btf.type_view import (
    TypeView,
    View,
    is_composite,
    is_enum,
    is_modifier,
    kind_flag,
    member_bits,
    view_name,
    view_record,
)
from cython.cimports.pybtf.core.dump.dump_c import MAX_CHAIN
from cython.cimports.pybtf.core.dump.dump_c_names import (
    DECLARED_TAG,
    EMPTY,
    FAULTY,
    HERE,
    NOT_HERE,
    SOUND,
    TAGS,
    Names,
    tag_bit,
)
from cython.cimports.pybtf.core.dump.dump_c_words import names_a_type, number_faults, word_faults, words_init
from cython.cimports.pybtf.core.dump.dump_layout import bits_of

LONGEST = 200  # bytes of a name that is made
STEPS_PER_NAME = cython.declare(cython.size_t, 1024)
LETTERS = bytes(c if chr(c).isascii() and (chr(c).isalnum() or c in b"_$") else 32 for c in range(256))
SIGNS = ((b"->", b" "), (b"*", b" ptr "), (b"&", b" ref "), (b"-", b" minus "), (b"~", b" not "))
SIGNED = {1: b"signed char", 2: b"short int", 4: b"int", 8: b"long long int", 16: b"__int128"}
UNSIGNED = {
    1: b"unsigned char",
    2: b"short unsigned int",
    4: b"unsigned int",
    8: b"long long unsigned int",
    16: b"unsigned __int128",
}
FLOATS = {2: b"_Float16", 4: b"float", 8: b"double", 12: b"long double", 16: b"long double"}

# Looking


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def is_printed(kind: uint32_t) -> cython.bint:
    """Whether records of this kind bring names into a header, other than numbers and tags."""
    return (
        is_composite(kind) or is_enum(kind)
        or kind == KIND_TYPEDEF or kind == KIND_FWD or kind == KIND_FUNC or kind == KIND_FUNC_PROTO
    )  # fmt: skip


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def is_declaration(r: cython.pointer[cython.const[uint32_t]]) -> cython.bint:
    return wire_kind(r) == KIND_FWD or (wire_kind(r) == KIND_ENUM and wire_vlen(r) == 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def tag_faults(name: cython.p_const_char) -> cython.bint:
    """Whether this ends a string of C, or its line."""
    at: cython.size_t = 0
    while name[at]:
        if cython.cast(uint8_t, name[at]) < b" " or name[at] == b'"' or name[at] == b"\\":
            return True
        at += 1
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look(v: cython.pointer[cython.const[TypeView]], f: cython.pointer[Names], offset: uint32_t) -> uint8_t:
    """The marks of a name that is seen first."""
    length: uint32_t = 0
    mark: uint8_t = SOUND
    if f.steps > f.most:
        return f.marks[offset]  # all is refused
    if view_name(v, offset)[0] == 0:
        mark |= EMPTY
    elif word_faults(cython.address(f.words), view_name(v, offset), cython.address(length)):
        mark = FAULTY
        f.steps += STEPS_PER_NAME
    f.steps += length
    f.marks[offset] |= mark
    return f.marks[offset]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def note_tag(f: cython.pointer[Names], r: cython.pointer[cython.const[uint32_t]], tag: uint8_t) -> cython.void:
    """See whether a struct, a union and an enum share a name, and one of them is a declaration."""
    bits: uint8_t = f.marks[r[0]] | tag
    if is_declaration(r):
        bits |= DECLARED_TAG
    f.marks[r[0]] = bits
    if bits & DECLARED_TAG and (bits & TAGS) & ((bits & TAGS) - 1):
        f.mixed = True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def look_at_elements(
    v: cython.pointer[cython.const[TypeView]], f: cython.pointer[Names], names: RefSpan, of_enum: cython.bint
) -> uint8_t:
    """Of an enum, FAULTY and EMPTY; of others, FAULTY and HERE, which says that there are two of a name."""
    i: uint32_t
    mark: uint8_t
    marks: uint8_t = 0
    p: cython.pointer[uint32_t] = names.p
    for i in range(names.count):
        mark = f.marks[p[0]]
        if mark & (SOUND | FAULTY) == 0:
            mark = look(v, f, p[0])
        marks |= mark
        if not of_enum:
            f.marks[p[0]] = mark | HERE if not mark & EMPTY else mark
        p += names.stride
    if of_enum:
        return marks & (FAULTY | EMPTY)
    for i in range(names.count):
        p -= names.stride
        f.marks[p[0]] &= NOT_HERE
    return marks & (FAULTY | HERE)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look_at_all(v: cython.pointer[cython.const[TypeView]], f: cython.pointer[Names]) -> cython.bint:
    """Mark all names, and say whether any is one that C cannot have where it stands, or twice."""
    id: uint32_t
    kind: uint32_t
    tag: uint8_t
    marks: uint8_t = 0
    mark: uint8_t
    r: cython.pointer[uint32_t]
    for id in range(1, v.n):
        r = view_record(v, id)
        kind = wire_kind(r)
        if kind == KIND_TYPE_TAG:
            if not kind_flag(r):
                f.steps += strlen(view_name(v, r[0]))
                marks |= FAULTY if tag_faults(view_name(v, r[0])) else 0
        elif is_printed(kind):
            mark = f.marks[r[0]]
            if mark & (SOUND | FAULTY) == 0:
                mark = look(v, f, r[0])
            if kind != KIND_FUNC:  # few are printed (emit_kfuncs)
                marks |= mark & (FAULTY | EMPTY if kind == KIND_TYPEDEF or kind == KIND_FWD else FAULTY)
            tag = tag_bit(r)
            if tag and r[0]:
                note_tag(f, r, tag)
            marks |= look_at_elements(v, f, wire_names(r), is_enum(kind))
        if f.steps > f.most:
            f.bad = id
            break
    return marks != 0


# Names


def stem(name: bytes) -> bytes:
    """The name without the number that a header puts after it."""
    head, bar, number = name.rpartition(b"___")
    return head if bar and number.isdigit() else name


def spelled(name: bytes) -> bytes:
    """The words of a name, so that C can have it. Not yet a name of its own."""
    name = name[: 2 * LONGEST]
    for sign, word in SIGNS:
        name = name.replace(sign, word)
    return b"_".join(name.translate(LETTERS).split())[:LONGEST]


def is_foreign(name: bytes) -> bool:
    """Whether C takes a name only because it allows letters outside of ASCII."""
    try:
        return not name.isascii() and name.decode().isidentifier()
    except UnicodeDecodeError:
        return False


@cython.cclass
class Rewriting:
    """A copy of the records, in which names and types are replaced, and what comes after the records and strings."""

    v: cython.pointer[cython.const[TypeView]]
    names: cython.pointer[Names]
    buffer: bytearray
    words: cython.pointer[uint32_t]
    more: list  # records, as lists of words
    strings: bytearray  # after those that there are
    strings_at: cython.size_t
    taken: set
    numbers: dict  # by what is wanted: how often
    offsets: dict  # of new strings
    made: dict  # new names: offsets, by what they are made for
    changed: cython.bint

    def __init__(self):
        self.more, self.strings = [], bytearray()
        self.taken, self.numbers, self.offsets, self.made = set(), {}, {}, {}

    @cython.cfunc
    def record(self, id: uint32_t) -> cython.pointer[uint32_t]:
        return self.words + self.v.offs[id]

    @cython.cfunc
    def put(self, text: bytes) -> uint32_t:
        """The offset of a string."""
        if text not in self.offsets:
            self.offsets[text] = self.strings_at + len(self.strings)
            self.strings += text + b"\0"
        return self.offsets[text]

    @cython.cfunc
    def add(self, record: list) -> uint32_t:
        """The id of a new type."""
        self.more.append(record)
        return self.v.n + len(self.more) - 1

    @cython.cfunc
    def unique(self, wanted: bytes) -> uint32_t:
        """The offset of a new name that nothing else has, or gets."""
        length: uint32_t
        number: int = self.numbers.get(wanted, 0)
        start: bytes = wanted or b"unnamed"
        if start[0] in b"0123456789":
            start = b"_" + start
        if word_faults(cython.address(self.names.words), start, cython.address(length)):
            start += b"_"
        # `a__` and a number would be `a___2`, which is taken if `a` is, whatever the number.
        base: bytes = start.rstrip(b"_") or b"unnamed" if start.endswith(b"__") else start
        while True:
            number += 1
            name: bytes = start if number == 1 else base + b"_%d" % number
            if name not in self.taken and stem(name) not in self.taken:
                break
        self.numbers[wanted] = number
        self.taken |= {name, stem(name)}
        self.changed = True
        return self.put(name)

    @cython.cfunc
    def text(self, offset: uint32_t) -> bytes:
        if offset >= self.strings_at:
            start = offset - self.strings_at
            return bytes(self.strings[start : self.strings.index(0, start)])
        return view_name(self.v, offset)

    @cython.cfunc
    def note_taken(self, size: cython.size_t):
        """Names that stay."""
        at: cython.size_t
        for at in range(size):
            if self.names.marks[at] & SOUND and strlen(view_name(self.v, cython.cast(uint32_t, at))) <= 2 * LONGEST:
                name: bytes = view_name(self.v, cython.cast(uint32_t, at))
                self.taken.add(name)
                if b"___" in name:
                    self.taken.add(stem(name))

    @cython.cfunc
    def rename(self, name: cython.pointer[uint32_t], needed: cython.bint):
        """Replace a name that C cannot have, or that is `needed` and empty."""
        offset: uint32_t = name[0]
        if offset >= self.strings_at:
            return
        if self.names.marks[offset] & FAULTY:
            text: bytes = view_name(self.v, offset)
            if text not in self.made:
                self.made[text] = offset if is_foreign(text) else self.unique(spelled(text))
            name[0] = self.made[text]
        elif needed and self.names.marks[offset] & EMPTY:
            if "" not in self.made:
                self.made[""] = self.unique(b"unnamed")
            name[0] = self.made[""]

    @cython.cfunc
    def rename_elements(self, r: cython.pointer[uint32_t]):
        """Those of one record; no two of them get the same."""
        names: RefSpan = wire_names(r)
        i: uint32_t
        name: cython.pointer[uint32_t]
        of_enum: cython.bint = is_enum(wire_kind(r))
        of_type: cython.bint = is_composite(wire_kind(r))
        used: dict = {}
        for i in range(names.count):
            name = names.p + i * names.stride
            self.rename(name, of_enum or (of_type and needs_name(self.v, name[1])))
            if of_enum or (name[0] < self.strings_at and self.names.marks[name[0]] & EMPTY):
                continue
            times: int = used.get(name[0], 0) + 1
            used[name[0]] = times
            if times > 1:
                key = (name[0], times)
                if key not in self.made:
                    self.made[key] = self.unique(self.text(name[0])[:LONGEST])
                name[0] = self.made[key]

    @cython.cfunc
    def rename_number(self, r: cython.pointer[uint32_t]):
        if not number_faults(r, view_name(self.v, r[0])):
            return
        size: int = r[2]
        said: bytes = view_name(self.v, r[0])
        if said.startswith(b"complex ") and names_a_type(said[8:]):
            name = b"_Complex " + said[8:]
        elif wire_kind(r) == KIND_FLOAT:
            name = FLOATS.get(size)
        elif size == 1 and (r[3] >> 24) & INT_BOOL:
            name = b"_Bool"
        else:
            name = (SIGNED if (r[3] >> 24) & INT_SIGNED else UNSIGNED).get(size)
        r[0] = self.put(name or b"struct { unsigned char bytes[%d]; }" % size)
        self.changed = True

    @cython.cfunc
    def rename_tag(self, r: cython.pointer[uint32_t]):
        if not kind_flag(r) and tag_faults(view_name(self.v, r[0])):
            r[0] = self.put(spelled(view_name(self.v, r[0])))
            self.changed = True

    # Types

    @cython.cfunc
    def nothing(self) -> uint32_t:
        """An empty struct."""
        if "nothing" not in self.made:
            self.made["nothing"] = self.add([0, KIND_STRUCT << 24, 0])
        self.changed = True
        return self.made["nothing"]

    @cython.cfunc
    def number(self, size: int, signed: bool) -> uint32_t:
        key = ("number", size, signed)
        if key not in self.made:
            name = self.put((SIGNED if signed else UNSIGNED).get(size, b"struct { unsigned char bytes[%d]; }" % size))
            self.made[key] = self.add([name, KIND_INT << 24, size, signed << 24 | size << 3 & 0xFF])
        return self.made[key]

    @cython.cfunc
    def behind(self, id: uint32_t) -> uint32_t:
        """What typedefs, qualifiers and tags are about. In a circle, which is an error later, any of it."""
        steps: cython.int = 0
        kind: uint32_t
        while id and id < self.v.n and steps < MAX_CHAIN:
            kind = wire_kind(self.record(id))
            if not (is_modifier(kind) or kind == KIND_TYPEDEF or kind == KIND_TYPE_TAG):
                break
            id = self.record(id)[2]
            steps += 1
        return id

    @cython.cfunc
    def complete(self, reference: cython.pointer[uint32_t]):
        """See to it that there are values of a type."""
        id: uint32_t = self.behind(reference[0])
        r: cython.pointer[uint32_t]
        if id >= self.v.n:
            return
        if id == 0:
            reference[0] = self.nothing()
            return
        r = self.record(id)
        if wire_kind(r) == KIND_FUNC_PROTO:
            reference[0] = self.nothing()
        elif wire_kind(r) == KIND_FWD:
            r[1] = wire_forward_kind(r) << 24
            r[2] = 0
            self.changed = True
        elif is_enum(wire_kind(r)) and wire_vlen(r) == 0:
            signed: bool = kind_flag(r)
            self.rename(r, True)
            r[2] = self.number(r[2], signed)
            r[1] = KIND_TYPEDEF << 24
            self.changed = True

    @cython.cfunc
    def widen(self, reference: cython.pointer[uint32_t], bits: uint32_t):
        """See to it that a bit-field can be of its type: `bool b : 8` is one in C++."""
        id: uint32_t = self.behind(reference[0])
        size: int = 1
        if id < self.v.n and bits <= 128 and bits > (bits_of(self.record(id)) if id else 0):
            while bits > 8 * size:
                size *= 2
            reference[0] = self.number(size, False)
            self.changed = True

    @cython.cfunc
    def complete_prototype(self, r: cython.pointer[uint32_t]):
        """Parameters that are void, but for the last, which is `...`; results that are arrays or functions."""
        count: uint32_t = wire_vlen(r)
        i: uint32_t
        of: uint32_t = self.behind(r[2])
        for i in range(count):
            if self.behind(r[4 + 2 * i]) == 0 and (r[4 + 2 * i] or i + 1 < count):
                r[4 + 2 * i] = self.nothing()
        if of == 0 or of >= self.v.n:
            return
        if wire_kind(self.record(of)) == KIND_ARRAY:
            key = ("array", of)
            if key not in self.made:
                self.made[key] = self.add([0, KIND_STRUCT << 24 | 1, 0, self.put(b"array"), of, 0])
            r[2] = self.made[key]
            self.changed = True
        elif wire_kind(self.record(of)) == KIND_FUNC_PROTO:
            r[2] = 0
            self.changed = True

    @cython.cfunc
    def rename_declarations(self):
        """`struct a;` cannot stand beside `union a`."""
        tags: dict = {}
        id: uint32_t
        tag: uint8_t
        later: cython.bint
        r: cython.pointer[uint32_t]
        for later in range(2):
            for id in range(1, self.v.n):
                r = self.record(id)
                tag = tag_bit(r)
                if tag == 0 or r[0] == 0 or is_declaration(r) != later:
                    continue
                if not later:
                    tags[r[0]] = tags.get(r[0], 0) | tag
                elif tags.setdefault(r[0], tag) != tag:
                    key = (r[0], "declared", tag)
                    if key not in self.made:
                        self.made[key] = self.unique(self.text(r[0])[:LONGEST] + b"_declared")
                    r[0] = self.made[key]

    @cython.cfunc
    def rewrite(self):
        """Changes the copy in place: first all names, then types that C does not have where they stand, and last tags
        of declarations. New types go to `more`.
        """
        id: uint32_t
        i: uint32_t
        kind: uint32_t
        r: cython.pointer[uint32_t]
        for id in range(1, self.v.n):
            r = self.record(id)
            kind = wire_kind(r)
            if kind == KIND_INT or kind == KIND_FLOAT:
                self.rename_number(r)
            elif kind == KIND_TYPE_TAG:
                self.rename_tag(r)
            elif is_printed(kind):
                self.rename(r, kind == KIND_TYPEDEF or kind == KIND_FWD)
                self.rename_elements(r)
        for id in range(1, self.v.n):
            r = self.record(id)
            kind = wire_kind(r)
            if is_composite(kind):
                for i in range(wire_vlen(r)):
                    self.complete(r + 4 + 3 * i)
                    if member_bits(r, r + 3 + 3 * i):
                        self.widen(r + 4 + 3 * i, member_bits(r, r + 3 + 3 * i))
            elif kind == KIND_ARRAY:
                self.complete(r + 3)
            elif kind == KIND_FUNC_PROTO:
                self.complete_prototype(r)
        self.rename_declarations()


def raw(words: bytes, strings: bytes) -> bytes:
    """BTF of these types and strings, in the machine's byte order."""
    header = bytearray(WIRE_HEADER)
    start: cython.p_char = header
    if len(words) + len(strings) > 0xFFFFFFFF:
        raise OverflowError("the BTF would be larger than 4 GiB")
    wire_store_header(cython.cast(cython.pointer[uint8_t], start), len(words), len(strings), False)
    return bytes(header + words + strings)


def c_names(view: View, most: cython.size_t, always: cython.bint = False) -> tuple:
    """BTF without base whose header compiles, or None if `view` itself is as C has it, with two more answers.

    If not `always`, types are looked at only if there are names that C has not. `most`: the steps that it may take; the
    second answer is the id that is too much, or 0. The third: whether types of different kinds share a name that is
    declared.
    """
    found = cython.declare(Names)
    size: cython.size_t = view.v.base_size + view.own_size
    one: Rewriting
    words_init(cython.address(found.words))
    found.steps = 0
    found.most = most
    found.bad = 0
    found.mixed = False
    found.marks = cython.cast(cython.pointer[uint8_t], calloc(size + 1, 1))
    if found.marks == cython.NULL:
        raise MemoryError
    try:
        with cython.nogil:
            faulty: cython.bint = look_at_all(cython.address(view.v), cython.address(found))
        if found.bad or not (faulty or always):
            return None, found.bad, found.mixed
        one = Rewriting()
        one.v = cython.address(view.v)
        one.names = cython.address(found)
        one.strings_at = size
        one.buffer = bytearray(cython.cast(cython.p_char, view.v.words)[: 4 * view.n_words])
        one.words = cython.cast(cython.pointer[uint32_t], cython.cast(cython.p_char, one.buffer))
        one.note_taken(size)
        one.rewrite()
        if not one.changed:
            return None, 0, found.mixed
        more = b"".join(word.to_bytes(4, byteorder) for record in one.more for word in record)
        strings = view.v.base_text[: view.v.base_size] + view.v.own_text[: view.own_size] + bytes(one.strings)
        other = View(raw(bytes(one.buffer) + more, strings), view.name, pointer=view.v.pointer_size)
        return other, 0, found.mixed
    finally:
        free(found.marks)
