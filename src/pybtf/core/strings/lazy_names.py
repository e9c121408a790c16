"""Names that are not looked up: a word that stands for a text before the text is read.

A kernel's DWARF has 14 million DIEs, and most of their names belong to types and members that were seen in
earlier units. Interning each of them means a visit to .debug_str and one to the table of strings, all over memory.
But where .debug_str comes from a linker, its offset says as much as the text. So the name of a type, a member or an
enumerator is first a *name word*: a string id; or the offset, if the form is an offset; or the text itself, if it has
at most three bytes (compilers put those into .debug_info). Equal words of one file mean equal texts. The converse
need not hold, so a word is interned, that is replaced by the string id, before it decides anything: when the record it
is in has not been met before (record_cache.py).

An empty text is not a name, which matters at once and not later. It costs too much to look whether an offset is that of
an empty text, and there are none in practice; where one is found when settling, the unit is decoded once more with
nothing deferred (worker.py).
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memchr
from cython.cimports.pybtf.core.model.debug_sections import DebugSections, Span
from cython.cimports.pybtf.core.strings.base_strings import TOO_LONG, BaseStrings
from cython.cimports.pybtf.core.strings.lazy_names import *
from cython.cimports.pybtf.core.strings.name_prediction import (
    BY_MEMBER,
    Models,
    model_after,
    model_else,
    model_find,
    model_follow,
    model_is,
)
from cython.cimports.pybtf.core.strings.string_table import (
    IN_BASE,
    NO_STRING,
    Strings,
    string_expect,
    string_expect_text,
    string_in_base,
    string_intern,
    string_intern_hashed,
    string_is_single,
)
from cython.cimports.pybtf.core.support.hashing import hash_bytes
from cython.cimports.pybtf.core.support.memory import read_through
from cython.cimports.pybtf.core.support.text_compare import same_text, text_at

OFFSETS = cython.declare(uint64_t, 0x80000000)
SMALL = cython.declare(cython.size_t, 1 << 19)  # of such a section, most will be read anyway, and it fits into a cache


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def deferrable(section: Span) -> uint32_t:
    """The size of a section if each of its offsets will do for a name word: after it there is a text that ends."""
    if 0 < section.n < OFFSETS and section.p[section.n - 1] == 0:
        return cython.cast(uint32_t, section.n)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def one_table(sections: cython.pointer[cython.const[DebugSections]]) -> cython.bint:
    """Whether equal texts mostly have one offset. Of split DWARF, each `.dwo` has its own; a package has one."""
    i: cython.size_t
    for i in range(1, sections.n_split):
        if sections.split[i].str != sections.split[0].str:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def names_init(
    n: cython.pointer[Names], strings: cython.pointer[Strings], sections: cython.pointer[cython.const[DebugSections]]
) -> cython.int:
    """Prepares zeroed names. Nonzero: no memory."""
    bits: uint32_t = 8
    n.strings = strings
    n.section = sections.str
    n.limit = deferrable(sections.str) if one_table(sections) else 0
    n.deferred = n.limit
    if sections.alternate != cython.NULL:
        n.section.n += sections.alternate.str.n
        if n.limit and n.section.n < OFFSETS:
            n.alternate = deferrable(sections.alternate.str)
    # The names of a module are few, and most occur once or are found without the cache.
    while bits < CACHE_BITS and n.section.n >> bits > 128:
        bits += 1
    n.cache_shift = 64 - bits
    n.cache = cython.cast(
        cython.pointer[uint64_t], calloc(cython.cast(cython.size_t, 1) << bits, cython.sizeof(uint64_t))
    )
    if n.section.n <= SMALL:
        read_through(n.section.p, n.section.n)
    return n.cache == cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def names_free(n: cython.pointer[Names]) -> cython.void:
    free(n.cache)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def text_size(n: cython.pointer[cython.const[Names]], offset: uint64_t) -> cython.size_t:
    """Bytes of the text at an offset of the section. That it ends was true when the section was looked at; where the
    file has changed since, it ends with the section.
    """
    text: cython.pointer[cython.const[uint8_t]] = n.section.p + offset
    end: cython.pointer[cython.const[uint8_t]] = cython.cast(
        cython.pointer[cython.const[uint8_t]], memchr(text, 0, n.section.n - offset)
    )
    return (n.section.n - offset) if end == cython.NULL else (end - text)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def name_intern(n: cython.pointer[Names], word: uint32_t) -> uint32_t:
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
        size = text_size(n, offset)
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def interned(n: cython.pointer[cython.const[Names]], sid: uint32_t) -> cython.int:
    """NAMES_*: what is to be said of the id that a word has become."""
    if sid == NO_STRING:
        return NAMES_MEMORY
    if sid == 0:
        return NAMES_EMPTY
    return NAMES_LONG if n.bytes > n.budget else NAMES_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def intern_some(
    n: cython.pointer[Names], words: cython.pointer[uint32_t], count: uint32_t, step: uint32_t
) -> cython.int:
    """Interns at most sixteen words."""
    i: uint32_t
    word: uint32_t
    sid: uint32_t
    offset: uint64_t
    status: cython.int
    texts = cython.declare(cython.p_const_char[16])
    sizes = cython.declare(cython.size_t[16])
    hashes = cython.declare(uint64_t[16])
    for i in range(count):
        name_expect(n, words[i * step])
    for i in range(count):
        word = words[i * step]
        sizes[i] = 0
        if word >> NAME_BITS == 0:
            continue
        offset = word & ~NAME_AT
        sid = name_cached(n, offset) if word & NAME_AT else name_intern(n, word)
        if sid == 0 and word & NAME_AT:
            texts[i] = cython.cast(cython.p_const_char, n.section.p + offset)
            sizes[i] = text_size(n, offset)
            n.bytes += sizes[i]
            if sizes[i]:
                hashes[i] = hash_bytes(texts[i], sizes[i])
                string_expect(n.strings, hashes[i])
                continue
        status = interned(n, sid)
        if status:
            return status
        words[i * step] = sid
    for i in range(count):
        if sizes[i]:
            string_expect_text(n.strings, hashes[i])
    for i in range(count):
        if sizes[i]:
            sid = string_intern_hashed(n.strings, texts[i], sizes[i], hashes[i], False)
            status = interned(n, sid)
            if status:
                return status
            name_cache(n, words[i * step] & ~NAME_AT, sid)
            words[i * step] = sid
    return NAMES_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def names_intern(
    n: cython.pointer[Names], words: cython.pointer[uint32_t], count: uint32_t, step: uint32_t
) -> cython.int:
    """Replaces name words, `step` apart, by string ids; words that are ids, and 0, remain. NAMES_*.

    The memory that a few of them need is asked for together: first where the texts are, then, by their hashes, where
    they are looked up, then what they are compared with.
    """
    first: uint32_t
    status: cython.int = NAMES_OK
    for first in range(0, count, 16):
        status = intern_some(n, words + cython.cast(cython.size_t, first) * step, min(count - first, 16), step)
        if status:
            break
    return status


# ---- names that a base leads to expect ----------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_expected(n: cython.pointer[cython.const[Names]], word: uint32_t, at: uint32_t) -> cython.bint:
    """Whether the text that a word stands for is the one at this offset of the base, and its id is the one of that.

    `at` is that of a name of a model, or 0.
    """
    base: cython.pointer[cython.const[BaseStrings]] = n.strings.base
    offset: uint32_t = word & ~NAME_AT
    ends: uint32_t
    if word >> NAME_BITS == 0:
        return word == (IN_BASE | at)
    if not string_is_single(n.strings, at):
        return False
    if word & NAME_AT:
        return same_text(
            cython.cast(cython.p_const_char, n.section.p + offset),
            n.section.n - offset,
            base.text + at,
            base.size - at,
            TOO_LONG,
        )
    ends = 4 if word & 0xFF0000 else (3 if word & 0xFF00 else 2)
    return ((text_at(base.text + at) ^ (word & 0xFFFFFF)) << (64 - 8 * ends)) == 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def expected(n: cython.pointer[cython.const[Names]], word: uint32_t, nameless: uint32_t, count: uint32_t) -> uint32_t:
    """The model that is expected next, if it is of a type with this name and so many elements; 0: it is not."""
    m: cython.pointer[cython.const[Models]] = n.strings.models
    at: uint32_t
    if m == cython.NULL or m.slots == cython.NULL:
        return 0
    at = model_after(m, n.model)
    if model_is(m, at, nameless, count) and is_expected(n, word, m.all[at].key ^ nameless):
        return at
    at = model_else(m, n.model)
    if model_is(m, at, nameless, count) and is_expected(n, word, m.all[at].key ^ nameless):
        model_follow(m, n.model, at)
        return at
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def name_intern_first(
    n: cython.pointer[Names],
    name: cython.pointer[uint32_t],
    words: cython.pointer[uint32_t],
    count: uint32_t,
    model: cython.pointer[uint32_t],
) -> cython.int:
    """Interns the name of a type, or if it has none that of the first of its `count` members or enumerators, which are
    at `words`. `model`: what the base has of such a type, 0: nothing. NAMES_*.
    """
    at: uint32_t
    sid: uint32_t
    nameless: uint32_t = 0
    status: cython.int
    model[0] = 0
    if name[0] == 0:
        if count == 0 or words[0] == 0:
            return NAMES_OK
        name = words
        nameless = BY_MEMBER
    at = expected(n, name[0], nameless, count)
    if at:
        name[0] = IN_BASE | (n.strings.models.all[at].key ^ nameless)
        n.model = model[0] = at
        return NAMES_OK
    sid = name_intern(n, name[0])
    status = interned(n, sid)
    if status:
        return status
    name[0] = sid
    at = model_find(n.strings.models, (sid ^ IN_BASE) | nameless, count) if string_in_base(sid) else 0
    if at:
        model_follow(n.strings.models, n.model, at)
        n.model = model[0] = at
    return NAMES_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def names_intern_like(
    n: cython.pointer[Names], words: cython.pointer[uint32_t], count: uint32_t, step: uint32_t, model: uint32_t
) -> cython.int:
    """`names_intern` for the members or enumerators of a type of which the base has this model, 0: none. NAMES_*."""
    i: uint32_t
    left: uint32_t = 0
    word: cython.pointer[uint32_t] = words
    names: cython.pointer[cython.const[uint32_t]]
    if model == 0:
        return names_intern(n, words, count, step)
    names = n.strings.models.names + n.strings.models.all[model].first
    for i in range(count):
        if word[0] >> NAME_BITS:
            if is_expected(n, word[0], names[i]):
                word[0] = IN_BASE | names[i]
            else:
                left += 1
        word += step
    return names_intern(n, words, count, step) if left else NAMES_OK
