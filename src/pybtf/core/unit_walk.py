"""The DIEs of one logical unit, read into the walker's tables: one DWARF unit, or in merge mode all of them.

Begin with `walk_all`. Usually it decodes one unit (`walk_one`): opens it, refuses skeletons and unknown root tags,
leaves out what the options exclude by language, and reads the children of the root DIE (dwarf/walk.py). Of an excluded
unit only names are noted, and only if somebody asks for them (`trace_excluded`).

In merge mode, all units of the file go into one set of tables, in this order:

1. with an alternate file, a survey of which of its units are needed, then these (`walk_alternates`);
2. the main unit, whose root DIE gives the facts of the logical unit, such as its language (`walk_main`);
3. the others, in file order (`walk_own`).

Where an encoding degrades, a damaged unit is left out, and nothing of it stays (`walk_part`, dwarf/left_out.py).
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.alternate_units import is_needed, keep_tags, may_have_tags, survey_alternates
from cython.cimports.pybtf.core.dwarf.attributes import D_DWO_NAME, D_LANGUAGE, D_NAME
from cython.cimports.pybtf.core.dwarf.die_index import map_put, map_reset
from cython.cimports.pybtf.core.dwarf.die_reader import die_has, die_number
from cython.cimports.pybtf.core.dwarf.left_out import Tables, leave_out_for_fault, tables_back, tables_mark
from cython.cimports.pybtf.core.dwarf.passed import Passed, pass_info
from cython.cimports.pybtf.core.dwarf.unit_open import unit_open
from cython.cimports.pybtf.core.dwarf.walk import walk_children
from cython.cimports.pybtf.core.dwarf.walk_state import (
    SURVEY_ALL,
    SURVEY_NONE,
    SURVEY_TAGS,
    Walker,
    walk_name,
    walker_reset,
)
from cython.cimports.pybtf.core.functions.resolve import function_at
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import (
    F_DECLARATION,
    NAMES_FREE,
    NAMES_PER_BYTE,
    NO_INDEX,
    V_DECLARATION,
    V_TOP_LEVEL,
    Function,
    Unit,
    Variable,
)
from cython.cimports.pybtf.core.model.encoded_unit import COUNT_PARTIAL, UnitValue
from cython.cimports.pybtf.core.model.faults import *
from cython.cimports.pybtf.core.model.traces import TRACE_EXCLUDED, TRACE_EXCLUDED_VAR, trace_push
from cython.cimports.pybtf.core.strings.lazy_names import name_intern
from cython.cimports.pybtf.core.strings.string_table import NO_STRING
from cython.cimports.pybtf.core.unit_walk import *

MAX_STEPS = cython.declare(cython.int, 16)  # origins and specifications that are followed for a name


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def main_unit(w: cython.pointer[cython.const[Walker]], start: uint32_t) -> uint32_t:
    """The number of the main unit, whose facts are those of the logical unit in merge mode: the first one from `start`
    on that is neither left out nor a type unit, for these say little of themselves. `n_headers`: there is none.
    """
    i: uint32_t
    for i in range(start, w.n_headers):
        if w.headers[i].type_die == 0 and (w.lost == cython.NULL or not w.lost[i]):
            return i
    return w.n_headers


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def excluded(x: cython.pointer[cython.const[Context]], language: uint32_t) -> cython.bint:
    """Whether units in this language are left out."""
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

    `first`: the unit is the first one, or the only one, of its logical unit.
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
    """Notes the functions and variables of a unit that is excluded by its language. Nothing else of it is used; if it
    is damaged, nothing is noted. Nonzero: no memory.
    """
    i: uint32_t
    step: cython.int
    function: cython.pointer[Function]
    variable: cython.pointer[Variable]
    declared: cython.pointer[Function]
    name: uint32_t
    u: cython.pointer[Unit] = cython.address(w.walker.u)
    failed: cython.bint = False
    w.walker.names.deferred = 0
    failed = walk_children(cython.address(w.walker)) != 0
    w.walker.names.deferred = w.walker.names.limit
    if failed:
        w.walker.fault.code = FAULT_NONE
        return 0
    failed = map_reset(cython.address(u.function_at), u.n_functions)
    if failed:
        return fault_set(cython.address(w.walker.fault), FAULT_MEMORY, IN_INFO, v.offset, 0, 0)
    for i in range(u.n_functions):
        map_put(cython.address(u.function_at), u.functions[i].die, i)
    for i in range(u.n_functions):
        function = u.functions + i
        name = function.name
        declared = function
        # A method, say, is declared in its struct; and code beside what is inlined stands for an abstract instance.
        for step in range(MAX_STEPS):
            if name or declared == cython.NULL:
                break
            declared = function_at(u, declared.origin if declared.origin else declared.spec)
            name = 0 if declared == cython.NULL else declared.name
        if name and not function.flags & F_DECLARATION:
            name = name_intern(cython.address(w.walker.names), name)  # a short one in the DIE is not a string id yet
            failed |= name == NO_STRING
            failed |= trace_push(cython.address(v.traces), function.die, name, TRACE_EXCLUDED) == cython.NULL
    for i in range(u.n_variables):
        variable = u.variables + i
        if variable.name and variable.flags & V_TOP_LEVEL and not variable.flags & V_DECLARATION:
            name = name_intern(cython.address(w.walker.names), variable.name)
            failed |= name == NO_STRING
            failed |= trace_push(cython.address(v.traces), variable.die, name, TRACE_EXCLUDED_VAR) == cython.NULL
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
def walk_part(
    w: cython.pointer[Worker],
    x: cython.pointer[cython.const[Context]],
    number: uint32_t,
    first: cython.bint,
    v: cython.pointer[UnitValue],
) -> cython.int:
    """Merge mode: as `walk_one`, but a unit with a fault is left out if units may be, and nothing of it stays."""
    before: Tables
    walker: cython.pointer[Walker] = cython.address(w.walker)
    bytes: uint64_t = walker.u.bytes
    if walker.lost == cython.NULL:
        return walk_one(w, x, number, first, v)
    tables_mark(walker, cython.address(before))
    walker.u.bytes = 0
    while not walker.lost[number]:
        walker.names.bytes = walker.annotations = walker.again = 0
        if walk_one(w, x, number, first, v) == 0:
            break
        if not leave_out_for_fault(walker, number):
            return 1
        tables_back(walker, cython.address(before))
    walker.u.bytes += bytes
    walker.names.bytes = 0
    walker.names.budget = NAMES_FREE + NAMES_PER_BYTE * walker.u.bytes
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_main(
    w: cython.pointer[Worker], x: cython.pointer[cython.const[Context]], v: cython.pointer[UnitValue]
) -> uint32_t:
    """Merge mode: the children of the unit whose facts count. Returns its number, NO_INDEX with a fault; `n_own`: there
    is none, as all are left out.
    """
    walker: cython.pointer[Walker] = cython.address(w.walker)
    i: uint32_t = main_unit(walker, 0)
    while i < x.n_own:
        if walk_part(w, x, i, True, v):
            return NO_INDEX
        if walker.lost == cython.NULL or not walker.lost[i]:
            return i
        i = main_unit(walker, i)
    for i in range(x.n_own):  # there are only type units
        if walk_part(w, x, i, True, v):
            return NO_INDEX
        if walker.lost == cython.NULL or not walker.lost[i]:
            return i
    return x.n_own


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_own(
    w: cython.pointer[Worker], x: cython.pointer[cython.const[Context]], v: cython.pointer[UnitValue]
) -> cython.int:
    """Merge mode: the children of all units except those of the alternate file. Nonzero: fault in the walker."""
    i: uint32_t
    main: uint32_t
    free(w.walker.imported)
    w.walker.imported = cython.cast(cython.pointer[uint8_t], calloc(x.n_own + 1, 1))
    w.walker.n_order = 0
    if w.walker.imported == cython.NULL:
        return fault_set(cython.address(w.walker.fault), FAULT_MEMORY, IN_INFO, 0, 0, 0)
    main = walk_main(w, x, v)
    if main == NO_INDEX:
        return 1
    memset(cython.address(w.passed), 0, cython.sizeof(Passed))
    for i in range(x.n_own):
        v.filtered = False
        if i != main and walk_part(w, x, i, False, v):
            return 1
        pass_info(cython.address(x.sections), cython.address(w.passed), x.headers[i].end)
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
    tags: cython.bint
    if survey_alternates(cython.address(w.walker)):
        return 1
    tags = may_have_tags(cython.address(w.walker))
    w.walker.survey = SURVEY_ALL
    failed = walk_own(w, x, v)
    w.walker.survey = SURVEY_NONE
    for i in range(x.n_own, x.n_units if tags else x.n_own):
        failed = failed or walk_for_tags(w, x, i, v)
    if failed or walker_reset(cython.address(w.walker)):
        return 1
    # What is true of the logical unit comes from the first unit of the file itself (Q24).
    i = main_unit(cython.address(w.walker), 0)
    if i < x.n_own or w.walker.lost == cython.NULL:
        if unit_open(cython.address(w.walker), cython.address(x.headers[i if i < x.n_own else 0]), True):
            return 1
    for i in range(x.n_own, x.n_units):
        if is_needed(cython.address(w.walker), i):
            if walk_part(w, x, i, False, v):
                return 1
        elif tags and walk_for_tags(w, x, i, v):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_for_tags(
    w: cython.pointer[Worker], x: cython.pointer[cython.const[Context]], number: uint32_t, v: cython.pointer[UnitValue]
) -> cython.int:
    """As `walk_part`, of a unit of the alternate file of which only the type tags of pointers stay. Nonzero: fault."""
    before: Tables
    walker: cython.pointer[Walker] = cython.address(w.walker)
    failed: cython.int
    end: uint32_t
    bytes: uint64_t
    walker.survey = SURVEY_TAGS
    tables_mark(walker, cython.address(before))
    failed = walk_part(w, x, number, False, v)
    walker.survey = SURVEY_NONE
    if failed:
        return 1
    end = walker.u.n_types
    bytes = walker.u.bytes
    tables_back(walker, cython.address(before))
    walker.u.bytes = bytes  # what it has read still counts
    keep_tags(walker, before.types, end)
    return 0
