# cython: annotation_typing=True
"""Names that are not looked up: a word that stands for a text before the text is read.

A kernel's DWARF has 14 million DIEs, and most of their names belong to types and members that were seen in
earlier units. Interning each of them means a visit to .debug_str and one to the table of strings, all over memory.
But where .debug_str comes from a linker, its offset says as much as the text. So the name of a type, a member or an
enumerator is first a *name word*: a string id; or the offset, if the form is an offset; or the text itself, if it has
at most three bytes (compilers put those into .debug_info). Equal words of one file mean equal texts. The converse
need not hold, so a word is settled, that is replaced by the string id, before it decides anything: when the record it
is in has not been met before (seen.py).

An empty text is no name, which matters at once and not later. It costs too much to look whether an offset is that of
an empty text, and there are none in practice; where one is found when settling, the unit is decoded once more with
nothing deferred (worker.py).
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memchr
from cython.cimports.pybtf.core.memory import prefetch
from cython.cimports.pybtf.core.names import *
from cython.cimports.pybtf.core.sections import DebugSections, Span
from cython.cimports.pybtf.core.strings import NO_STRING, Strings, string_expect, string_intern

OFFSETS = cython.declare(uint64_t, 0x80000000)
LONG = cython.declare(cython.size_t, 64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def deferrable(section: Span) -> uint32_t:
    """The size of a section if each of its offsets will do for a name word: behind it there is a text that ends."""
    if 0 < section.n < OFFSETS and section.p[section.n - 1] == 0:
        return cython.cast(uint32_t, section.n)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def names_init(
    n: cython.pointer[Names], strings: cython.pointer[Strings], sections: cython.pointer[cython.const[DebugSections]]
) -> cython.int:
    """Prepares zeroed names. Nonzero: no memory."""
    n.strings = strings
    n.section = sections.str
    n.limit = deferrable(sections.str)
    n.deferred = n.limit
    if sections.alternate != cython.NULL:
        n.section.n += sections.alternate.str.n
        if n.limit and n.section.n < OFFSETS:
            n.alternate = deferrable(sections.alternate.str)
    n.cache = cython.cast(
        cython.pointer[uint64_t], calloc(cython.cast(cython.size_t, 1) << CACHE_BITS, cython.sizeof(uint64_t))
    )
    return n.cache == cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def names_free(n: cython.pointer[Names]) -> cython.void:
    free(n.cache)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def names_expect(
    n: cython.pointer[Names], words: cython.pointer[cython.const[uint32_t]], count: uint32_t, step: uint32_t
) -> cython.void:
    """Asks for the memory that settling these words, `step` apart, will need: for all at once, not one after the other.

    First where the texts are, then, by their hashes, where they are looked up. Longer texts are left to themselves.
    """
    i: uint32_t
    offset: uint64_t
    text: cython.p_const_char
    end: cython.p_const_char
    for i in range(count):
        if words[i * step] & NAME_AT:
            prefetch(n.section.p + (words[i * step] & ~NAME_AT))
    for i in range(count):
        offset = words[i * step] & ~NAME_AT
        if words[i * step] & NAME_AT and not name_cached(n, offset):
            text = cython.cast(cython.p_const_char, n.section.p + offset)
            end = cython.cast(cython.p_const_char, memchr(text, 0, min(n.section.n - offset, LONG)))
            if end != cython.NULL:
                string_expect(n.strings, text, end - text)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def name_settle(n: cython.pointer[Names], word: uint32_t) -> uint32_t:
    """The string id a name word stands for: 0 if the text is empty, NO_STRING if there is no memory."""
    offset: uint64_t
    text: cython.p_const_char
    size: cython.size_t = 1
    sid: uint32_t
    short: uint8_t[3]
    if word >> NAME_BITS == 0:
        return word
    if word & NAME_AT:
        offset = word & ~NAME_AT
        sid = name_cached(n, offset)
        if sid:
            return sid
        text = cython.cast(cython.p_const_char, n.section.p + offset)
        size = cython.cast(cython.p_const_char, memchr(text, 0, n.section.n - offset)) - text
        n.bytes += size
        sid = string_intern(n.strings, text, size, False)
        if sid != NO_STRING:
            name_cache(n, offset, sid)
        return sid
    short[0] = cython.cast(uint8_t, word & 0xFF)
    short[1] = cython.cast(uint8_t, (word >> 8) & 0xFF)
    short[2] = cython.cast(uint8_t, (word >> 16) & 0xFF)
    if short[1]:
        size = 3 if short[2] else 2
    return string_intern(n.strings, cython.cast(cython.p_const_char, cython.address(short[0])), size, True)
