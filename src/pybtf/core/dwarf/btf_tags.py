"""btf_decl_tag and btf_type_tag in DWARF, in the two forms compilers give them.

clang hangs DW_TAG_LLVM_annotation children under the object. GCC keeps DW_TAG_GNU_annotation DIEs anywhere in the
unit and lets the object name the first of them in an attribute, each annotation naming the next in the same
attribute: a chain. Name and value of both are DW_AT_name and DW_AT_const_value, a string.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.alternate_units import survey_offset
from cython.cimports.pybtf.core.dwarf.attributes import D_ANNOTATION, D_CONST_VALUE
from cython.cimports.pybtf.core.dwarf.die_reader import Die, Reader, die_read
from cython.cimports.pybtf.core.dwarf.left_out import is_left_out
from cython.cimports.pybtf.core.dwarf.read_again import read_again
from cython.cimports.pybtf.core.dwarf.unit_enter import unit_enter, unit_with
from cython.cimports.pybtf.core.dwarf.walk_state import (
    FAILED,
    SKIP,
    Walker,
    add_type,
    has_name,
    no_memory,
    reference,
    walk_name,
)
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import NO_INDEX, T_CHAINED, T_REF_LOCAL, TAG_TYPE_TAG, Type
from cython.cimports.pybtf.core.model.faults import FAULT_CYCLE, FAULT_REFERENCE, FAULT_SHARED, IN_INFO, fault_set
from cython.cimports.pybtf.core.support.cursor import cur_init, cur_tell
from cython.cimports.pybtf.core.support.memory import grow

LONGEST_CHAIN = cython.declare(cython.int, 65535)
# Objects may share a chain. Each then has all its tags: a small unit could ask for any number of them.
CHAINS_PER_BYTE = cython.declare(uint64_t, 4)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def push(w: cython.pointer[Walker], component: cython.int) -> cython.int:
    """Records the declaration tag in `w.d` for the innermost open object. Nonzero: fault."""
    if not grow(w.anns, w.cap_anns, w.n_anns + 1):
        return no_memory(w)
    w.anns[w.n_anns].value = walk_name(w, D_CONST_VALUE)
    w.anns[w.n_anns].component = component
    w.n_anns += 1
    return w.fault.code


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def annotation_child(w: cython.pointer[Walker], component: cython.int) -> cython.int:
    """An annotation DIE met as a child; what the loop does next."""
    if w.want_decl_tags and has_name(w, b"btf_decl_tag", 12) and push(w, component):
        return FAILED
    return SKIP


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step(w: cython.pointer[Walker], at: cython.pointer[uint64_t], steps: cython.int) -> cython.int:
    """Reads the annotation at `at` into `w.d` and moves `at` to the next, 0 at the end.

    1: an annotation was read; 0: something else stands there, the chain ends; -1: fault.
    """
    if at[0] == NO_INDEX:
        return 0
    if at[0] < w.r.unit or at[0] >= w.r.end:
        if w.lost != cython.NULL and is_left_out(w, at[0]):
            return 0
        if enter_unit_with(w, at[0]):
            return -1
    w.annotations += 1
    if w.annotations > CHAINS_PER_BYTE * w.u.bytes:
        fault_set(
            cython.address(w.fault), FAULT_SHARED, IN_INFO, at[0], w.d.offset, cython.cast(int64_t, w.annotations)
        )
        return -1
    if steps > LONGEST_CHAIN:
        fault_set(cython.address(w.fault), FAULT_CYCLE, IN_INFO, at[0], at[0], cython.cast(int64_t, at[0]))
        return -1
    cur_init(cython.address(w.r.c), w.sections.info.p, at[0], w.r.end, w.sections.swap)
    if die_read(cython.address(w.r), cython.address(w.d)) or read_again(w, at[0], cython.address(w.fault)):
        return -1
    if w.d.tag != DW_TAG_GNU_annotation:
        return 0
    at[0] = reference(w, D_ANNOTATION)
    return -1 if w.fault.code else 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def enter_unit_with(w: cython.pointer[Walker], at: uint64_t) -> cython.int:
    """The chain goes on in another unit: in merge mode there may be one that has this offset. Nonzero: fault."""
    unit: uint32_t = unit_with(w, at)
    if unit == w.n_units:
        return fault_set(
            cython.address(w.fault), FAULT_REFERENCE, IN_INFO, w.d.offset, w.d.offset, cython.cast(int64_t, at)
        )
    w.r.table = cython.address(w.chain_table)
    if unit_enter(w, cython.address(w.headers[unit])):
        return 1
    # A chain may go to and fro: the root counts as what is read again and again, with the abbreviations.
    w.abbrev_bytes += cur_tell(cython.address(w.r.c)) - w.headers[unit].first_die
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def annotation_chain(w: cython.pointer[Walker], at: uint64_t, component: cython.int) -> cython.int:
    """The declaration tags of the GNU chain that starts at `at`. Nonzero: fault. If that is in what is a tag by its
    name, the reader stays in the tag's unit, which is to be left out; else this unit may be wrong about where tags are.
    So only in a survey: later, types of that unit may be in the tables already.
    """
    reader: Reader = w.r
    die: Die = w.d
    status: cython.int = 0
    steps: cython.int = 0
    if not w.want_decl_tags:
        return 0
    if w.fault.code:  # of the object itself
        return -1
    while at:
        status = step(w, cython.address(at), steps)
        steps += 1
        if status != 1:
            break
        if has_name(w, b"btf_decl_tag", 12) and push(w, component):
            if w.survey:
                return -1
            status = -1
            break
    w.r = reader
    w.d = die
    return -1 if status < 0 else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def tag_slots(w: cython.pointer[Walker], at: uint64_t, pointer: cython.pointer[Type]) -> cython.int:
    """The type tags of the GNU chain of a pointer: slots that lead from the pointer to its target. Nonzero: fault, as
    in `annotation_chain`.
    """
    reader: Reader = w.r
    die: Die = w.d
    t: Type
    target: uint32_t = pointer.ref
    status: cython.int = 0
    steps: cython.int = 0
    first: uint32_t = w.u.n_types
    if w.fault.code:  # of the pointer itself
        return -1
    while at:
        status = step(w, cython.address(at), steps)
        steps += 1
        if status != 1 or not has_name(w, b"btf_type_tag", 12):
            break
        if w.survey:
            survey_offset(w, w.d.offset)
        memset(cython.address(t), 0, cython.sizeof(Type))
        t.tag = TAG_TYPE_TAG
        t.name = walk_name(w, D_CONST_VALUE)
        t.ref = w.u.n_types + 1
        t.flags = T_REF_LOCAL | T_CHAINED
        if w.survey and w.fault.code:
            return -1
        if add_type(w, cython.address(t)):
            status = -1
            break
    w.r = reader
    w.d = die
    if status < 0:
        return -1
    if w.u.n_types > first:
        w.u.types[w.u.n_types - 1].ref = target
        w.u.types[w.u.n_types - 1].flags = T_CHAINED
        pointer.ref = first
        pointer.flags |= T_REF_LOCAL
    return 0
