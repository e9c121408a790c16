"""What a worker does with one unit: header in, unit value out. Read `decode_unit` from top to bottom.

A worker reads the input and the tables that are shared and immutable, interns strings and classes, and writes only its
own scratch memory and the value. Any order and any number of workers give the same values up to the numbers of strings
and classes, which never reach the output.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint8_t, uint16_t, uint32_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.classes.classify import CLASSIFY_EMPTY, classifier_free, classify_unit
from cython.cimports.pybtf.core.dwarf.alternate_units import is_needed, lost_references, survey_alternates
from cython.cimports.pybtf.core.dwarf.attributes import D_DWO_NAME, D_LANGUAGE, D_NAME
from cython.cimports.pybtf.core.dwarf.die_reader import die_has, die_number
from cython.cimports.pybtf.core.dwarf.unit_open import unit_open
from cython.cimports.pybtf.core.dwarf.walk import walk_children
from cython.cimports.pybtf.core.dwarf.walk_state import (
    walk_name,
    walker_expect,
    walker_free,
    walker_init,
    walker_reset,
)
from cython.cimports.pybtf.core.elf.function_table import FunctionTable
from cython.cimports.pybtf.core.encode.translate import translate_types
from cython.cimports.pybtf.core.functions.function_instances import observe_functions
from cython.cimports.pybtf.core.functions.resolve import R_LITTLE_ENDIAN, R_TRUE_SIGNATURE, resolve_unit
from cython.cimports.pybtf.core.functions.variables import collect_variables
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import (
    F_DECLARATION,
    NO_INDEX,
    T_DECLARATION,
    V_DECLARATION,
    V_TOP_LEVEL,
    Function,
    Unit,
    Variable,
)
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.faults import *
from cython.cimports.pybtf.core.model.losses import lose, losses_free, losses_reset
from cython.cimports.pybtf.core.model.options import *
from cython.cimports.pybtf.core.model.traces import TRACE_EXCLUDED, TRACE_EXCLUDED_VAR, trace_push
from cython.cimports.pybtf.core.strings.lazy_names import NAMES_EMPTY, NAMES_LONG, NAMES_OK, Names, names_intern
from cython.cimports.pybtf.core.support.mapped_file import give_back
from cython.cimports.pybtf.core.support.memory import u8s_free, u32s_free, u32s_reserve
from cython.cimports.pybtf.core.values.unit_read import reading_free
from cython.cimports.pybtf.core.worker import *


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def main_unit(x: cython.pointer[cython.const[Context]]) -> uint32_t:
    """The unit whose facts are those of the logical unit in merge mode: the first one, but type units do not count, for
    these say little of themselves.
    """
    i: uint32_t
    for i in range(x.n_own):
        if x.headers[i].type_die == 0:
            return i
    return 0


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
@cython.inline
@cython.exceptval(check=False)
def chosen_by_language(x: cython.pointer[cython.const[Context]], number: uint32_t) -> cython.bint:
    """Whether the language of unit `number` decides about that unit. Where units are merged, it does so only if
    languages are left out, and not if some are chosen; it never decides about a unit of an alternate file.
    """
    return not x.merge or (not x.only_languages and number < x.n_own)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_one(
    w: cython.pointer[Worker],
    x: cython.pointer[cython.const[Context]],
    number: uint32_t,
    first: cython.bint,
    v: cython.pointer[UnitValue],
) -> cython.int:
    """Decodes the DIE tree of unit `number` into the walker's tables. Nonzero: fault in the walker.

    `first`: it is the first, or the only one, of its logical unit.
    """
    tag: uint16_t
    if unit_open(cython.address(w.walker), cython.address(x.headers[number]), first):
        return 1
    v.name = w.walker.u.name if first else walk_name(cython.address(w.walker), D_NAME)
    tag = w.walker.d.tag
    if tag == DW_TAG_skeleton_unit or (
        die_has(cython.address(w.walker.d), D_DWO_NAME) and x.headers[number].split == cython.NULL
    ):
        return fault_set(
            cython.address(w.walker.fault),
            FAULT_SPLIT,
            IN_INFO,
            w.walker.d.offset,
            w.walker.d.offset,
            walk_name(cython.address(w.walker), D_DWO_NAME),
        )
    if not x.merge:
        if tag == DW_TAG_partial_unit:  # nothing to decode
            v.counts[COUNT_PARTIAL] += 1
            return 0
        if tag != DW_TAG_compile_unit and tag != DW_TAG_type_unit:
            return fault_set(
                cython.address(w.walker.fault), FAULT_UNIT_TAG, IN_INFO, w.walker.d.offset, w.walker.d.offset, tag
            )
    if chosen_by_language(x, number) and excluded(x, unit_language(w)):
        v.filtered = True
        return trace_excluded(w, v) if x.tracing and not x.merge else 0
    return walk_children(cython.address(w.walker))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def trace_excluded(w: cython.pointer[Worker], v: cython.pointer[UnitValue]) -> cython.int:
    """Notes which functions and variables a unit has that is left out: nothing else of it is used, and if it is
    damaged, nothing at all. Nonzero: no memory.
    """
    i: uint32_t
    f: cython.pointer[Function]
    d: cython.pointer[Variable]
    failed: cython.bint = False
    w.walker.names.deferred = 0
    failed = walk_children(cython.address(w.walker)) != 0
    w.walker.names.deferred = w.walker.names.limit
    if failed:
        w.walker.fault.code = FAULT_NONE
        return 0
    for i in range(w.walker.u.n_functions):
        f = w.walker.u.functions + i
        if f.name and not f.flags & F_DECLARATION:
            failed |= trace_push(cython.address(v.traces), f.die, f.name, TRACE_EXCLUDED) == cython.NULL
    for i in range(w.walker.u.n_variables):
        d = w.walker.u.variables + i
        if d.name and d.flags & V_TOP_LEVEL and not d.flags & V_DECLARATION:
            failed |= trace_push(cython.address(v.traces), d.die, d.name, TRACE_EXCLUDED_VAR) == cython.NULL
    return failed and fault_set(cython.address(w.walker.fault), FAULT_MEMORY, IN_INFO, v.offset, 0, 0)


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
    if not x.merge:
        return walk_one(w, x, number, True, v)
    w.walker.headers = x.headers
    w.walker.n_headers = x.n_own
    w.walker.n_units = x.n_units
    if x.n_own < x.n_units and walk_alternates(w, x, v):
        return 1
    if walk_own(w, x, v):
        return 1
    v.filtered = excluded(x, w.walker.u.language)
    v.name = 0
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_own(
    w: cython.pointer[Worker], x: cython.pointer[cython.const[Context]], v: cython.pointer[UnitValue]
) -> cython.int:
    """Merge mode: the children of all units, but those of the alternate file. Nonzero: fault in the walker."""
    i: uint32_t
    main: uint32_t = main_unit(x)
    free(w.walker.imported)
    w.walker.imported = cython.cast(cython.pointer[uint8_t], calloc(x.n_own + 1, 1))
    if w.walker.imported == cython.NULL:
        return fault_set(cython.address(w.walker.fault), FAULT_MEMORY, IN_INFO, 0, 0, 0)
    if walk_one(w, x, main, True, v):
        return 1
    for i in range(x.n_own):
        v.filtered = False
        if i != main and walk_one(w, x, i, False, v):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_alternates(
    w: cython.pointer[Worker], x: cython.pointer[cython.const[Context]], v: cython.pointer[UnitValue]
) -> cython.int:
    """The children of those units of the alternate file that are needed. Nonzero: fault in the walker."""
    i: uint32_t
    failed: cython.int
    if survey_alternates(cython.address(w.walker)):
        return 1
    w.walker.survey = True
    failed = walk_own(w, x, v)
    w.walker.survey = False
    if failed or walker_reset(cython.address(w.walker)):
        return 1
    # What is true of the logical unit comes from the first unit of the file itself.
    if unit_open(cython.address(w.walker), cython.address(x.headers[main_unit(x)]), True):
        return 1
    for i in range(x.n_own, x.n_units):
        if is_needed(cython.address(w.walker), i) and walk_one(w, x, i, False, v):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def value_reset(v: cython.pointer[UnitValue]) -> cython.void:
    v.filtered = False
    v.fault.code = FAULT_NONE
    v.name = 0
    v.n_types = 1
    v.n_states = v.n_vars = v.traces.n = 0
    v.dies.n = 0
    v.tags.n = 0
    v.twice.n = 0
    v.locals.n = 0
    v.anns.n = 0
    v.irregular = False
    v.int_id = 0
    v.n_arrays = 0
    v.tags_cut = False
    memset(v.counts, 0, cython.sizeof(v.counts))
    losses_reset(cython.address(v.losses))


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
    return intern_names(w, v) or finish_unit(w, x, v, symbols)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def intern_names(w: cython.pointer[Worker], v: cython.pointer[UnitValue]) -> cython.int:
    """The names of functions and variables, which the walk has left as name words, all together. Nonzero: fault."""
    u: cython.pointer[Unit] = cython.address(w.walker.u)
    names: cython.pointer[Names] = cython.address(w.walker.names)
    status: cython.int = NAMES_OK
    if u.n_functions:
        status = names_intern(names, cython.address(u.functions.name), u.n_functions, cython.sizeof(Function) // 4)
    if status == NAMES_OK and u.n_variables:
        status = names_intern(names, cython.address(u.variables.name), u.n_variables, cython.sizeof(Variable) // 4)
    if status == NAMES_EMPTY:
        w.classifier.failed = CLASSIFY_EMPTY  # to be decoded again
    elif status == NAMES_LONG:
        fault_set(cython.address(v.fault), FAULT_SHARED, IN_STR, v.offset, 0, cython.cast(int64_t, names.bytes))
    elif status != NAMES_OK:
        fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, v.offset, 0, 0)
    return status


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
    v.tracing = x.tracing
    v.placing = x.placing
    status = try_unit(w, x, number, v, symbols)
    if status and w.classifier.failed == CLASSIFY_EMPTY:
        w.walker.names.deferred = 0
        status = try_unit(w, x, number, v, symbols)
        w.walker.names.deferred = w.walker.names.limit
    if status and x.options & OPT_DEGRADE and not x.merge and v.fault.code != FAULT_MEMORY:
        status = leave_out(w, x, v, symbols)
    if x.info_mapped and not x.merge:
        give_back(x.sections.info.p + v.offset, x.headers[number].end - v.offset)
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave_out(
    w: cython.pointer[Worker],
    x: cython.pointer[cython.const[Context]],
    v: cython.pointer[UnitValue],
    symbols: FunctionTable,
) -> cython.int:
    """Makes the value of an empty unit of one with a fault, which is noted as lost. Nonzero: no memory."""
    fault: Fault = v.fault
    value_reset(v)
    w.classifier.failed = 0
    if walker_reset(cython.address(w.walker)) or finish_unit(w, x, v, symbols):
        return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, v.offset, 0, 0)
    v.counts[COUNT_DAMAGED] = 1
    if not lose(cython.address(v.losses), cython.address(fault), True):
        return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, v.offset, 0, 0)
    return 0


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
    v.counts[COUNT_SIGNATURES_LOST] = w.walker.signatures_lost
    if v.filtered:
        return 0
    if x.merge and x.n_own < x.n_units:
        v.counts[COUNT_ALTERNATE_LOST] = lost_references(cython.address(w.walker))
    if resolve_unit(
        cython.address(w.walker.u),
        cython.address(x.sections),
        cython.address(x.machine),
        NO_INDEX if x.exporting else x.table.n,
        options,
        cython.address(v.fault),
    ):
        return 1
    if translate_types(cython.address(w.walker.u), v, cython.address(x.known), x.options):
        return 1
    if v.placing and note_dies(cython.address(w.walker.u), v):
        return 1
    if classify_unit(cython.address(w.classifier), v):
        return 1
    if x.exporting:
        return 0
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
def note_dies(u: cython.pointer[cython.const[Unit]], v: cython.pointer[UnitValue]) -> cython.int:
    """Notes the DIE of each type, and whether it only declares it. Nonzero: no memory."""
    i: int64_t
    if not u32s_reserve(cython.address(v.dies), 2 * cython.cast(cython.size_t, u.n_types)):
        return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, u.offset, 0, 0)
    for i in range(u.n_types - 1, -1, -1):
        # Of an array of several dimensions only the last one, the whole, has the DIE.
        v.dies.p[2 * i] = u.types[i].die if u.types[i].die or i + 1 == u.n_types else v.dies.p[2 * i + 2]
        v.dies.p[2 * i + 1] = u.types[i].flags & T_DECLARATION
    v.dies.n = 2 * cython.cast(cython.size_t, u.n_types)
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
    w.walker.type_units = cython.address(x.type_units)
    w.classifier.classes = x.classes
    w.classifier.known = x.seen
    w.classifier.sparse = x.keep_all
    w.classifier.plain = (x.options & OPT_DEGRADE) != 0
    w.classifier.names = cython.address(w.walker.names)
    if walker_init(cython.address(w.walker), x.strings, cython.address(x.sections)):
        return 1
    return not walker_expect(cython.address(w.walker), x.sections.info.n)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def worker_free(w: cython.pointer[Worker]) -> cython.void:
    walker_free(cython.address(w.walker))
    classifier_free(cython.address(w.classifier))
    u32s_free(cython.address(w.observer.record))
    u8s_free(cython.address(w.observer.name))
    u32s_free(cython.address(w.observer.align))
    reading_free(cython.address(w.reading))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def value_free(v: cython.pointer[UnitValue]) -> cython.void:
    u32s_free(cython.address(v.words))
    u32s_free(cython.address(v.offs))
    u32s_free(cython.address(v.classes))
    u32s_free(cython.address(v.twice))
    u32s_free(cython.address(v.tags))
    u32s_free(cython.address(v.dies))
    u32s_free(cython.address(v.locals))
    u32s_free(cython.address(v.anns))
    free(v.states)
    free(v.vars)
    free(v.traces.p)
    losses_free(cython.address(v.losses))
    v.states = cython.NULL
    v.vars = cython.NULL
