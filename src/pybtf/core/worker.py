# cython: annotation_typing=True
"""What a worker does with one unit: header in, unit value out. Read `decode_unit` from top to bottom.

A worker reads the input and the tables that are shared and immutable, interns strings and classes, and writes only its
own scratch memory and the value. Any order and any number of workers give the same values up to the numbers of strings
and classes, which never reach the output.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.abbrevs import D_LANGUAGE
from cython.cimports.pybtf.core.classify import CLASSIFY_EMPTY, classifier_free, classify_unit
from cython.cimports.pybtf.core.cursor import Cursor, cur_init, cur_tell, cur_u8, cur_u16, cur_u32, cur_u64
from cython.cimports.pybtf.core.dies import die_number
from cython.cimports.pybtf.core.faults import *
from cython.cimports.pybtf.core.functable import FunctionTable
from cython.cimports.pybtf.core.memory import room, u8s_free, u32s_free
from cython.cimports.pybtf.core.observe import observe_functions
from cython.cimports.pybtf.core.opening import unit_open
from cython.cimports.pybtf.core.resolve import R_LITTLE_ENDIAN, R_TRUE_SIGNATURE, resolve_unit
from cython.cimports.pybtf.core.sections import DebugSections
from cython.cimports.pybtf.core.translate import translate_types
from cython.cimports.pybtf.core.value import *
from cython.cimports.pybtf.core.variables import collect_variables
from cython.cimports.pybtf.core.walk import walk_children
from cython.cimports.pybtf.core.walker import UnitHeader, walker_free, walker_init, walker_reset
from cython.cimports.pybtf.core.worker import *

DWARF64 = cython.declare(uint64_t, 0xFFFFFFFF)
RESERVED = cython.declare(uint64_t, 0xFFFFFFF0)
LARGEST_INFO = cython.declare(uint64_t, 0xFFFFFFF0)


# ---- unit headers -------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_header(
    c: cython.pointer[Cursor], h: cython.pointer[UnitHeader], size: uint64_t, fault: cython.pointer[Fault]
) -> cython.int:
    """One unit header (DWARF 5, 7.5.1). Nonzero: fault."""
    length: uint64_t
    kind: uint8_t = 1
    h.offset = cur_tell(c)
    h.offset_size = 4
    length = cur_u32(c)
    if length == DWARF64:
        h.offset_size = 8
        length = cur_u64(c)
    elif length >= RESERVED:
        return fault_set(fault, FAULT_UNIT_LENGTH, IN_INFO, h.offset, 0, cython.cast(int64_t, length))
    if c.bad or length == 0 or length > size - cur_tell(c):
        return fault_set(fault, FAULT_UNIT_LENGTH, IN_INFO, h.offset, 0, cython.cast(int64_t, length))
    h.end = cur_tell(c) + length
    c.end = c.base + h.end
    h.version = cython.cast(uint8_t, 0)
    length = cur_u16(c)
    if not c.bad and (length < 2 or length > 5):
        return fault_set(fault, FAULT_VERSION, IN_INFO, h.offset, 0, cython.cast(int64_t, length))
    h.version = cython.cast(uint8_t, length)
    if h.version >= 5:
        kind = cython.cast(uint8_t, cur_u8(c))
        h.address_size = cython.cast(uint8_t, cur_u8(c))
        h.abbrev = cur_u64(c) if h.offset_size == 8 else cur_u32(c)
        if kind == 4 or kind == 5:  # skeleton, split compile: an id
            cur_u64(c)
        elif kind == 2 or kind == 6:  # type, split type: a signature and the type's offset
            cur_u64(c)
            if h.offset_size == 8:
                cur_u64(c)
            else:
                cur_u32(c)
    else:
        h.abbrev = cur_u64(c) if h.offset_size == 8 else cur_u32(c)
        h.address_size = cython.cast(uint8_t, cur_u8(c))
    if c.bad:
        return fault_set(fault, FAULT_TRUNCATED, IN_INFO, h.offset, 0, 0)
    if (kind < 1 or kind > 6) and kind < 0x80:  # those from 0x80 on belong to producers
        return fault_set(fault, FAULT_UNIT_TYPE, IN_INFO, h.offset, 0, kind)
    if h.address_size != 4 and h.address_size != 8 and h.address_size != 2:
        return fault_set(fault, FAULT_ADDRESS_SIZE, IN_INFO, h.offset, 0, h.address_size)
    h.type = kind
    h.first_die = cur_tell(c)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def scan_units(
    s: cython.pointer[cython.const[DebugSections]],
    headers: cython.pointer[cython.pointer[UnitHeader]],
    n: cython.pointer[uint32_t],
    fault: cython.pointer[Fault],
) -> cython.int:
    """All unit headers of .debug_info, in order; the caller frees them. Nonzero: fault."""
    c: Cursor
    at: uint64_t = 0
    cap: uint32_t = 0
    headers[0] = cython.NULL
    n[0] = 0
    if s.info.n > LARGEST_INFO:
        return fault_set(fault, FAULT_SIZE, IN_INFO, 0, 0, cython.cast(int64_t, s.info.n))
    while at < s.info.n:
        if not room(cython.cast(cython.pp_void, headers), cython.address(cap), n[0] + 1, cython.sizeof(UnitHeader)):
            return fault_set(fault, FAULT_MEMORY, IN_INFO, at, 0, 0)
        cur_init(cython.address(c), s.info.p, at, s.info.n, s.swap)
        if read_header(cython.address(c), cython.address(headers[0][n[0]]), s.info.n, fault):
            return 1
        at = headers[0][n[0]].end
        n[0] += 1
    return 0


# ---- one unit -----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def excluded(x: cython.pointer[cython.const[Context]], language: uint32_t) -> cython.bint:
    i: cython.int
    for i in range(x.n_languages):
        if x.languages[i] == language:
            return not x.only_languages
    return x.only_languages


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_one(
    w: cython.pointer[Worker], x: cython.pointer[cython.const[Context]], number: uint32_t, v: cython.pointer[UnitValue]
) -> cython.int:
    """Decodes the DIE tree of unit `number` into the walker's tables. Nonzero: fault in the walker."""
    tag: uint16_t
    first: cython.bint = not x.merge or number == 0
    if unit_open(cython.address(w.walker), cython.address(x.headers[number]), first):
        return 1
    tag = w.walker.d.tag
    if not x.merge:
        if tag == 0x4A or tag == 0x3C:  # skeleton, partial: nothing to decode
            v.counts[COUNT_SKELETON if tag == 0x4A else COUNT_PARTIAL] += 1
            return 0
        if tag != 0x11 and tag != 0x41:
            return fault_set(
                cython.address(w.walker.fault), FAULT_UNIT_TAG, IN_INFO, w.walker.d.offset, w.walker.d.offset, tag
            )
    if first:
        v.name = w.walker.u.name
    if excluded(x, unit_language(w)):
        v.filtered = True
        return 0
    return walk_children(cython.address(w.walker))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unit_language(w: cython.pointer[Worker]) -> uint32_t:
    """DW_AT_language of the root DIE that has just been read."""
    return cython.cast(uint32_t, die_number(cython.address(w.walker.d), D_LANGUAGE))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_all(
    w: cython.pointer[Worker], x: cython.pointer[cython.const[Context]], number: uint32_t, v: cython.pointer[UnitValue]
) -> cython.int:
    """In merge mode the children of all units, otherwise those of one. Nonzero: fault in the walker."""
    i: uint32_t
    if not x.merge:
        return walk_one(w, x, number, v)
    free(w.walker.imported)
    w.walker.imported = cython.cast(cython.pointer[uint8_t], calloc(x.n_units, 1))
    if w.walker.imported == cython.NULL:
        return fault_set(cython.address(w.walker.fault), FAULT_MEMORY, IN_INFO, 0, 0, 0)
    w.walker.headers = x.headers
    w.walker.n_headers = x.n_units
    for i in range(x.n_units):
        v.filtered = False
        if walk_one(w, x, i, v):
            return 1
    v.filtered = excluded(x, w.walker.u.language)
    v.name = 0
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def value_reset(v: cython.pointer[UnitValue]) -> cython.void:
    v.filtered = False
    v.fault.code = FAULT_NONE
    v.name = 0
    v.n_types = 1
    v.n_states = v.n_vars = 0
    v.tags.n = 0
    v.twice.n = 0
    v.locals.n = 0
    v.anns.n = 0
    v.irregular = False
    v.int_id = 0
    v.n_arrays = 0
    v.tags_cut = False
    memset(v.counts, 0, cython.sizeof(v.counts))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def try_unit(
    w: cython.pointer[Worker],
    x: cython.pointer[cython.const[Context]],
    number: uint32_t,
    v: cython.pointer[UnitValue],
    symbols: FunctionTable,
) -> cython.int:
    value_reset(v)
    w.classifier.failed = 0
    if walker_reset(cython.address(w.walker)) or walk_all(w, x, number, v):
        v.fault = w.walker.fault
        return 1
    return finish_unit(w, x, v, symbols)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def decode_unit(
    w: cython.pointer[Worker],
    x: cython.pointer[cython.const[Context]],
    number: uint32_t,
    v: cython.pointer[UnitValue],
    symbols: FunctionTable,
) -> cython.int:
    """Fills `v` from unit `number`. Nonzero: fault in `v.fault`."""
    status: cython.int
    v.number = x.first_unit + number
    v.offset = x.headers[number].offset
    status = try_unit(w, x, number, v, symbols)
    if status and w.classifier.failed == CLASSIFY_EMPTY:
        w.walker.names.deferred = 0
        status = try_unit(w, x, number, v, symbols)
        w.walker.names.deferred = w.walker.names.limit
    if x.info_mapped and not x.merge:
        give_back(x.sections.info.p + v.offset, x.headers[number].end - v.offset)
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def finish_unit(
    w: cython.pointer[Worker],
    x: cython.pointer[cython.const[Context]],
    v: cython.pointer[UnitValue],
    symbols: FunctionTable,
) -> cython.int:
    """What follows when the DIEs are in the walker's tables. Nonzero: fault in `v.fault`."""
    options: cython.int = R_LITTLE_ENDIAN if x.little else 0
    true_signature: cython.bint = (x.options & OPT_TRUE_SIGNATURE) != 0
    if true_signature:
        options |= R_TRUE_SIGNATURE
    v.counts[COUNT_SKIPPED_TAGS] = w.walker.skipped_tags
    if v.filtered:
        return 0
    if resolve_unit(
        cython.address(w.walker.u),
        cython.address(x.sections),
        cython.address(x.machine),
        x.table.n,
        options,
        cython.address(v.fault),
    ):
        return 1
    if translate_types(cython.address(w.walker.u), v, cython.address(x.known), x.options):
        return 1
    if classify_unit(cython.address(w.classifier), v):
        return 1
    if v.tags_cut:
        v.counts[COUNT_TAGS_CUT] += 1
        return 0
    if observe_functions(
        cython.address(w.walker.u),
        v,
        cython.address(w.observer),
        cython.address(w.classifier),
        x.strings,
        x.table,
        cython.address(x.machine),
        true_signature,
    ):
        return 1
    if x.options & OPT_VARIABLES:
        return collect_variables(cython.address(w.walker.u), v, cython.address(x.variables), symbols)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def worker_init(w: cython.pointer[Worker], x: cython.pointer[cython.const[Context]]) -> cython.int:
    """Prepares a worker. Nonzero: no memory."""
    memset(w, 0, cython.sizeof(Worker))
    w.observer.file = x.file
    w.walker.want_decl_tags = (x.options & OPT_DECL_TAG) != 0
    w.walker.want_type_tags = (x.options & OPT_TYPE_TAG) != 0
    w.walker.want_parameter_names = (x.options & OPT_TRUE_SIGNATURE) != 0
    w.walker.want_variables = (x.options & OPT_VARIABLES) != 0
    w.classifier.classes = x.classes
    w.classifier.known = x.seen
    w.classifier.names = cython.address(w.walker.names)
    return walker_init(cython.address(w.walker), x.strings, cython.address(x.sections))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def worker_free(w: cython.pointer[Worker]) -> cython.void:
    walker_free(cython.address(w.walker))
    classifier_free(cython.address(w.classifier))
    u32s_free(cython.address(w.observer.record))
    u8s_free(cython.address(w.observer.name))
    u32s_free(cython.address(w.observer.align))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def value_free(v: cython.pointer[UnitValue]) -> cython.void:
    u32s_free(cython.address(v.words))
    u32s_free(cython.address(v.offs))
    u32s_free(cython.address(v.classes))
    u32s_free(cython.address(v.twice))
    u32s_free(cython.address(v.tags))
    u32s_free(cython.address(v.locals))
    u32s_free(cython.address(v.anns))
    free(v.states)
    free(v.vars)
    v.states = cython.NULL
    v.vars = cython.NULL
