"""A search through the DIEs of some units, one after the other as they lie there, for what the encoding passes over.

It answers two questions: where is a function inlined, and which units define a type of some name? No tree is made and
nothing is resolved; a unit is read as fast as its abbreviations allow, and a damaged one ends there without a word.
"""

import cython
from cython.cimports.libc.stdint import uint16_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.pybtf.core.dwarf.attributes import D_DECLARATION, D_NAME, D_ORIGIN
from cython.cimports.pybtf.core.dwarf.die_reader import die_has, die_next, die_number
from cython.cimports.pybtf.core.dwarf.unit_open import unit_open
from cython.cimports.pybtf.core.dwarf.walk_state import (
    Walker,
    leads_to,
    walk_name,
    walker_free,
    walker_init,
    walker_reset,
)
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import is_structure
from cython.cimports.pybtf.core.model.faults import FAULT_MEMORY
from cython.cimports.pybtf.core.strings.string_table import NO_STRING, string_intern
from cython.cimports.pybtf.core.support.memory import U64s, u64s_free, u64s_push
from cython.cimports.pybtf.core.worker import Context


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_origin(origins: cython.pointer[U64s], die: uint64_t) -> cython.bint:
    """Whether a DIE is one of those in a list, which ascends."""
    low: cython.size_t = 0
    high: cython.size_t = origins.n
    middle: cython.size_t
    while low < high:
        middle = low + (high - low) // 2
        if origins.p[middle] < die:
            low = middle + 1
        else:
            high = middle
    return low < origins.n and origins.p[low] == die


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def has_type_name(tag: uint16_t) -> cython.bint:
    return is_structure(tag) or tag == DW_TAG_enumeration_type or tag == DW_TAG_typedef or tag == DW_TAG_base_type


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def search_unit(
    w: cython.pointer[Walker],
    x: cython.pointer[cython.const[Context]],
    number: uint32_t,
    origins: cython.pointer[U64s],
    name: uint32_t,
    found: cython.pointer[U64s],
) -> cython.bint:
    """Appends of each find: the DIE; the outermost function around it, or the tag; and of what it is inlined, or
    whether it is declared only. 0: no memory.
    """
    function: uint64_t = 0
    depth: uint64_t = 1
    within: uint64_t = 0  # the depth of the children of `function`, 0: there is none
    origin: uint64_t
    tag: uint16_t
    if walker_reset(w) or unit_open(w, cython.address(x.headers[number]), True):
        return w.fault.code != FAULT_MEMORY
    while w.r.c.pos != w.r.c.end:
        if die_next(cython.address(w.r), cython.address(w.d)):
            return w.fault.code != FAULT_MEMORY
        tag = w.d.tag
        if tag == 0:
            depth -= depth > 0
            if depth < within:
                function = within = 0
            continue
        depth += w.d.children
        if tag == DW_TAG_subprogram:
            if w.d.children and not within:  # functions that are declared within another one do not count
                function = w.d.offset
                within = depth
        elif tag == DW_TAG_inlined_subroutine and origins.n and die_has(cython.address(w.d), D_ORIGIN):
            origin = leads_to(w, cython.address(w.d.a[D_ORIGIN]))
            if is_origin(origins, origin) and not (
                u64s_push(found, w.d.offset) and u64s_push(found, function) and u64s_push(found, origin)
            ):
                return False
        elif name and has_type_name(tag) and die_has(cython.address(w.d), D_NAME):
            if walk_name(w, D_NAME) == name and not (
                u64s_push(found, w.d.offset)
                and u64s_push(found, tag)
                and u64s_push(found, die_number(cython.address(w.d), D_DECLARATION) & 1)
            ):
                return False
            if w.fault.code:
                return w.fault.code != FAULT_MEMORY
    return True


@cython.final
@cython.cclass
class Search:
    """Searches in the units of a run, which must not be at work meanwhile."""

    @cython.cfunc
    def bind(self, owner, x: cython.pointer[cython.const[Context]]):
        self.owner = owner
        self.x = x

    def units(self):
        """How many units there are, those of the alternate file with them, which are the last."""
        return self.x.n_units

    def merged(self):
        """Whether all units are one, so that they refer to each other."""
        return self.x.merge

    @cython.cfunc
    def over(self, units, origins, name: bytes, most: uint32_t):
        """What `search_unit` finds in these units, three numbers each. `origins` or `name` is empty: not searched for.
        Raises `IndexError` for a unit that does not exist.
        """
        w: cython.pointer[Walker] = cython.cast(cython.pointer[Walker], calloc(1, cython.sizeof(Walker)))
        wanted = cython.declare(U64s)
        found = cython.declare(U64s)
        i: cython.size_t
        sid: uint32_t = 0
        done: cython.bint = True
        wanted.p = found.p = cython.NULL
        wanted.n = found.n = wanted.cap = found.cap = 0
        try:
            if w == cython.NULL or walker_init(w, self.x.strings, cython.address(self.x.sections)):
                raise MemoryError
            w.type_units = cython.address(self.x.type_units)
            for each in sorted(origins):
                if not u64s_push(cython.address(wanted), each):
                    raise MemoryError
            if name:
                sid = string_intern(self.x.strings, name, len(name), True)
                if sid == NO_STRING:
                    raise MemoryError
            for each in units:
                number: uint32_t = each
                if number >= self.x.n_units:
                    raise IndexError("no such unit")
                with cython.nogil:
                    done = search_unit(w, self.x, number, cython.address(wanted), sid, cython.address(found))
                if not done:
                    raise MemoryError
                if found.n // 3 >= most:
                    break
            rows: list = []
            for i in range(0, found.n, 3):
                rows.append((found.p[i], found.p[i + 1], found.p[i + 2]))
            return rows
        finally:
            u64s_free(cython.address(wanted))
            u64s_free(cython.address(found))
            if w != cython.NULL:
                walker_free(w)
            free(w)

    def inlined(self, units, origins, most=1 << 20):
        """Where functions, given by the DIEs of their abstract instances, are inlined in these units, by number: the
        DIE, that of the function around it, and that of the abstract instance. Looks at no more units once there are
        `most`.
        """
        return self.over(units, origins, b"", most)

    def types(self, units, name: str, most=1 << 20):
        """Types of a name that these units have: the DIE, its tag, and whether it is a declaration."""
        return self.over(units, (), name.encode("utf-8", "surrogateescape"), most)
