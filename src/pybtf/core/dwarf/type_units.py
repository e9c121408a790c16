"""Type units: which DIE a signature stands for.

`-fdebug-types-section` puts every struct, union and enumeration into a unit of its own, and all units refer to it by a
signature of 64 bits, so that the linker can keep one copy of each. pahole reads such units like any other and
resolves no signature across units: what refers to a type by signature becomes void or refers to a wrong type, or pahole
crashes. Here a file with type units is one logical unit, as in merge mode, and a signature is just another
spelling of an offset: `reference` in walk_state.pxd asks this table, and the rest of the program sees offsets only.

C++ also leaves the shell of a struct in the unit that defines a method of it: a DIE with DW_AT_signature. It becomes an
alias (`Alias` in dwarf_unit.pxd), not a type.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.pybtf.core.dwarf.type_units import TypeUnits
from cython.cimports.pybtf.core.support.check import CHECK
from cython.cimports.pybtf.core.support.hashing import SALT, SALT2, fold

FIRST_SIZE = cython.declare(uint64_t, 64)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def slot_for(t: cython.pointer[cython.const[TypeUnits]], signature: uint64_t) -> uint64_t:
    """Where the signature is, or the free slot where it would be."""
    at: uint64_t = fold(signature ^ SALT, SALT2) & t.mask
    CHECK(t.n <= t.mask, "no slot is free for a type unit")
    while t.dies[at] and t.signatures[at] != signature:
        at = (at + 1) & t.mask
    return at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def grow(t: cython.pointer[TypeUnits]) -> cython.int:
    """Twice the slots. Nonzero: no memory, and nothing has changed."""
    more: TypeUnits
    i: uint64_t
    at: uint64_t
    old: uint64_t = t.mask + 1 if t.dies != cython.NULL else 0
    size: uint64_t = 2 * old if old else FIRST_SIZE
    more.signatures = cython.cast(cython.pointer[uint64_t], calloc(size, cython.sizeof(uint64_t)))
    more.dies = cython.cast(cython.pointer[uint32_t], calloc(size, cython.sizeof(uint32_t)))
    more.mask = size - 1
    more.n = t.n
    if more.signatures == cython.NULL or more.dies == cython.NULL:
        type_units_free(cython.address(more))
        return 1
    for i in range(old):
        if t.dies[i]:
            at = slot_for(cython.address(more), t.signatures[i])
            more.signatures[at] = t.signatures[i]
            more.dies[at] = t.dies[i]
    type_units_free(t)
    t[0] = more
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def type_unit_add(t: cython.pointer[TypeUnits], signature: uint64_t, die: uint64_t) -> cython.int:
    """Enters a type, unless its signature is there already. Nonzero: no memory."""
    at: uint64_t
    if (t.dies == cython.NULL or 2 * cython.cast(uint64_t, t.n) > t.mask) and grow(t):
        return 1
    at = slot_for(t, signature)
    if t.dies[at] == 0:
        t.signatures[at] = signature
        t.dies[at] = cython.cast(uint32_t, die)
        t.n += 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def type_unit_find(t: cython.pointer[cython.const[TypeUnits]], signature: uint64_t) -> uint64_t:
    """The offset of the type in .debug_info, 0 if no type unit has the signature."""
    return t.dies[slot_for(t, signature)] if t.n else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def type_units_free(t: cython.pointer[TypeUnits]) -> cython.void:
    free(t.signatures)
    free(t.dies)
    t.signatures = cython.NULL
    t.dies = cython.NULL
    t.mask = 0
    t.n = 0
