"""What pahole asks of DIEs that did not become types of the unit: the size of a parameter, whether an enumeration of
more than 4 bytes is signed, whether type tags belong to an unspecified type.

A type that BTF cannot express is void, as are those that refer to it. But the size of a parameter says how many
registers it takes, and so where the next one should be. So the DIE itself is read once more, whatever its tag. Ada has
parameters of a range (DW_TAG_subrange_type), C++ of a template's alias, Fortran and D of types in a DW_TAG_module.
"""

import cython
from cython.cimports.libc.stdint import uint16_t, uint32_t, uint64_t
from cython.cimports.pybtf.core.dwarf.attributes import D_BYTE_SIZE, D_ENCODING, D_ORIGIN, D_TYPE
from cython.cimports.pybtf.core.dwarf.die_reader import Die, Reader, die_has, die_number, die_read
from cython.cimports.pybtf.core.dwarf.read_again import read_again
from cython.cimports.pybtf.core.dwarf.unit_enter import unit_enter, unit_with
from cython.cimports.pybtf.core.dwarf.walk_state import Walker, reference
from cython.cimports.pybtf.core.model.dwarf_constants import (
    DW_ATE_signed,
    DW_ATE_signed_char,
    DW_TAG_pointer_type,
    DW_TAG_unspecified_type,
)
from cython.cimports.pybtf.core.model.dwarf_unit import LONGEST_TYPE_CHAIN, NO_INDEX
from cython.cimports.pybtf.core.model.faults import Fault
from cython.cimports.pybtf.core.support.cursor import cur_init


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_at(w: cython.pointer[Walker], at: uint32_t, fault: cython.pointer[Fault]) -> cython.bint:
    """Reads the DIE at an offset of .debug_info into `w.d`. False: there is none, or too much was read in this way,
    which is a fault.
    """
    r: cython.pointer[Reader] = cython.address(w.r)
    unit: uint32_t
    if not r.unit <= at < r.end:
        unit = unit_with(w, at)
        if unit >= w.n_units or unit_enter(w, cython.address(w.headers[unit])):
            return False
        if read_again(w, w.headers[unit].first_die, fault):
            return False
    cur_init(cython.address(r.c), w.sections.info.p, at, r.end, w.sections.swap)
    return die_read(r, cython.address(w.d)) == 0 and w.d.tag != 0 and read_again(w, at, fault) == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look_at(w: cython.pointer[Walker], at: uint32_t, fault: cython.pointer[Fault]) -> cython.bint:
    """As `read_at`, from within a walk, which goes on as if nothing had been read: damage there is no fault."""
    before: Fault = w.fault
    passing: cython.bint = w.r.passing
    found: cython.bint
    w.r.passing = True
    found = read_at(w, at, fault)
    w.r.passing = passing
    w.fault = before
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_signed_at(w: cython.pointer[Walker], at: uint32_t, fault: cython.pointer[Fault]) -> cython.bint:
    """Whether the DIE at this offset has the encoding of a signed number. Damage is not a fault, too much reading
    is."""
    encoding: uint64_t
    if not look_at(w, at, fault):
        return False
    encoding = die_number(cython.address(w.d), D_ENCODING)
    return encoding == DW_ATE_signed or encoding == DW_ATE_signed_char


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_unspecified_at(w: cython.pointer[Walker], at: uint32_t, fault: cython.pointer[Fault]) -> cython.bint:
    """Whether the DIE at this offset is an unspecified type. Damage is not a fault, too much reading is."""
    return look_at(w, at, fault) and w.d.tag == DW_TAG_unspecified_type


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def value_size(w: cython.pointer[Walker], param: uint32_t, fault: cython.pointer[Fault]) -> uint16_t:
    """Bytes of a value of the parameter whose DIE is at this offset; 0: nothing says. Damage is not a fault, too much
    reading is.
    """
    d: cython.pointer[Die] = cython.address(w.d)
    before: Fault = w.fault
    passing: cython.bint = w.r.passing
    at: uint32_t = param
    met: uint32_t = param
    size: uint16_t = 0
    steps: cython.int = 0
    w.r.passing = True
    while steps < LONGEST_TYPE_CHAIN and read_at(w, at, fault):
        if at != param and d.tag == DW_TAG_pointer_type:
            size = w.u.address_size
            break
        if at != param and die_number(d, D_BYTE_SIZE):
            size = cython.cast(uint16_t, die_number(d, D_BYTE_SIZE))
            break
        at = reference(w, D_ORIGIN if steps == 0 and die_has(d, D_ORIGIN) else D_TYPE)
        # Brent: whoever comes back to where it was at the last power of two steps is in a cycle.
        if at == 0 or at == NO_INDEX or at == met:
            break
        steps += 1
        if steps & (steps - 1) == 0:
            met = at
    w.r.passing = passing
    w.fault = before
    return size
