"""Chains of modifiers, the one thing about references that kernels look at whoever loads the BTF, since 5.19.

A chain may have at most 32 modifiers, counted from each modifier on. The count ends at a modifier of smaller id, which
has been the start of a count of its own. Until 7.1, type tags stand at the front of a chain: no other modifier may lead
to one.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.pybtf.core.accept.accept import (
    KIND_TYPE_TAG,
    MAX_CHAIN,
    NO_KIND,
    R_CHAIN,
    R_CHAIN_MISSING,
    R_TAG_ORDER,
    Layer,
    add,
    kind_of,
    modifies,
    record_of,
)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_chain(y: cython.pointer[Layer], id: uint32_t, kind: uint32_t) -> cython.void:
    """The chain that begins with one modifier, of this kind. Notes one finding at most, about this modifier: what is
    wrong further on is one of those there.
    """
    of: uint32_t = id
    left: uint32_t = MAX_CHAIN
    leading: cython.bint = kind == KIND_TYPE_TAG
    while modifies(kind):
        if left == 0:
            add(y, R_CHAIN, id, 0, of)
            return
        left -= 1
        if kind != KIND_TYPE_TAG:
            leading = False
        elif not leading and y.version < 702:
            add(y, R_TAG_ORDER, id, 0, of)
            return
        if of < id:
            return
        of = record_of(y, of)[2]
        kind = kind_of(y, of)
        if kind == NO_KIND:
            add(y, R_CHAIN_MISSING, id, 0, of)
            return


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def check_chains(y: cython.pointer[Layer]) -> cython.void:
    id: uint32_t
    kind: uint32_t
    if y.version < 519:
        return
    for id in range(y.first, y.end):
        kind = kind_of(y, id)
        if modifies(kind):
            check_chain(y, id, kind)
