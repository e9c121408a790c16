"""Walking, checking, loading and compacting BTF type sections.

A type section is a sequence of records without an index: where record n begins is known only after walking
the n - 1 before it, and each length depends on words of the record. So everything starts with `wire_index`,
which makes the index and rejects what cannot be walked; names and references are checked afterwards, when the
number of types is known. All functions work on 32-bit words in host order. Only `wire_load`, `wire_store`, `wire_swap`
and what concerns the header know about byte order: every field of a type record is a 32-bit word.
"""

from sys import byteorder

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t
from cython.cimports.libc.stdlib import realloc
from cython.cimports.libc.string import memcpy, memmove
from cython.cimports.pybtf.core.btf.record_layout import (
    W_NAME,
    WIRE_INFO_RESERVED,
    WIRE_KINDS,
    Extremes,
    RefSpan,
    wire_look,
    wire_names,
    wire_refs,
    wire_words,
)
from cython.cimports.pybtf.core.btf.type_section import (
    WIRE_HEADER,
    WIRE_KIND,
    WIRE_MAGIC,
    WIRE_MEMORY,
    WIRE_NAME,
    WIRE_OK,
    WIRE_REFERENCE,
    WIRE_RESERVED,
    WIRE_TOO_MANY,
    WIRE_TRUNCATED,
    WireError,
)
from cython.cimports.pybtf.core.support.cursor import bswap16, bswap32

from pybtf.errors import InputError, Place

LAST_ID = cython.declare(uint32_t, 0x7FFFFFFD)  # the largest id that a type may have


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def reject(
    error: cython.pointer[WireError], code: cython.int, id: uint32_t, word: cython.size_t, value: uint32_t
) -> cython.int:
    error.code = code
    error.id = id
    error.word = word
    error.value = value
    return code


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def room_for(
    offs: cython.pointer[cython.pointer[cython.size_t]],
    cap: cython.pointer[cython.size_t],
    id: uint32_t,
    base: cython.size_t,
) -> cython.bint:
    """Makes the array of offsets, of `*cap` elements, large enough for that of `id`. False: no memory."""
    wanted: cython.size_t = 2 * cap[0] if cap[0] else 1024
    grown: cython.pointer[cython.size_t]
    while wanted <= id:
        wanted *= 2
    grown = cython.cast(cython.pointer[cython.size_t], realloc(offs[0], wanted * cython.sizeof(cython.size_t)))
    if grown == cython.NULL:
        return False
    if cap[0] == 0:
        grown[0] = base  # void has no record, but a pointer to it may be made before an id is looked at
    offs[0] = grown
    cap[0] = wanted
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wire_index(
    words: cython.pointer[cython.const[uint32_t]],
    n_words: cython.size_t,
    first_id: uint32_t,
    base: cython.size_t,
    offs: cython.pointer[cython.pointer[cython.size_t]],
    n: cython.pointer[uint32_t],
    cap: cython.pointer[cython.size_t],
    extremes: cython.pointer[Extremes],
    error: cython.pointer[WireError],
) -> cython.int:
    """Append the offsets of all records of a section, which get the ids `first_id`, `first_id` + 1, ...

    `words[base : base + n_words]` is the section; offsets count from `words`. `*offs` (which may be NULL) is
    a malloc'ed array of `*cap` elements that grows as needed and stays the caller's on failure. `*n` becomes
    the number of ids including void. `*extremes` becomes what `wire_check` wants to know: one pass over megabytes
    is enough.
    """
    at: cython.size_t = base
    end: cython.size_t = base + n_words
    id: uint32_t = first_id
    info: uint32_t
    size: cython.size_t
    n[0] = id
    extremes.name = extremes.ref = 0
    while True:
        if id >= cap[0] and not room_for(offs, cap, id, base):
            return reject(error, WIRE_MEMORY, id, at, 0)
        if at == end:
            break
        if end - at < 3:
            return reject(error, WIRE_TRUNCATED, id, at, 0)
        info = words[at + 1]
        size = wire_words(info)
        if size == 0:
            return reject(error, WIRE_KIND, id, at + 1, info)
        if info & WIRE_INFO_RESERVED:
            return reject(error, WIRE_RESERVED, id, at + 1, info)
        if end - at < size:
            return reject(error, WIRE_TRUNCATED, id, at, info)
        if id > LAST_ID:
            return reject(error, WIRE_TOO_MANY, id, at, 0)
        offs[0][id] = at
        wire_look(words + at, extremes)
        at += size
        id += 1
    n[0] = id
    return WIRE_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wire_check_names(
    words: cython.pointer[uint32_t],
    offs: cython.pointer[cython.const[cython.size_t]],
    start: uint32_t,
    n: uint32_t,
    strings: uint32_t,
    error: cython.pointer[WireError],
) -> cython.int:
    """Find the first name of the records `start` .. `n` - 1 that is not below `strings`, their length."""
    id: uint32_t
    i: uint32_t
    r: cython.pointer[uint32_t]
    p: cython.pointer[uint32_t]
    names: RefSpan
    for id in range(start, n):
        r = words + offs[id]
        if r[W_NAME] >= strings:
            return reject(error, WIRE_NAME, id, offs[id], r[W_NAME])
        names = wire_names(r)
        p = names.p
        for i in range(names.count):
            if p[0] >= strings:
                return reject(error, WIRE_NAME, id, p - words, p[0])
            p += names.stride
    return WIRE_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wire_check_refs(
    words: cython.pointer[uint32_t],
    offs: cython.pointer[cython.const[cython.size_t]],
    start: uint32_t,
    n: uint32_t,
    error: cython.pointer[WireError],
) -> cython.int:
    """Find the first reference of the records `start` .. `n` - 1 that is not below `n`."""
    id: uint32_t
    i: uint32_t
    p: cython.pointer[uint32_t]
    refs: RefSpan
    for id in range(start, n):
        refs = wire_refs(words + offs[id])
        p = refs.p
        for i in range(refs.count):
            if p[0] >= n:
                return reject(error, WIRE_REFERENCE, id, p - words, p[0])
            p += refs.stride
    return WIRE_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wire_check(
    words: cython.pointer[uint32_t],
    offs: cython.pointer[cython.const[cython.size_t]],
    start: uint32_t,
    n: uint32_t,
    strings: uint32_t,
    extremes: cython.pointer[cython.const[Extremes]],
    error: cython.pointer[WireError],
) -> cython.int:
    """Check that every name of the records `start` .. `n` - 1 is below `strings`, their length, and every reference
    below `n`. `extremes`: what `wire_index` said of these records.
    """
    status: cython.int = WIRE_OK
    if extremes.name >= strings:
        status = wire_check_names(words, offs, start, n, strings, error)
    if status == WIRE_OK and extremes.ref >= n:
        status = wire_check_refs(words, offs, start, n, error)
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wire_load(
    out: cython.pointer[uint32_t],
    src: cython.pointer[cython.const[uint8_t]],
    n_words: cython.size_t,
    swap: cython.bint,
) -> cython.void:
    """Copy `n_words` words of a file, of any alignment, into memory."""
    i: cython.size_t
    if n_words == 0:
        return
    memcpy(out, src, 4 * n_words)
    if swap:
        for i in range(n_words):
            out[i] = bswap32(out[i])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wire_store(
    out: cython.pointer[uint8_t],
    src: cython.pointer[cython.const[uint32_t]],
    n_words: cython.size_t,
    swap: cython.bint,
) -> cython.void:
    """The reverse of `wire_load`."""
    i: cython.size_t
    word: uint32_t
    if n_words == 0:
        return
    if not swap:
        memcpy(out, src, 4 * n_words)
        return
    for i in range(n_words):
        word = bswap32(src[i])
        memcpy(out + 4 * i, cython.address(word), 4)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wire_store_header(
    out: cython.pointer[uint8_t], type_size: uint32_t, string_size: uint32_t, swap: cython.bint
) -> cython.void:
    """Write the WIRE_HEADER bytes in front of a type section and the strings that follow it."""
    words: uint32_t[5]
    magic: uint16_t = WIRE_MAGIC
    words[0] = WIRE_HEADER
    words[1] = 0
    words[2] = words[3] = type_size  # its length, and where the strings begin
    words[4] = string_size
    if swap:
        magic = bswap16(magic)
    memcpy(out, cython.address(magic), 2)
    out[2] = 1  # version
    out[3] = 0  # flags
    wire_store(out + 4, words, 5, swap)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wire_swap(words: cython.pointer[uint8_t], n_words: cython.size_t) -> cython.void:
    """Brings words into the other byte order, where they are."""
    i: cython.size_t
    word: uint32_t
    for i in range(n_words):
        memcpy(cython.address(word), words + 4 * i, 4)
        word = bswap32(word)
        memcpy(words + 4 * i, cython.address(word), 4)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def wire_compact(
    words: cython.pointer[uint32_t],
    offs: cython.pointer[cython.const[cython.size_t]],
    start: uint32_t,
    n: uint32_t,
    map: cython.pointer[cython.const[uint32_t]],
    number: cython.pointer[uint32_t],
) -> cython.size_t:
    """Move the surviving records (map[id] == id) of `start` .. `n` - 1 together, and renumber their
    references.

    Records must lie one after the other from `offs[start]`; the result begins there too. Returns its length
    in words. `number` (`n` elements, the caller's) receives the final id of every type, surviving or not.
    """
    id: uint32_t
    next: uint32_t = start
    i: uint32_t
    size: cython.size_t
    to: cython.size_t
    first: cython.size_t
    p: cython.pointer[uint32_t]
    refs: RefSpan
    if start >= n:
        for id in range(n):
            number[id] = map[id]
        return 0
    for id in range(start):  # a base declaration may be replaced by an own type: see below
        number[id] = id
    for id in range(start, n):
        if map[id] == id:
            number[id] = next
            next += 1
    for id in range(n):
        if map[id] != id:
            number[id] = number[map[id]]
    first = to = offs[start]
    for id in range(start, n):
        if map[id] != id:
            continue
        refs = wire_refs(words + offs[id])
        p = refs.p
        for i in range(refs.count):
            p[0] = number[p[0]]
            p += refs.stride
        size = wire_words(words[offs[id] + 1])
        memmove(words + to, words + offs[id], 4 * size)
        to += size
    return to - first


REASONS = {
    WIRE_KIND: ("info word {value:#010x} of type {id} has an unknown kind", f"a kind from 1 to {WIRE_KINDS - 1}"),
    WIRE_RESERVED: (
        "info word {value:#010x} of type {id} has reserved bits set",
        "bits 16-23, 29 and 30 zero",
    ),
    WIRE_TRUNCATED: ("the type section ends inside type {id}", "a whole record"),
    WIRE_NAME: (
        "name offset {value:#x} in type {id} lies beyond the strings",
        "an offset into the string section",
    ),
    WIRE_REFERENCE: ("type {id} refers to type {value}, which does not exist", "the id of a type"),
    WIRE_TOO_MANY: (f"more than {LAST_ID} types", "fewer types"),
}


def wire_error(place: object, code: int, id: int, value: int) -> Exception:
    """The exception for a `WireError`. `place` says where the offending word is."""
    if code == WIRE_MEMORY:
        return MemoryError()
    found, expected = REASONS[code]
    return InputError(place, found.format(id=id, value=value), expected)


CUT = "The BTF is truncated or damaged."


def header_words(data: object, little: bool) -> tuple:
    """The words of a BTF header after its magic, version and flags, as they are stored.

    Length of the header, then offset and length of the type section, of the strings and of the layout section; the last
    two mean something only if the header is long enough. Bytes that are not there count as zero. Nothing is checked.
    """
    order: str = "little" if little else "big"
    fields: bytes = bytes(data[4:32]).ljust(28, b"\0")
    return tuple([int.from_bytes(fields[at : at + 4], order) for at in range(0, 28, 4)])


def checked_words(data: object, place: Place) -> tuple:
    """Whether BTF is little-endian, then its `header_words`. The first is checked, the sections are not.

    Raises `InputError` for what does not begin as BTF does. `place` is that of the start of `data`.
    """
    magic = bytes(data[:2])
    little = magic == b"\x9f\xeb"
    if not little and magic != b"\xeb\x9f":
        found = f"magic {magic.hex(' ')}" if magic else "no data"
        raise InputError(place, found, "BTF, which begins with 9f eb or eb 9f")
    if len(data) < WIRE_HEADER:
        raise InputError(place, f"only {len(data)} bytes", f"a BTF header of at least {WIRE_HEADER}", CUT)
    if data[2] != 1:
        raise InputError(place_of_field(place, 2), f"BTF version {data[2]}", "version 1")
    if data[3]:
        raise InputError(place_of_field(place, 3), f"header flags {data[3]:#x}", "0")
    words = header_words(data, little)
    if not WIRE_HEADER <= words[0] <= len(data):
        expected = f"{WIRE_HEADER} to {len(data)}, the length of the BTF"
        raise InputError(place_of_field(place, 4), f"header length {words[0]}", expected)
    return little, *words


def check_section(place: Place, field: int, name: str, start: int, length: int, size: int) -> None:
    """Raise `InputError` for a section that does not end within the `size` bytes of the BTF. `field`: where in the
    header it is described.
    """
    if start + length > size:
        found = f"{name} section at {start:#x}, {length} bytes long"
        raise InputError(place_of_field(place, field), found, f"an end within the {size} bytes of the BTF", CUT)


def place_of_field(place: Place, offset: int) -> Place:
    return Place(place.file, place.section, (place.offset or 0) + offset)


def wire_header(data: object, name: str, split: bool) -> tuple[bool, int, int, int, int]:
    """Check the header and the string section of raw BTF, of which `data` is a view or bytes.

    Returns whether the byte order is not the host's, then offset and length in bytes of the type section and
    of the string section, offsets counted from the start of `data`. With `split` the strings continue those
    of a base and need not begin with the empty string. Longer headers than ours are accepted, what they add
    is ignored. Raises `InputError`.
    """
    place = Place(name, None, 0)
    little, length, type_off, type_len, str_off, str_len, _, _ = checked_words(data, place)
    check_section(place, 8, "type", length + type_off, type_len, len(data))
    check_section(place, 16, "string", length + str_off, str_len, len(data))
    if type_off % 4 or type_len % 4:
        found = f"type section offset {type_off}, length {type_len}"
        raise InputError(Place(name, None, 8), found, "multiples of 4")
    start = length + str_off
    end = length + type_off + type_len
    if start < end:
        found = f"string section begins at {start:#x}, before the type section ends at {end:#x}"
        raise InputError(Place(name, None, 16), found, "it to follow the types")
    if not split and (str_len == 0 or data[start]):
        raise InputError(
            Place(name, "strings", 0),
            "no empty string",
            "the string section to begin with one",
            "This may be split BTF, of a module: name the BTF of its kernel.",
        )
    if str_len and data[start + str_len - 1]:
        raise InputError(Place(name, "strings", str_len - 1), "the last string has no end", "a NUL byte")
    return little != (byteorder == "little"), length + type_off, type_len, start, str_len
