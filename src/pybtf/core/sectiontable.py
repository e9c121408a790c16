# cython: annotation_typing=True
"""The section table of an ELF file, read into one object per section.

A kernel module is encoded in milliseconds and has sixty sections, about which five passes ask: so making a `Section`
must cost little, and looking for one must not pass over all of them. Both is done here in one pass over the table,
which gives lists by all that is asked for. Whether the table lies within the file is for the caller to check; names are
checked here, for a name is known to be one only when its end has been found. The placing of the sections of an object
file, which elf/layout.py explains, is here as well.
"""

import cython
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.cpython.unicode import PyUnicode_DecodeUTF8
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memchr, strncmp
from cython.cimports.pybtf.core.symbols import load32, load64

SHT_RELA = cython.declare(uint32_t, 4)
SHT_REL = cython.declare(uint32_t, 9)
SHF_ALLOC = cython.declare(uint64_t, 2)


class SectionNameError(ValueError):
    """The name of a section that cannot be read: index of the section, offset of the name, and whether it never ends
    (else it overlaps with others).
    """

    def __init__(self, index: object, offset: object, endless: object) -> None:
        self.index = index
        self.offset = offset
        self.endless = endless
        super().__init__(f"section {index}: name at {offset}")


@cython.final
@cython.cclass
class Section:
    """One entry of the section table. `offset` and `size` are bytes in the file; `addr` is as on disk."""

    index = cython.declare(uint32_t, visibility="readonly")
    name = cython.declare(str, visibility="readonly")
    type = cython.declare(uint32_t, visibility="readonly")
    flags = cython.declare(uint64_t, visibility="readonly")
    addr = cython.declare(uint64_t, visibility="readonly")
    offset = cython.declare(uint64_t, visibility="readonly")
    size = cython.declare(uint64_t, visibility="readonly")
    link = cython.declare(uint32_t, visibility="readonly")
    info = cython.declare(uint32_t, visibility="readonly")
    addralign = cython.declare(uint64_t, visibility="readonly")
    entsize = cython.declare(uint64_t, visibility="readonly")

    def __repr__(self):
        return f"Section({self.index}, {self.name!r})"


@cython.final
@cython.cclass
class SectionTable:
    """All sections in the order of the table; the first of each name; those of each type; sections of relocations, by
    the section that they are for; and those that can hold debug information, by their name.
    """

    all = cython.declare(list, visibility="readonly")
    by_name = cython.declare(dict, visibility="readonly")
    by_type = cython.declare(dict, visibility="readonly")
    relocations = cython.declare(dict, visibility="readonly")
    debug = cython.declare(list, visibility="readonly")


def read_sections(table, names: bytes = None, *, is64: cython.bint, little: cython.bint):
    """The sections of the bytes `table`, whose incomplete last entry, if any, does not count.

    `names`: the contents of the section of names, None if there is none and all names are empty. Names that are not
    UTF-8 keep their bytes as lone surrogates. Raises `SectionNameError`.
    """
    view = cython.declare(cython.Py_buffer)
    PyObject_GetBuffer(table, cython.address(view), PyBUF_SIMPLE)
    try:
        return read_entries(
            cython.cast(cython.pointer[cython.const[uint8_t]], view.buf),
            cython.cast(uint32_t, view.len // (64 if is64 else 40)),
            names,
            is64,
            not little,
        )
    finally:
        PyBuffer_Release(cython.address(view))


@cython.cfunc
def read_entries(
    p: cython.pointer[cython.const[uint8_t]], count: uint32_t, names, is64: cython.bint, swap: cython.bint
):
    found: SectionTable = SectionTable.__new__(SectionTable)
    sections: list = []
    by_name: dict = {}
    by_type: dict = {}
    relocations: dict = {}
    debug: list = []
    known: dict = {}  # names by offset
    text: cython.p_const_char = cython.NULL
    size: uint64_t = 0
    budget: uint64_t = 0
    length: uint64_t
    end: cython.p_const_char
    i: uint32_t
    at: uint32_t
    s: Section
    if names is not None:
        text = cython.cast(bytes, names)
        size = len(names)
        # Overlapping names can add up to far more than the table; real ones share at most a few tails.
        budget = 16 * size + 65536
    for i in range(count):
        s = read_entry(p, is64, swap)
        s.index = i
        at = cython.cast(uint32_t, load32(p, swap))
        p += 64 if is64 else 40
        if text == cython.NULL:
            s.name = ""
        elif at in known:
            s.name = known[at]
        else:
            end = cython.NULL
            if at < size:
                end = cython.cast(cython.p_const_char, memchr(text + at, 0, size - at))
            if end == cython.NULL:
                raise SectionNameError(i, at, True)
            length = end - (text + at)
            if length > budget:
                raise SectionNameError(i, at, False)
            budget -= length
            s.name = PyUnicode_DecodeUTF8(text + at, length, b"surrogateescape")
            known[at] = s.name
        sections.append(s)
        by_name.setdefault(s.name, s)
        append_to(by_type, s.type, s)
        if s.type == SHT_RELA or s.type == SHT_REL:
            append_to(relocations, s.info, s)
        if text != cython.NULL and is_debug(text + at):
            debug.append(s)
    found.all = sections
    found.by_name = by_name
    found.by_type = by_type
    found.relocations = relocations
    found.debug = debug
    return found


@cython.cfunc
@cython.inline
def append_to(lists: dict, key: uint32_t, s: Section):
    known = lists.get(key)
    if known is None:
        lists[key] = [s]
    else:
        cython.cast(list, known).append(s)


@cython.cfunc
@cython.inline
def is_debug(name: cython.p_const_char) -> cython.bint:
    """Whether the name begins as those of debug sections do; `.gnu.debuglto_` in gcc's objects for LTO."""
    return (
        strncmp(name, b".debug_", 7) == 0
        or strncmp(name, b".zdebug_", 8) == 0
        or strncmp(name, b".gnu.debuglto_", 14) == 0
    )


@cython.cfunc
@cython.inline
def read_entry(p: cython.pointer[cython.const[uint8_t]], is64: cython.bint, swap: cython.bint) -> Section:
    """The entry at `p`, without its index and its name."""
    s: Section = Section.__new__(Section)
    s.type = cython.cast(uint32_t, load32(p + 4, swap))
    if is64:
        s.flags = load64(p + 8, swap)
        s.addr = load64(p + 16, swap)
        s.offset = load64(p + 24, swap)
        s.size = load64(p + 32, swap)
        s.link = cython.cast(uint32_t, load32(p + 40, swap))
        s.info = cython.cast(uint32_t, load32(p + 44, swap))
        s.addralign = load64(p + 48, swap)
        s.entsize = load64(p + 56, swap)
    else:
        s.flags = load32(p + 8, swap)
        s.addr = load32(p + 12, swap)
        s.offset = load32(p + 16, swap)
        s.size = load32(p + 20, swap)
        s.link = cython.cast(uint32_t, load32(p + 24, swap))
        s.info = cython.cast(uint32_t, load32(p + 28, swap))
        s.addralign = load32(p + 32, swap)
        s.entsize = load32(p + 36, swap)
    return s


def place_sections(table: SectionTable, start: uint64_t, places: uint64_t[::1]):
    """Puts the addresses of the allocated sections of an object file into `places`, by index; see elf/layout.py.

    `start`: where to begin, a power of two. All arithmetic wraps at 64 bits.
    """
    allocated: list = []
    end: uint64_t = start
    mask: uint64_t
    number: cython.Py_ssize_t
    earlier: cython.Py_ssize_t
    s: Section
    if places.shape[0] < len(table.all):
        raise ValueError("too few places")
    for s in table.all:
        if s.flags & SHF_ALLOC:
            allocated.append(s)
    for number in range(len(allocated)):
        s = allocated[number]
        mask = (s.addralign if s.addralign else 1) - 1
        if end == start:
            start = end = (end + mask) & ~mask
        elif start & mask:
            # The start is a power of two, and this at least doubles it, whatever the alignment: few restarts.
            start = end = (start + mask) & ~mask
            for earlier in range(number):
                end = place(allocated[earlier], places, end)
        end = place(s, places, end)


@cython.cfunc
@cython.inline
def place(s: Section, places: uint64_t[::1], end: uint64_t) -> uint64_t:
    """Gives this section the next place from `end` on; the new end."""
    mask: uint64_t = (s.addralign if s.addralign else 1) - 1
    places[s.index] = (end + mask) & ~mask
    return places[s.index] + s.size
