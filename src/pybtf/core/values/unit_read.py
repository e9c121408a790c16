"""Bytes back to a unit value: the counterpart of unit_export.py, as a worker's second source of units.

The bytes come from a file, so no number is trusted until it has been compared with its bound: first the sizes of the
parts, which must add up to that of the unit; then whatever is used of each part, when it is used. Most of a unit is
not: types are known by their digests (unit_read_types.py), and of functions only those count that the linked file has
(unit_read_symbols.py), so neither their records nor their names are looked at.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memchr
from cython.cimports.pybtf.core.btf.type_section import wire_load
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.faults import (
    FAULT_MEMORY,
    FAULT_VALUES,
    IN_VALUES,
    fault_set,
)
from cython.cimports.pybtf.core.strings.string_table import (
    NO_STRING,
    Strings,
    string_expect,
    string_expect_text,
    string_intern,
    string_intern_hashed,
)
from cython.cimports.pybtf.core.support.hashing import hash_bytes
from cython.cimports.pybtf.core.support.memory import u32s_free, u32s_reserve
from cython.cimports.pybtf.core.values.stored_payload import BLOCK, stored_free
from cython.cimports.pybtf.core.values.unit_layout import *
from cython.cimports.pybtf.core.values.unit_read import DAMAGED_STRING, TOGETHER, PayloadUnit, Reading, need

# Bytes of strings that a unit may read, and how many more for each of its own; as of one from DWARF (unit_open.pxd).
TEXT_FREE = cython.declare(uint64_t, 65536)
TEXT_PER_BYTE = cython.declare(uint64_t, 256)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reading_free(r: cython.pointer[Reading]) -> cython.void:
    u32s_free(cython.address(r.words))
    u32s_free(cython.address(r.unknown))
    stored_free(cython.address(r.stored))
    free(r.functions)
    r.functions = cython.NULL
    r.cap_functions = 0
    free(r.anns)
    r.anns = cython.NULL
    r.cap_anns = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def damaged(v: cython.pointer[UnitValue], word: uint64_t) -> cython.int:
    """The fault of a unit that is wrong at this word."""
    return fault_set(cython.address(v.fault), FAULT_VALUES, IN_VALUES, v.offset + 4 * word, 0, 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def no_memory(v: cython.pointer[UnitValue]) -> cython.int:
    return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_VALUES, v.offset, 0, 0)


# ---- the parts of a unit ------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def padded(size: uint64_t) -> uint64_t:
    return (size + 3) & ~cython.cast(uint64_t, 3)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def words_before_types(h: cython.pointer[cython.const[uint32_t]]) -> uint64_t:
    """Head, tags, functions and variables, by the head."""
    words: uint64_t = H_WORDS_OF_HEAD + 3 * cython.cast(uint64_t, h[H_TAGS])
    return words + h[H_FUNCTION_WORDS] + h[H_VARIABLE_WORDS]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def payload_size(
    p: cython.pointer[cython.const[uint8_t]],
    left: uint64_t,
    swap: cython.bint,
    addresses: cython.pointer[uint32_t],
) -> uint64_t:
    """See `unit_read.pxd`."""
    h: UnitHead
    words: uint64_t
    strings: uint64_t
    if left < 4 * H_WORDS_OF_HEAD:
        return 0
    wire_load(cython.address(h[0]), p, H_WORDS_OF_HEAD, swap)
    if h[H_TYPES] == 0:
        return 0
    words = words_before_types(cython.address(h[0])) + h[H_WORDS]
    words += DIGEST_WORDS * (cython.cast(uint64_t, h[H_TYPES]) - 1)
    strings = padded(h[H_FIRST_BYTES]) + padded(h[H_STRING_BYTES])
    # Each thing that is counted has words or bytes of its own, so that no count is beyond the unit's size.
    if (
        h[H_SIZE] > left
        or 4 * words + strings != h[H_SIZE]
        or h[H_TYPES] > h[H_WORDS] + cython.cast(uint64_t, 1)
        or h[H_FUNCTIONS] > h[H_FUNCTION_WORDS] // FUNCTION_HEAD
        or h[H_VARIABLES] > h[H_VARIABLE_WORDS] // VARIABLE_HEAD
        or h[H_INT] >= h[H_TYPES]
        or h[H_FLAGS] & ~cython.cast(uint32_t, UNIT_TAGS_CUT)
    ):
        return 0
    addresses[0] = h[H_FUNCTIONS] + h[H_VARIABLES]
    return h[H_SIZE]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def payload_language(g: cython.pointer[cython.const[PayloadUnit]], swap: cython.bint) -> uint32_t:
    language: uint32_t = 0
    wire_load(cython.address(language), g.p + 4 * H_LANGUAGE, 1, swap)
    return language


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def payload_partial(g: cython.pointer[cython.const[PayloadUnit]]) -> cython.bint:
    partial: uint32_t = 0
    wire_load(cython.address(partial), g.p + 4 * (H_COUNTS + HELD_PARTIAL), 1, False)
    return partial != 0


# ---- strings ------------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def length(r: cython.pointer[Reading], text: cython.p_const_char, left: uint64_t) -> uint64_t:
    """Bytes of a string without its NUL, in `left` bytes; 0: it has no end there."""
    n: uint64_t = 0
    part: uint64_t
    end: cython.p_const_char
    while n < left:
        part = BLOCK - cython.cast(uint64_t, cython.cast(cython.pointer[cython.const[uint8_t]], text) + n - r.p) % BLOCK
        part = left - n if part > left - n else part
        if not need(r, text + n, part):
            return 0
        end = cython.cast(cython.p_const_char, memchr(text + n, 0, part))
        if end != cython.NULL:
            return end - text
        n += part
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def payload_text(
    r: cython.pointer[Reading], place: uint32_t, text: cython.pointer[cython.p_const_char]
) -> cython.size_t:
    """See `unit_read.pxd`. A string begins where another one has ended. It is read as often as it is named: a long one
    that very many name would take hours.
    """
    size: uint64_t
    at: uint64_t = cython.cast(uint64_t, place) - 1
    all_: cython.p_const_char = r.first
    end: uint64_t = r.first_size
    if at >= end:
        at -= end
        all_ = r.text
        end = r.text_size
    if place == 0 or at >= end:
        return 0
    text[0] = all_ + at
    if at and (not need(r, all_ + at - 1, 1) or all_[at - 1] != 0):
        return 0
    size = length(r, text[0], end - at)
    if size > r.text_left:
        return 0
    r.text_left -= size
    return size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def payload_string(
    r: cython.pointer[Reading], strings: cython.pointer[Strings], place: uint32_t
) -> uint32_t:
    """See `unit_read.pxd`. The text is copied if it is new: where it is is given back."""
    text: cython.p_const_char = cython.NULL
    size: cython.size_t
    if place == 0:
        return 0
    size = payload_text(r, place, cython.address(text))
    return string_intern(strings, text, size, True) if size else DAMAGED_STRING


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def payload_strings(
    r: cython.pointer[Reading],
    strings: cython.pointer[Strings],
    p: cython.pointer[uint32_t],
    step: uint32_t,
    n: uint32_t,
) -> uint32_t:
    """See `unit_read.pxd`. The memory for some of them is asked for together: a struct has many members."""
    texts: cython.p_const_char[TOGETHER]
    sizes: cython.size_t[TOGETHER]
    hashes: uint64_t[TOGETHER]
    done: uint32_t = 0
    part: uint32_t
    i: uint32_t
    while done < n:
        part = min(n - done, TOGETHER)
        for i in range(part):
            sizes[i] = payload_text(r, p[step * i], cython.address(texts[i]))
            if sizes[i]:
                hashes[i] = hash_bytes(texts[i], sizes[i])
                string_expect(strings, hashes[i])
        for i in range(part):
            if sizes[i]:
                string_expect_text(strings, hashes[i])
        for i in range(part):
            done += 1
            if sizes[i]:
                p[0] = string_intern_hashed(strings, texts[i], sizes[i], hashes[i], True)
            elif p[0]:
                p[0] = DAMAGED_STRING
            if p[0] >= DAMAGED_STRING:
                return done
            p += step
    return done


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def bad_string(v: cython.pointer[UnitValue], sid: uint32_t, word: uint64_t) -> cython.int:
    """See `unit_read.pxd`."""
    return no_memory(v) if sid == NO_STRING else damaged(v, word)


# ---- the unit -----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin_unit(
    r: cython.pointer[Reading],
    g: cython.pointer[cython.const[PayloadUnit]],
    v: cython.pointer[UnitValue],
    strings: cython.pointer[Strings],
    swap: cython.bint,
) -> cython.int:
    """See `unit_read.pxd`."""
    h: UnitHead
    n: cython.size_t
    sid: uint32_t
    wire_load(cython.address(h[0]), g.p, H_WORDS_OF_HEAD, swap)
    n = words_before_types(cython.address(h[0]))
    r.words.n = 0
    r.first = cython.cast(cython.p_const_char, g.p + 4 * n)
    r.first_size = h[H_FIRST_BYTES]
    r.digests = g.p + 4 * n + padded(r.first_size)
    r.records = r.digests + 4 * DIGEST_WORDS * (cython.cast(cython.size_t, h[H_TYPES]) - 1)
    if not u32s_reserve(cython.address(r.words), n):
        return no_memory(v)
    if not need(r, g.p, r.records - g.p):
        return damaged(v, 0)
    wire_load(r.words.p, g.p, n, swap)
    r.words.n = n
    r.swap = swap
    r.text = cython.cast(cython.p_const_char, r.records + 4 * cython.cast(cython.size_t, h[H_WORDS]))
    r.text_size = h[H_STRING_BYTES]
    r.text_left = TEXT_FREE + TEXT_PER_BYTE * g.size
    v.n_types = h[H_TYPES]
    v.int_id = h[H_INT]
    v.tags_cut = (h[H_FLAGS] & UNIT_TAGS_CUT) != 0
    v.counts[COUNT_PARTIAL] = h[H_COUNTS + HELD_PARTIAL]
    v.counts[COUNT_SKIPPED_TAGS] = h[H_COUNTS + HELD_SKIPPED_TAGS]
    v.counts[COUNT_SIGNATURES_LOST] = h[H_COUNTS + HELD_SIGNATURES_LOST]
    sid = payload_string(r, strings, h[H_NAME])
    if sid >= DAMAGED_STRING:
        return bad_string(v, sid, H_NAME)
    v.name = sid
    return 0
