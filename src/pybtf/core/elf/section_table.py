"""The section table of an ELF file, with one object per section that is asked for.

A kernel module is encoded in milliseconds and has sixty sections, a third of which matter. So the table is copied and
checked in one pass, and a `Section` is made when somebody wants it. Looking for one by its name or type passes over the
table, which for those few that are looked for is quicker than making dictionaries; sections of relocations are asked
for again and again, so for them there are lists. Whether the table lies within the file is for the caller to check;
names are checked here, for a name is known to be one only when its end has been found. The placing of the sections of
an object file, which elf/layout.py explains, is here as well.
"""

import cython
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
from cython.cimports.cpython.unicode import PyUnicode_DecodeUTF8
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memchr, memset, strcmp, strlen, strncmp
from cython.cimports.pybtf.core.elf.elf_constants import *
from cython.cimports.pybtf.core.elf.elf_headers import SectionHeader, read_section_header, section_entry_size
from cython.cimports.pybtf.core.elf.symbols import load32
from cython.cimports.pybtf.core.support.cursor import HOST_IS_BIG

NONE = cython.declare(uint32_t, 0xFFFFFFFF)
LONGEST = cython.declare(cython.size_t, 64)  # more than the bytes of a name of a section with DWARF


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
    """One entry of the section table. `offset` and `size` are bytes in the file; `addr` is as on disk; `plain` tells
    whether these bytes are its contents, which are then neither absent nor compressed.
    """

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
    plain = cython.declare(cython.bint, visibility="readonly")

    def __repr__(self):
        return f"Section({self.index}, {self.name!r})"


@cython.final
@cython.cclass
class SectionTable:
    """The sections of a file. `len()` counts them."""

    entries: bytes  # a copy, for the file may change
    names: bytes
    start: cython.pointer[cython.const[uint8_t]]  # of the entries
    text: cython.p_const_char  # of the names; NULL: none
    size: cython.size_t  # of an entry
    is64: cython.bint
    swap: cython.bint
    count: uint32_t
    made: list  # each section, or None
    texts: dict  # names by their offset: many sections may have one long name
    types: dict  # those of the types somebody has asked for
    # By index of a section, the first section of relocations for it; by index of one, the next. NONE: no more.
    first_for: cython.pointer[uint32_t]
    next_for: cython.pointer[uint32_t]

    def __cinit__(self):
        self.first_for = cython.NULL

    def __dealloc__(self):
        free(self.first_for)

    def __len__(self):
        return self.count

    @cython.cfunc
    @cython.inline
    def entry(self, index: uint32_t) -> cython.pointer[cython.const[uint8_t]]:
        return self.start + index * self.size

    @cython.cfunc
    @cython.inline
    def name(self, index: uint32_t) -> cython.p_const_char:
        """The name of a section, which has been found to end."""
        if self.text == cython.NULL:
            return b""
        return self.text + load32(self.entry(index), self.swap)

    @cython.ccall
    def at(self, index: uint32_t) -> Section:
        """The section with this index. Raises `IndexError`."""
        s: Section
        name: cython.p_const_char
        offset: uint32_t
        if index >= self.count:
            raise IndexError(index)
        found = self.made[index]
        if found is not None:
            return found
        s = read_entry(self.entry(index), self.is64, self.swap)
        offset = cython.cast(uint32_t, load32(self.entry(index), self.swap))
        text = self.texts.get(offset)
        if text is None:
            name = self.name(index)
            text = self.texts[offset] = PyUnicode_DecodeUTF8(name, strlen(name), b"surrogateescape")
        s.index = index
        s.name = text
        s.plain = s.type != SHT_NULL and s.type != SHT_NOBITS and not s.flags & SHF_COMPRESSED
        if s.plain:
            name = self.name(index)
            s.plain = begins(name + lto_prefix(name), b".zdebug_") == 0
        self.made[index] = s
        return s

    def all(self):
        """All of them, in order: one list, which must not be changed."""
        i: uint32_t
        for i in range(self.count):
            self.at(i)
        return self.made

    def first(self, name: str):
        """The first section of this name, or None."""
        i: uint32_t
        wanted: bytes = name.encode("utf-8", "surrogateescape")
        text: cython.p_const_char = wanted
        for i in range(self.count):
            if strcmp(self.name(i), text) == 0:
                return self.at(i)
        return None

    def of_type(self, kind: uint32_t):
        """The sections of this type, in order."""
        i: uint32_t
        found = self.types.get(kind)
        if found is None:
            found = []
            for i in range(self.count):
                if load32(self.entry(i) + 4, self.swap) == kind:
                    cython.cast(list, found).append(self.at(i))
            self.types[kind] = found
        return found

    def relocations(self, index: uint32_t):
        """The sections of relocations that are for the section with this index, in order."""
        found: list = []
        i: uint32_t = self.first_for[index] if index < self.count else NONE
        while i != NONE:
            found.append(self.at(i))
            i = self.next_for[i]
        return found

    def of_units(self):
        """The sections that can hold units, by their names."""
        found: list = []
        i: uint32_t
        for i in range(self.count):
            if holds_units(self.name(i)):
                found.append(self.at(i))
        return found

    def dwarf(self):
        """The sections that supply DWARF, by the usual name of each (`.debug_info`, also for `.zdebug_info`).

        Members of COMDAT groups and sections without data do not count; of several, the first does. If no name is that
        of a debug section, those that gcc writes for LTO count (`.gnu.debuglto_.debug_info`).
        """
        found: dict = {}
        s: Section
        lto: cython.bint = True
        before: cython.size_t
        prefix: cython.size_t
        i: uint32_t
        for i in range(self.count):
            if debug_prefix(self.name(i)):
                lto = False
                break
        for i in range(self.count):
            before = lto_prefix(self.name(i)) if lto else 0
            if lto and not before:
                continue
            prefix = debug_prefix(self.name(i) + before)
            if not prefix:
                continue
            before += prefix
            if memchr(self.name(i), 0, LONGEST) == cython.NULL:
                continue  # nobody asks for it, and many sections may share a very long one
            s = self.at(i)
            if s.flags & SHF_GROUP or s.type == SHT_NOBITS:
                continue
            found.setdefault(".debug_" + s.name[before:], s)
        return found


def read_sections(table, names: bytes = None, *, is64: cython.bint, little: cython.bint):
    """The sections of the bytes `table`, whose incomplete last entry, if any, does not count.

    `names`: the contents of the section of names, None if there is none and all names are empty. Names that are not
    UTF-8 keep their bytes as lone surrogates. Raises `SectionNameError`.
    """
    view = cython.declare(cython.Py_buffer)
    found: SectionTable = SectionTable.__new__(SectionTable)
    PyObject_GetBuffer(table, cython.address(view), PyBUF_SIMPLE)
    try:
        found.size = section_entry_size(is64)
        found.count = cython.cast(uint32_t, view.len // found.size)
        found.entries = PyBytes_FromStringAndSize(cython.cast(cython.p_char, view.buf), found.count * found.size)
    finally:
        PyBuffer_Release(cython.address(view))
    found.start = cython.cast(
        cython.pointer[cython.const[uint8_t]], cython.cast(cython.p_char, cython.cast(bytes, found.entries))
    )
    found.names = names
    found.text = cython.NULL
    if names is not None:
        found.text = names
    found.is64 = is64
    found.swap = little == HOST_IS_BIG
    found.made = [None] * found.count
    found.types = {}
    found.texts = {}
    if names is not None:
        check_names(found)
    link_relocations(found)
    return found


def read_section(entry, *, is64: cython.bint, little: cython.bint):
    """The section that the bytes `entry`, one entry of a table, tell of, without its index and its name."""
    view = cython.declare(cython.Py_buffer)
    PyObject_GetBuffer(entry, cython.address(view), PyBUF_SIMPLE)
    try:
        if cython.cast(cython.size_t, view.len) != section_entry_size(is64):
            raise ValueError("not one entry")
        return read_entry(cython.cast(cython.pointer[cython.const[uint8_t]], view.buf), is64, little == HOST_IS_BIG)
    finally:
        PyBuffer_Release(cython.address(view))


@cython.cfunc
def check_names(table: SectionTable):
    """Raises `SectionNameError` for a name that does not end, or is too much."""
    text: cython.p_const_char = table.text
    size: uint64_t = len(table.names)
    # Overlapping names can add up to far more than the table; real ones share at most a few tails.
    budget: uint64_t = 16 * size + 65536
    length: uint64_t
    end: cython.p_const_char
    i: uint32_t
    at: uint32_t
    seen: cython.pointer[uint8_t] = cython.cast(cython.pointer[uint8_t], calloc(size // 8 + 1, 1))  # bits, by offset
    if seen == cython.NULL:
        raise MemoryError
    try:
        for i in range(table.count):
            at = cython.cast(uint32_t, load32(table.entry(i), table.swap))
            if at >= size:
                raise SectionNameError(i, at, True)
            if seen[at >> 3] >> (at & 7) & 1:
                continue
            end = cython.cast(cython.p_const_char, memchr(text + at, 0, size - at))
            if end == cython.NULL:
                raise SectionNameError(i, at, True)
            length = end - (text + at)
            if length > budget:
                raise SectionNameError(i, at, False)
            budget -= length
            seen[at >> 3] |= 1 << (at & 7)
    finally:
        free(seen)


@cython.cfunc
def link_relocations(table: SectionTable):
    i: uint32_t
    h: SectionHeader
    size: cython.size_t = cython.cast(cython.size_t, table.count) * cython.sizeof(uint32_t)
    table.first_for = cython.cast(cython.pointer[uint32_t], malloc(2 * size + 1))
    if table.first_for == cython.NULL:
        raise MemoryError
    memset(table.first_for, 0xFF, 2 * size)
    table.next_for = table.first_for + table.count
    i = table.count
    while i:
        i -= 1
        read_section_header(table.entry(i), table.is64, table.swap, cython.address(h))
        if h.type != SHT_RELA and h.type != SHT_REL:
            continue
        if h.info < table.count:
            table.next_for[i] = table.first_for[h.info]
            table.first_for[h.info] = i


@cython.cfunc
@cython.inline
def begins(name: cython.p_const_char, prefix: cython.p_const_char) -> cython.size_t:
    """The length of the prefix if the name begins with it, else 0."""
    n: cython.size_t = strlen(prefix)
    return n if strncmp(name, prefix, n) == 0 else 0


@cython.cfunc
@cython.inline
def debug_prefix(name: cython.p_const_char) -> cython.size_t:
    """The length of what names of debug sections begin with; 0: this is none."""
    n: cython.size_t = begins(name, b".debug_")
    return n if n else begins(name, b".zdebug_")


@cython.cfunc
@cython.inline
def holds_units(name: cython.p_const_char) -> cython.bint:
    prefix: cython.size_t = debug_prefix(name)
    if not prefix:
        return False
    name += prefix
    return strcmp(name, b"info") == 0 or strcmp(name, b"types") == 0


@cython.cfunc
@cython.inline
def lto_prefix(name: cython.p_const_char) -> cython.size_t:
    """The length of what gcc's objects for LTO have in front of names of debug sections; 0: it is not there."""
    return begins(name, b".gnu.debuglto_")


@cython.cfunc
@cython.inline
def read_entry(p: cython.pointer[cython.const[uint8_t]], is64: cython.bint, swap: cython.bint) -> Section:
    """The entry at `p`, without its index and its name."""
    h: SectionHeader
    s: Section = Section.__new__(Section)
    read_section_header(p, is64, swap, cython.address(h))
    s.name = ""
    s.type, s.link, s.info = h.type, h.link, h.info
    s.flags, s.addr, s.offset, s.size = h.flags, h.addr, h.offset, h.size
    s.addralign, s.entsize = h.addralign, h.entsize
    return s


def place_sections(table: SectionTable, start: uint64_t, room: bytearray):
    """Puts the addresses of the allocated sections of an object file into `room`, words by index; see elf/layout.py.

    `start`: where to begin, a power of two. All arithmetic wraps at 64 bits.
    """
    end: uint64_t = start
    mask: uint64_t
    i: uint32_t
    earlier: uint32_t
    addresses: cython.pointer[uint64_t]
    if len(room) < 8 * cython.cast(cython.size_t, table.count):
        raise ValueError("too few addresses")
    addresses = cython.cast(cython.pointer[uint64_t], cython.cast(cython.p_char, room))
    for i in range(table.count):
        if not is_allocated(table, i):
            continue
        mask = alignment(table, i) - 1
        if end == start:
            start = end = (end + mask) & ~mask
        elif start & mask:
            # The start is a power of two, and this at least doubles it, whatever the alignment: few restarts.
            start = end = (start + mask) & ~mask
            for earlier in range(i):
                if is_allocated(table, earlier):
                    end = assign_address(table, earlier, addresses, end)
        end = assign_address(table, i, addresses, end)


@cython.cfunc
@cython.inline
def is_allocated(table: SectionTable, index: uint32_t) -> cython.bint:
    h: SectionHeader
    read_section_header(table.entry(index), table.is64, table.swap, cython.address(h))
    return (h.flags & SHF_ALLOC) != 0


@cython.cfunc
@cython.inline
def alignment(table: SectionTable, index: uint32_t) -> uint64_t:
    h: SectionHeader
    read_section_header(table.entry(index), table.is64, table.swap, cython.address(h))
    return h.addralign if h.addralign else 1


@cython.cfunc
@cython.inline
def assign_address(
    table: SectionTable, index: uint32_t, addresses: cython.pointer[uint64_t], end: uint64_t
) -> uint64_t:
    """Gives this section the next address from `end` on; the new end."""
    h: SectionHeader
    mask: uint64_t = alignment(table, index) - 1
    read_section_header(table.entry(index), table.is64, table.swap, cython.address(h))
    addresses[index] = (end + mask) & ~mask
    return addresses[index] + h.size
