# cython: annotation_typing=True
"""The section table of an ELF file, read into one object per section.

A kernel module is encoded in milliseconds and has sixty sections, about which five passes ask: so making a `Section`
must cost little, and looking for one by name or type must not pass over all of them. Both is done here in one pass over
the table. Whether the table lies within the file is for the caller to check; names are checked here, for a name is
known to be one only when its end has been found.
"""

import cython
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.cpython.unicode import PyUnicode_DecodeUTF8
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memchr, strstr
from cython.cimports.pybtf.core.symbols import load32, load64


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


def read_sections(table, names: bytes = None, *, is64: cython.bint, little: cython.bint):
    """The sections of the bytes `table`; the first of each name; all of each type; and those with "debug" in the name.

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
    sections: list = []
    by_name: dict = {}
    by_type: dict = {}
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
        of_type = by_type.get(s.type)
        if of_type is None:
            by_type[s.type] = [s]
        else:
            cython.cast(list, of_type).append(s)
        if text != cython.NULL and strstr(text + at, b"debug") != cython.NULL:
            debug.append(s)
    return sections, by_name, by_type, debug


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
