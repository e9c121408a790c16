"""What a worker does with one unit: header in, unit value out.

Begin with `decode_unit`. `try_unit` is one attempt, in two halves: `walk_all` (unit_walk.py) reads the DIEs into the
walker's tables, and `finish_unit` makes the value of them: it resolves references, translates types to records, gives
them classes, and then `observe_unit` notes functions and variables. A unit is attempted again if names that were to be
interned late turn out to be empty (`try_twice`), and where an encoding degrades, without what is damaged (`leave_out`,
in merge mode `try_without_damaged`).

A worker reads the input and the tables that are shared and immutable, interns strings and classes, and writes only its
own scratch memory and the value. Any order and any number of workers give the same values up to the numbers of strings
and classes, which never reach the output.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.classes.classify import CLASSIFY_EMPTY, classifier_free, classify_unit
from cython.cimports.pybtf.core.dwarf.alternate_units import lost_references
from cython.cimports.pybtf.core.dwarf.die_index import types_free
from cython.cimports.pybtf.core.dwarf.left_out import (
    leave_out_aside,
    leave_out_begin,
    leave_out_end,
    replace_references,
)
from cython.cimports.pybtf.core.dwarf.passed import pass_abbrev, pass_all, pass_lists
from cython.cimports.pybtf.core.dwarf.walk_state import Walker, walker_expect, walker_free, walker_init, walker_reset
from cython.cimports.pybtf.core.elf.function_table import FunctionTable
from cython.cimports.pybtf.core.encode.stand_ins import fit_parts
from cython.cimports.pybtf.core.encode.translate import translate_types
from cython.cimports.pybtf.core.functions.function_instances import observe_functions
from cython.cimports.pybtf.core.functions.resolve import (
    R_LITTLE_ENDIAN,
    R_TRUE_SIGNATURE,
    leave_out_orphans,
    resolve_references,
    resolve_unit,
)
from cython.cimports.pybtf.core.functions.symbol_names import intern_function_names, intern_variable_names
from cython.cimports.pybtf.core.functions.variables import collect_variables
from cython.cimports.pybtf.core.model.debug_sections import DebugSections
from cython.cimports.pybtf.core.model.dwarf_unit import NO_INDEX, T_DECLARATION, Unit, too_shared
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.faults import *
from cython.cimports.pybtf.core.model.losses import lose, losses_free, losses_reset, losses_take
from cython.cimports.pybtf.core.model.options import *
from cython.cimports.pybtf.core.strings.lazy_names import NAMES_EMPTY, NAMES_LONG, NAMES_OK, Names
from cython.cimports.pybtf.core.support.mapped_file import give_back, read_at
from cython.cimports.pybtf.core.support.memory import U32s, u8s_free, u8s_reserve, u32s_free, u32s_reserve
from cython.cimports.pybtf.core.unit_walk import walk_all
from cython.cimports.pybtf.core.values.unit_read import reading_free
from cython.cimports.pybtf.core.worker import *

LARGEST_FETCHED = cython.declare(uint64_t, 2 << 20)  # bytes of a unit: about what the cache of a CPU holds
LONGEST_OPERATION = cython.declare(uint64_t, 11)  # bytes of a DWARF operation with its longest operand
MOST_ROUNDS = cython.declare(cython.int, 8)  # of decoding a logical unit to find all of its damaged units


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def value_reset(v: cython.pointer[UnitValue]) -> cython.void:
    """Empties the value for the next unit, and keeps its memory."""
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
def no_memory(v: cython.pointer[UnitValue]) -> cython.int:
    """Makes this the fault of the unit. Returns 1."""
    v.fault.code = FAULT_NONE
    return fault_set(cython.address(v.fault), FAULT_MEMORY, IN_INFO, v.offset, 0, 0)


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
    """One attempt at unit `number`: its DIEs, then its value. Nonzero: fault in `v.fault`, or a name was empty, which
    `w.classifier.failed` says.
    """
    value_reset(v)
    w.classifier.failed = 0
    if walker_reset(cython.address(w.walker)) or walk_all(w, x, number, v):
        v.fault = w.walker.fault
        return 1
    if finish_unit(w, x, v, symbols):
        return 1
    if w.walker.u.left == 0 and not v.filtered:
        return too_shared(cython.address(w.walker.u), cython.address(v.fault), IN_INFO, v.offset, 0)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def names_settled(w: cython.pointer[Worker], v: cython.pointer[UnitValue], status: cython.int) -> cython.bint:
    """What interning names of functions or variables came to. False: fault, or the unit is to be decoded again."""
    if status == NAMES_EMPTY:
        w.classifier.failed = CLASSIFY_EMPTY
    elif status == NAMES_LONG:
        fault_set(
            cython.address(v.fault), FAULT_SHARED, IN_STR, v.offset, 0, cython.cast(int64_t, w.walker.names.bytes)
        )
    elif status != NAMES_OK:
        no_memory(v)
    return status == NAMES_OK


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
    v.track_dies = x.track_dies
    if not x.merge and x.info_file >= 0 and fetch_unit(w, x, number, v):
        return 1
    status = 1 if x.merge and x.gaps else try_twice(w, x, number, v, symbols)
    if status and x.options & OPT_DEGRADE and v.fault.code != FAULT_MEMORY:
        if x.merge:
            status = try_without_damaged(w, x, number, v, symbols)
        else:
            status = leave_out(w, x, v, symbols)
    if not x.merge:
        give_back_unit(w, x, number, v)
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def give_back_unit(
    w: cython.pointer[Worker], x: cython.pointer[cython.const[Context]], number: uint32_t, v: cython.pointer[UnitValue]
) -> cython.void:
    """Gives back the pages of a unit that has been decoded, and of those before it (dwarf/passed.pxd)."""
    s: cython.pointer[cython.const[DebugSections]] = cython.address(x.sections)
    if x.info_file >= 0 and w.sections.info.p == s.info.p:
        give_back(s.info.p + v.offset, x.headers[number].end - v.offset)
    pass_abbrev(s, cython.address(w.passed), x.headers[number].abbrev)
    pass_lists(s, cython.address(w.passed), x.headers[number].version, w.walker.u.list_at)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fetch_unit(
    w: cython.pointer[Worker], x: cython.pointer[cython.const[Context]], number: uint32_t, v: cython.pointer[UnitValue]
) -> cython.int:
    """Reads unit `number` from the file, so that its bytes are in a cache when they are decoded, and no page of the map
    is touched. From then on offsets of this unit, and of `LONGEST_OPERATION` bytes more, are valid in `sections.info`
    of the worker, and no others: what is at the end of an expression may run past the unit (expressions.py,
    die_objects.py). A large unit stays in the map. Nonzero: fault in `v.fault`.
    """
    offset: uint64_t = x.headers[number].offset
    size: uint64_t = min(x.headers[number].end + LONGEST_OPERATION, x.sections.info.n) - offset
    w.sections.info.p = x.sections.info.p
    if size > LARGEST_FETCHED:
        return 0
    value_reset(v)
    w.unit.n = 0
    if not u8s_reserve(cython.address(w.unit), size):
        return no_memory(v)
    if not read_at(x.info_file, w.unit.p, size, x.info_at + offset):
        return fault_set(cython.address(v.fault), FAULT_TRUNCATED, IN_INFO, offset, 0, 0)
    w.sections.info.p = w.unit.p - offset
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def try_twice(
    w: cython.pointer[Worker],
    x: cython.pointer[cython.const[Context]],
    number: uint32_t,
    v: cython.pointer[UnitValue],
    symbols: FunctionTable,
) -> cython.int:
    """As `try_unit`, and again if a name turns out to be empty."""
    status: cython.int = try_unit(w, x, number, v, symbols)
    if status and w.classifier.failed == CLASSIFY_EMPTY:
        w.walker.names.deferred = 0
        status = try_unit(w, x, number, v, symbols)
        w.walker.names.deferred = w.walker.names.limit
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def try_without_damaged(
    w: cython.pointer[Worker],
    x: cython.pointer[cython.const[Context]],
    number: uint32_t,
    v: cython.pointer[UnitValue],
    symbols: FunctionTable,
) -> cython.int:
    """Merge mode: as `try_twice`, without the units that are damaged, which are noted as lost (dwarf/left_out.py).
    Nonzero: fault in `v.fault`.
    """
    walker: cython.pointer[Walker] = cython.address(w.walker)
    status: cython.int
    walker.headers = x.headers
    walker.n_headers = x.n_own
    walker.n_units = x.n_units
    if leave_out_begin(walker, x.gaps):
        status = try_in_rounds(w, x, number, v, symbols)
    else:
        status = no_memory(v)
    leave_out_end(walker)
    return status


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def try_in_rounds(
    w: cython.pointer[Worker],
    x: cython.pointer[cython.const[Context]],
    number: uint32_t,
    v: cython.pointer[UnitValue],
    symbols: FunctionTable,
) -> cython.int:
    """Decodes the logical unit again and again, each time without what was found damaged before, until nothing is.
    Nonzero: fault in `v.fault`.
    """
    walker: cython.pointer[Walker] = cython.address(w.walker)
    rounds: cython.int
    for rounds in range(MOST_ROUNDS):
        walker.abbrev_bytes = 0
        if try_twice(w, x, number, v, symbols):
            if v.fault.code == FAULT_MEMORY:
                return 1
            if not lose(cython.address(walker.aside), cython.address(v.fault), True):
                return no_memory(v)
        if walker.aside.n == 0:
            v.counts[COUNT_LEFT_OUT] = walker.damage.n
            return 0 if losses_take(cython.address(v.losses), cython.address(walker.damage)) else no_memory(v)
        v.fault = walker.aside.p[0].fault
        if leave_out_aside(walker) != 1:
            return 1
    return 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def leave_out(
    w: cython.pointer[Worker],
    x: cython.pointer[cython.const[Context]],
    v: cython.pointer[UnitValue],
    symbols: FunctionTable,
) -> cython.int:
    """Replaces the value of a unit that has a fault by that of an empty unit, and notes the loss. Nonzero: no
    memory.
    """
    fault: Fault = v.fault
    if fault.die == 0:  # it is elsewhere, say in the abbreviations: the unit is named by its header
        fault.section = IN_INFO
        fault.offset = v.offset
    value_reset(v)
    w.classifier.failed = 0
    if walker_reset(cython.address(w.walker)) or finish_unit(w, x, v, symbols):
        return no_memory(v)
    v.counts[COUNT_DAMAGED] = 1
    if not lose(cython.address(v.losses), cython.address(fault), True):
        return no_memory(v)
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
    """Makes the value of a unit whose DIEs are in the walker's tables. Nonzero: fault in `v.fault`, or a name was
    empty.
    """
    v.counts[COUNT_SKIPPED_TAGS] = w.walker.skipped_tags
    v.counts[COUNT_SIGNATURES_LOST] = w.walker.signatures_lost
    if v.filtered:
        return 0
    if resolve_tables(w, x, v) or make_records(w, x, v):
        return 1
    if classify_unit(cython.address(w.classifier), v):
        return 1
    return observe_unit(w, x, v, symbols)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def resolve_tables(
    w: cython.pointer[Worker], x: cython.pointer[cython.const[Context]], v: cython.pointer[UnitValue]
) -> cython.int:
    """References become small ids, and functions take over what their origins say. Nonzero: fault in `v.fault`, or a
    name was empty.
    """
    u: cython.pointer[Unit] = cython.address(w.walker.u)
    options: cython.int = R_LITTLE_ENDIAN if x.little else 0
    stand_in: int64_t = 0  # the small id of what lost references lead to
    if x.options & OPT_TRUE_SIGNATURE:
        options |= R_TRUE_SIGNATURE
    if x.merge and x.n_own < x.n_units:
        v.counts[COUNT_ALTERNATE_LOST] = lost_references(cython.address(w.walker))
    if w.walker.lost != cython.NULL:
        stand_in = replace_references(cython.address(w.walker), cython.address(v.losses))
        if stand_in < 0:
            v.fault = w.walker.fault
            return 1
    if resolve_references(cython.address(w.walker), u, cython.address(v.fault)):
        return 1
    if x.options & OPT_DEGRADE and leave_out_orphans(u, cython.address(v.losses)):
        return no_memory(v)
    if not names_settled(
        w,
        v,
        intern_function_names(
            u, cython.address(w.walker.names), cython.address(w.picked), v.tracing or x.exporting
        ),
    ):
        return 1
    if resolve_unit(
        cython.address(w.walker),
        cython.address(w.sections),
        cython.address(x.machine),
        NO_INDEX if x.exporting else x.table.n,
        options,
        cython.address(w.passed) if x.merge else cython.NULL,
        cython.address(v.fault),
    ):
        return 1
    if x.merge:  # large tables that nobody asks again
        types_free(cython.address(u.type_at))
        pass_all(cython.address(x.sections))
    if stand_in:
        u.types[stand_in].die = 0
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def make_records(
    w: cython.pointer[Worker], x: cython.pointer[cython.const[Context]], v: cython.pointer[UnitValue]
) -> cython.int:
    """Types become BTF records. Nonzero: fault in `v.fault`."""
    u: cython.pointer[Unit] = cython.address(w.walker.u)
    if x.options & OPT_DEGRADE and fit_parts(u, v, x.table.n):
        return 1
    if translate_types(u, v, cython.address(x.known), x.options):
        return 1
    if x.merge:
        shed_translated(u)
    return v.track_dies and note_dies(u, v)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def observe_unit(
    w: cython.pointer[Worker],
    x: cython.pointer[cython.const[Context]],
    v: cython.pointer[UnitValue],
    symbols: FunctionTable,
) -> cython.int:
    """Notes what the unit says of functions and variables, once its types have classes. Nonzero: fault in `v.fault`."""
    u: cython.pointer[Unit] = cython.address(w.walker.u)
    names: cython.pointer[Names] = cython.address(w.walker.names)
    picked: cython.pointer[U32s] = cython.address(w.picked)
    all_names: cython.bint = v.tracing or x.exporting
    if x.exporting:
        return not names_settled(w, v, intern_variable_names(u, names, picked, cython.address(x.variables), all_names))
    if v.tags_cut:
        v.counts[COUNT_TAGS_CUT] += 1
        return 0
    if observe_functions(
        u,
        v,
        cython.address(w.observer),
        cython.address(w.classifier),
        x.strings,
        x.table,
        cython.address(x.machine),
        (x.options & OPT_TRUE_SIGNATURE) != 0,
    ):
        return 1
    if x.options & OPT_VARIABLES == 0:
        return 0
    if not names_settled(w, v, intern_variable_names(u, names, picked, cython.address(x.variables), all_names)):
        return 1
    return collect_variables(u, v, cython.address(x.variables), symbols)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def shed_translated(u: cython.pointer[Unit]) -> cython.void:
    """Merge mode: gives back the tables that nobody asks once types are records."""
    free(u.enumerators)
    free(u.type_params)
    u.enumerators = cython.NULL
    u.type_params = cython.NULL
    u.cap_enumerators = u.cap_type_params = 0


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
    """Prepares a worker. Nonzero: no memory. `worker_free` is due in either case."""
    memset(w, 0, cython.sizeof(Worker))
    w.observer.file = x.file
    w.walker.want_decl_tags = (x.options & OPT_DECL_TAG) != 0
    w.walker.want_type_tags = (x.options & OPT_TYPE_TAG) != 0
    w.walker.want_parameter_names = (x.options & OPT_TRUE_SIGNATURE) != 0
    w.walker.type_units = cython.address(x.type_units)
    w.classifier.classes = x.classes
    w.classifier.seen = x.seen
    w.classifier.sparse = x.keep_all
    w.classifier.unguided = (x.without & WITHOUT_GUESSES) != 0
    w.walker.without = x.without
    w.classifier.plain = (x.options & OPT_DEGRADE) != 0
    w.classifier.names = cython.address(w.walker.names)
    w.sections = x.sections
    if walker_init(cython.address(w.walker), x.strings, cython.address(w.sections)):
        return 1
    if x.without & WITHOUT_LATE_NAMES:
        w.walker.names.limit = w.walker.names.deferred = 0
    return not walker_expect(cython.address(w.walker), x.sections.info.n)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def worker_free(w: cython.pointer[Worker]) -> cython.void:
    walker_free(cython.address(w.walker))
    u8s_free(cython.address(w.unit))
    u32s_free(cython.address(w.picked))
    classifier_free(cython.address(w.classifier))
    u32s_free(cython.address(w.observer.record))
    u8s_free(cython.address(w.observer.name))
    u32s_free(cython.address(w.observer.align))
    reading_free(cython.address(w.reading))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def value_free(v: cython.pointer[UnitValue]) -> cython.void:
    """Frees what the value points to, but not the value."""
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
    v.traces.p = cython.NULL
    v.cap_states = v.cap_vars = v.traces.cap = 0
