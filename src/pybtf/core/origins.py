"""Where the types of the finished BTF are from, and where the source declares what a DIE describes.

Each type of each unit has become one type of the BTF, by two steps: it was kept, or another of its class was; and the
de-duplication has mapped what was kept. Both are followed here once more, for all units, so that each type of the BTF
gets the DIE of its first definition, and how many there are.

The walk keeps no file and line in its tables, because the encoding has no use for them. So the DIEs that are
asked for are read again, each by itself, with abbreviations that keep these attributes.
"""

import cython
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.pybtf.core.dwarf.attributes import (
    D_DECL_FILE,
    D_DECL_LINE,
    D_LANGUAGE,
    D_LOW_PC,
    D_NAME,
    D_ORIGIN,
    D_SPECIFICATION,
    D_STMT_LIST,
)
from cython.cimports.pybtf.core.dwarf.die_reader import Die, die_has, die_number, die_read
from cython.cimports.pybtf.core.dwarf.forms import A_ADDR
from cython.cimports.pybtf.core.dwarf.read_again import read_again
from cython.cimports.pybtf.core.dwarf.unit_enter import unit_enter
from cython.cimports.pybtf.core.dwarf.walk_state import (
    UnitHeader,
    Walker,
    leads_to,
    unit_ending_after,
    walk_text,
    walker_free,
    walker_init,
)
from cython.cimports.pybtf.core.encode.emit import Layout
from cython.cimports.pybtf.core.encode.encoder import APART, Encoder, KeptUnit
from cython.cimports.pybtf.core.inputs import Inputs
from cython.cimports.pybtf.core.model.encoded_unit import COUNT_VARIABLES
from cython.cimports.pybtf.core.model.faults import FAULT_NONE
from cython.cimports.pybtf.core.model.traces import TRACE_EXCLUDED, Trace
from cython.cimports.pybtf.core.worker import Context

NOWHERE = cython.declare(uint32_t, 0xFFFFFFFF)
LONGEST_NAME = cython.declare(uint64_t, 65536)  # of a unit
MAX_STEPS = cython.declare(cython.int, 16)  # origins and specifications that are followed from one DIE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note(
    found: cython.pointer[uint32_t],
    number: uint32_t,
    die: uint32_t,
    declared: cython.bint,
) -> cython.void:
    """One more DIE of the type with this number, of the own ones from 0. A definition comes before declarations."""
    row: cython.pointer[uint32_t] = found + 3 * cython.cast(cython.size_t, number)
    if row[0] == 0 or (row[1] == 0 and not declared):
        row[0] = die
    row[2 if declared else 1] += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def trace_types(
    e: cython.pointer[cython.const[Encoder]],
    map: cython.pointer[cython.const[uint32_t]],
    number: cython.pointer[cython.const[uint32_t]],
    first: uint32_t,
    own_numbers: cython.bint,
    found: cython.pointer[uint32_t],
    n: uint32_t,
) -> cython.void:
    """Notes all types of all units; `own_numbers`: `number` begins with id `first`. There is room for `n` types."""
    u: uint32_t
    local: uint32_t
    kept: uint32_t
    class_: uint32_t
    id: uint32_t
    s: cython.pointer[cython.const[KeptUnit]]
    dies: cython.pointer[cython.const[uint32_t]]
    for u in range(e.n_kept):
        s = cython.address(e.kept[u])
        if s.n_types == 0 or s.dies + 2 * cython.cast(uint64_t, s.n_types) > e.dies.n:
            continue
        dies = e.dies.p + s.dies
        kept = 0
        for local in range(1, s.n_types):
            if e.keep_all:
                id = s.first_id + local - 1
            else:
                while kept < s.n and e.locals.p[s.first + kept] < local:
                    kept += 1
                if kept < s.n and e.locals.p[s.first + kept] == local:
                    id = s.first_id + kept
                else:
                    class_ = e.class_list.p[s.classes + local]
                    id = 0 if class_ & APART else e.representative.p[class_]
            while id >= first and map[id] != id:
                id = map[id]
            if id < first:
                continue
            id = number[id - first] if own_numbers else number[id]
            if first <= id < first + n:
                note(found, id - first, dies[2 * local], dies[2 * local + 1] != 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unit_of(x: cython.pointer[cython.const[Context]], die: uint64_t) -> uint32_t:
    """The number of the unit that has this DIE, NOWHERE if none has."""
    unit: uint32_t = unit_ending_after(x.headers, x.n_units, die)
    return unit if unit < x.n_units and x.headers[unit].first_die <= die else NOWHERE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter(w: cython.pointer[Walker], x: cython.pointer[cython.const[Context]], unit: uint32_t) -> cython.bint:
    """Reads the root of a unit; 0 if it cannot be read."""
    w.fault.code = FAULT_NONE
    w.r.passing = True
    w.names.bytes = 0
    w.names.budget = LONGEST_NAME
    return unit_enter(w, cython.address(x.headers[unit])) == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_declaration(
    w: cython.pointer[Walker],
    x: cython.pointer[cython.const[Context]],
    die: uint64_t,
    at: cython.pointer[uint32_t],
    row: cython.pointer[uint32_t],
) -> cython.void:
    """The unit of a DIE; number of the file, and line, of its declaration; and the unit whose files are counted. `at`
    is the unit that the walker is in.
    """
    d: cython.pointer[Die] = cython.address(w.d)
    step: cython.int
    unit: uint32_t
    row[0] = row[3] = NOWHERE
    row[1] = row[2] = 0
    for step in range(MAX_STEPS):
        unit = unit_of(x, die)
        if unit == NOWHERE:
            return
        if unit != at[0]:
            at[0] = unit if enter(w, x, unit) else NOWHERE
            if at[0] == NOWHERE:
                return
        if step == 0:
            row[0] = unit
        w.r.c.pos = w.r.c.base + die
        w.r.c.bad = 0
        if die_read(cython.address(w.r), d) or d.tag == 0:
            at[0] = NOWHERE
            return
        if read_again(w, die, cython.address(w.fault)):
            return  # many that lead to few large ones: where these are declared is not said
        if die_has(d, D_DECL_FILE):
            row[1] = cython.cast(uint32_t, min(die_number(d, D_DECL_FILE), NOWHERE))
            row[2] = cython.cast(uint32_t, min(die_number(d, D_DECL_LINE), NOWHERE))
            row[3] = unit
            return
        if die_has(d, D_ORIGIN):
            die = leads_to(w, cython.address(d.a[D_ORIGIN]))
        elif die_has(d, D_SPECIFICATION):
            die = leads_to(w, cython.address(d.a[D_SPECIFICATION]))
        else:
            return


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_code(
    w: cython.pointer[Walker],
    x: cython.pointer[cython.const[Context]],
    die: uint64_t,
    at: cython.pointer[uint32_t],
) -> cython.bint:
    """Whether the DIE of a function has DW_AT_low_pc or DW_AT_ranges; at address 0 is what the linker has discarded.
    `at` as above.
    """
    d: cython.pointer[Die] = cython.address(w.d)
    unit: uint32_t = unit_of(x, die)
    if unit == NOWHERE:
        return False
    if unit != at[0]:
        at[0] = unit if enter(w, x, unit) else NOWHERE
        if at[0] == NOWHERE:
            return False
    w.r.c.pos = w.r.c.base + die
    w.r.c.bad = 0
    if die_read(cython.address(w.r), d) or d.tag == 0:
        at[0] = NOWHERE
        return False
    return die_has(d, D_LOW_PC) and (d.a[D_LOW_PC].cls != A_ADDR or d.a[D_LOW_PC].v != 0)


@cython.final
@cython.cclass
class Origins:
    """Of a run that has noted DIEs, and is no longer at work."""

    @cython.cfunc
    def bind(
        self,
        run: Inputs,
        map: cython.pointer[cython.pointer[uint32_t]],
        layout: cython.pointer[cython.const[Layout]],
    ):
        self.run = run
        self.map = map
        self.layout = layout

    def types(self):
        """Of each own type, in the order of their ids, three words: the DIE of its first definition, or if there is
        none, declaration; how many units' types it stands for that are definitions, and how many are declarations.
        All 0: it is of no DIE.
        """
        run: Inputs = self.run
        n: uint32_t = self.layout.types - 1
        found: cython.pointer[uint32_t]
        found = cython.cast(cython.pointer[uint32_t], calloc(3 * cython.cast(cython.size_t, n) + 1, 4))
        if found == cython.NULL:
            raise MemoryError
        try:
            if self.map[0] != cython.NULL and self.layout.number != cython.NULL:
                with cython.nogil:
                    trace_types(
                        cython.address(run.e),
                        self.map[0],
                        self.layout.number,
                        run.first,
                        run.base is not None,
                        found,
                        n,
                    )
            return PyBytes_FromStringAndSize(
                cython.cast(cython.p_char, found), 12 * cython.cast(cython.Py_ssize_t, n)
            )
        finally:
            free(found)

    def places(self, dies):
        """Of each of these DIEs (32-bit words) four words: number of its unit; number of the file, in the line table of
        the fourth's, and line of its declaration; number of the unit with that line table. A unit is 2**32 - 1 if there
        is none, a line 0. Quickest if they ascend.
        """
        view = cython.declare(cython.Py_buffer)
        x: cython.pointer[cython.const[Context]] = cython.address(self.run.x)
        w: cython.pointer[Walker]
        n: cython.size_t
        i: cython.size_t
        at: uint32_t = NOWHERE
        given: cython.pointer[cython.const[uint32_t]]
        rows: cython.pointer[uint32_t]
        w = walker_of(self.run)
        try:
            PyObject_GetBuffer(dies, cython.address(view), PyBUF_SIMPLE)
            try:
                n = view.len // 4
                given = cython.cast(cython.pointer[cython.const[uint32_t]], view.buf)
                result = PyBytes_FromStringAndSize(cython.NULL, cython.cast(cython.Py_ssize_t, 16 * n))
                rows = cython.cast(cython.pointer[uint32_t], cython.cast(cython.p_char, result))
                with cython.nogil:
                    for i in range(n):
                        find_declaration(w, x, given[i], cython.address(at), rows + 4 * i)
                return result
            finally:
                PyBuffer_Release(cython.address(view))
        finally:
            walker_free(w)
            free(w)

    def compiled(self):
        """A byte for each trace of the run: whether it is of a function whose DIE has code. The encoding itself knows
        no address of those that have only ranges, and notes none of what it leaves out.
        """
        x: cython.pointer[cython.const[Context]] = cython.address(self.run.x)
        e: cython.pointer[cython.const[Encoder]] = cython.address(self.run.e)
        w: cython.pointer[Walker]
        t: cython.pointer[cython.const[Trace]]
        i: uint32_t
        at: uint32_t = NOWHERE
        found: bytearray = bytearray(e.traces.n)
        p: cython.pointer[uint8_t] = found
        w = walker_of(self.run)
        try:
            with cython.nogil:
                for i in range(e.traces.n):
                    t = e.traces.p + i
                    if t.what == TRACE_EXCLUDED or t.what < COUNT_VARIABLES:
                        p[i] = has_code(w, x, t.die, cython.address(at))
            return found
        finally:
            walker_free(w)
            free(w)

    def units(self):
        """Of each unit: where it begins, its name, the offset of its line table, None if it has none, and the number of
        its language; one of the alternate file has its table there.
        """
        x: cython.pointer[cython.const[Context]] = cython.address(self.run.x)
        w: cython.pointer[Walker]
        h: cython.pointer[UnitHeader]
        i: uint32_t
        text: cython.p_const_char
        size: cython.size_t
        transient: cython.bint
        rows: list = []
        w = walker_of(self.run)
        try:
            for i in range(x.n_units):
                h = cython.address(x.headers[i])
                name = ""
                line = None
                language = 0
                if enter(w, x, i) and w.d.tag:
                    if not walk_text(
                        w, D_NAME, cython.address(text), cython.address(size), cython.address(transient)
                    ):
                        name = text[:size].decode("utf-8", "surrogateescape")
                    if die_has(cython.address(w.d), D_STMT_LIST):
                        line = w.d.a[D_STMT_LIST].v
                    if h.split != cython.NULL:
                        line = None if h.split.line == ~cython.cast(uint64_t, 0) else h.split.line
                    language = die_number(cython.address(w.d), D_LANGUAGE)
                rows.append((h.offset, name, line, language))
            return rows
        finally:
            walker_free(w)
            free(w)


@cython.cfunc
@cython.exceptval(check=True)
def walker_of(run: Inputs) -> cython.pointer[Walker]:
    """A walker that reads where things are declared. The caller frees it."""
    w: cython.pointer[Walker] = cython.cast(cython.pointer[Walker], calloc(1, cython.sizeof(Walker)))
    if w == cython.NULL or walker_init(w, run.x.strings, cython.address(run.x.sections)):
        free(w)
        raise MemoryError
    w.type_units = cython.address(run.x.type_units)
    w.table.declarations = True
    w.u.bytes = run.x.sections.info.n  # which all is read for, see `read_again`
    return w
