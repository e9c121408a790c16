"""The second source of unit values: what `pybtf object` wrote beside each object, in place of the linked DWARF.

A worker reads such a unit as it decodes one from DWARF (worker.py): any of them, in any order, into its own scratch
memory and a value. Nothing after that, including the encoder, knows the difference.

Nearly all objects have one unit, and their values are *awaited*: nobody has looked at them before a worker claims the
unit. It reads what it needs of them from the object (stored_payload.py), or gets them from Python (ring.py), and
compares that with digests, so that files are opened and read by all workers, and no more memory is taken than one unit
needs.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.pybtf.core.elf.function_table import FunctionTable
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.options import OPT_VARIABLES
from cython.cimports.pybtf.core.support.memory import grow
from cython.cimports.pybtf.core.unit_walk import excluded
from cython.cimports.pybtf.core.values.unit_layout import H_WORDS_OF_HEAD
from cython.cimports.pybtf.core.values.unit_read import (
    PayloadUnit,
    Reading,
    begin_unit,
    damaged,
    need,
    payload_language,
    payload_partial,
    payload_size,
)
from cython.cimports.pybtf.core.values.unit_read_symbols import read_functions, read_variables
from cython.cimports.pybtf.core.values.unit_read_types import read_types
from cython.cimports.pybtf.core.worker import Context, Worker, value_reset


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_unit(
    x: cython.pointer[Context], g: cython.pointer[cython.const[PayloadUnit]], cap: cython.pointer[uint32_t]
) -> cython.bint:
    """See `payload_units.pxd`."""
    if not grow(x.payload_units, cap[0], x.n_units + 1):
        return False
    x.payload_units[x.n_units] = g[0]
    x.n_units += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_piece(
    x: cython.pointer[Context],
    whole: cython.pointer[cython.const[PayloadUnit]],
    cap: cython.pointer[uint32_t],
    at: cython.pointer[uint64_t],
) -> cython.int:
    """See `payload_units.pxd`."""
    g: PayloadUnit = whole[0]
    left: uint32_t = whole.n_addresses
    at[0] = 0
    while at[0] < whole.size:
        g.p = whole.p + at[0]
        g.at = at[0]
        g.size = payload_size(g.p, whole.size - at[0], x.sections.swap, cython.address(g.n_addresses))
        if g.size == 0 or g.n_addresses > left:
            return 2
        if not take_unit(x, cython.address(g), cap):
            return 1
        g.addresses += 8 * cython.cast(cython.size_t, g.n_addresses)
        left -= g.n_addresses
        at[0] += g.size
    return 2 if left else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin_value(
    x: cython.pointer[cython.const[Context]], number: uint32_t, v: cython.pointer[UnitValue]
) -> cython.void:
    """See `payload_units.pxd`."""
    value_reset(v)
    v.number = x.first_unit + number
    v.offset = x.payload_units[number].at
    v.tracing = False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_one_unit(
    r: cython.pointer[Reading],
    g: cython.pointer[cython.const[PayloadUnit]],
    v: cython.pointer[UnitValue],
    swap: cython.bint,
) -> cython.bint:
    """Whether values that were awaited are those of one unit with so many addresses. False: fault."""
    n: uint32_t = 0
    size: uint64_t = 0
    if need(r, g.p, g.size if g.size < 4 * H_WORDS_OF_HEAD else 4 * H_WORDS_OF_HEAD):
        size = payload_size(g.p, g.size, swap, cython.address(n))
    if size and size == g.size and n == g.n_addresses:
        return True
    v.offset = size
    damaged(v, 0)
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_unit(
    w: cython.pointer[Worker],
    x: cython.pointer[cython.const[Context]],
    g: cython.pointer[cython.const[PayloadUnit]],
    v: cython.pointer[UnitValue],
    symbols: FunctionTable,
    whole: cython.bint,
) -> cython.int:
    """See `payload_units.pxd`. A unit that is left out by its language is not read."""
    w.classifier.failed = 0
    w.walker.names.bytes = 0
    w.walker.names.budget = 0
    w.observer.align.n = 0
    w.reading.p = g.p
    if g.awaited and not is_one_unit(cython.address(w.reading), g, v, x.sections.swap):
        return 1
    if not payload_partial(g) and excluded(x, payload_language(g, x.sections.swap)):
        v.filtered = True
        return 0
    if begin_unit(cython.address(w.reading), g, v, x.strings, x.sections.swap):
        return 1
    if read_types(cython.address(w.reading), v, cython.address(w.classifier), x.strings, x.known_types, whole):
        return 1
    if v.tags_cut:
        v.counts[COUNT_TAGS_CUT] += 1
        return 0
    if read_functions(
        cython.address(w.reading),
        g,
        v,
        cython.address(w.observer),
        cython.address(w.classifier),
        x.strings,
        x.known_types,
        x.table,
    ):
        return 1
    if x.options & OPT_VARIABLES:
        return read_variables(
            cython.address(w.reading), g, v, x.strings, cython.address(x.variables), symbols
        )
    return 0
