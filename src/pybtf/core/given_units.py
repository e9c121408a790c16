"""The second source of unit values: what `pybtf object` wrote beside each object, in place of the linked DWARF.

A worker reads such a unit as it decodes one from DWARF (worker.py): any of them, in any order, into its own scratch
memory and a value. All that follows, the encoder included, does not know the difference.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.pybtf.core.elf.function_table import FunctionTable
from cython.cimports.pybtf.core.model.encoded_unit import *
from cython.cimports.pybtf.core.model.options import OPT_VARIABLES
from cython.cimports.pybtf.core.support.mapped_file import give_back_around
from cython.cimports.pybtf.core.support.memory import grow
from cython.cimports.pybtf.core.unit_walk import excluded
from cython.cimports.pybtf.core.values.unit_read import (
    GivenUnit,
    begin_unit,
    given_language,
    given_partial,
    given_size,
)
from cython.cimports.pybtf.core.values.unit_read_symbols import read_functions, read_variables
from cython.cimports.pybtf.core.values.unit_read_types import read_types
from cython.cimports.pybtf.core.worker import Context, Worker, value_reset


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_piece(
    x: cython.pointer[Context],
    piece: uint32_t,
    p: cython.pointer[cython.const[uint8_t]],
    size: uint64_t,
    map: cython.pointer[cython.const[uint8_t]],
    map_size: uint64_t,
    addresses: cython.pointer[cython.const[uint8_t]],
    n_addresses: uint64_t,
    cap: cython.pointer[uint32_t],
    at: cython.pointer[uint64_t],
) -> cython.int:
    """See `given_units.pxd`."""
    g: cython.pointer[GivenUnit]
    taken: uint64_t
    n: uint32_t = 0
    at[0] = 0
    while at[0] < size:
        taken = given_size(p + at[0], size - at[0], x.sections.swap, cython.address(n))
        if taken == 0 or n > n_addresses:
            return 2
        if not grow(x.given, cap[0], x.n_units + 1):
            return 1
        g = cython.address(x.given[x.n_units])
        x.n_units += 1
        g.p = p + at[0]
        g.size = taken
        g.addresses = addresses
        g.n_addresses = n
        g.piece = piece
        g.at = at[0]
        g.map = map
        g.map_size = map_size
        addresses += 8 * cython.cast(cython.size_t, n)
        n_addresses -= n
        at[0] += taken
    return 2 if n_addresses else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_given(
    w: cython.pointer[Worker],
    x: cython.pointer[cython.const[Context]],
    number: uint32_t,
    v: cython.pointer[UnitValue],
    symbols: FunctionTable,
    whole: cython.bint,
) -> cython.int:
    """`read_unit`, without giving anything back."""
    g: cython.pointer[GivenUnit] = cython.address(x.given[number])
    value_reset(v)
    v.number = x.first_unit + number
    v.offset = g.at
    v.tracing = False
    w.classifier.failed = 0
    w.walker.names.bytes = 0
    w.walker.names.budget = 0
    w.observer.align.n = 0
    if not given_partial(g) and excluded(x, given_language(g, x.sections.swap)):
        v.filtered = True
        return 0
    if begin_unit(cython.address(w.reading), g, v, x.strings, x.sections.swap):
        return 1
    if read_types(cython.address(w.reading), v, cython.address(w.classifier), x.strings, x.types, whole):
        return 1
    if v.tags_cut:
        v.counts[COUNT_TAGS_CUT] += 1
        return 0
    if read_functions(
        cython.address(w.reading), g, v, cython.address(w.observer), cython.address(w.classifier), x.strings, x.table
    ):
        return 1
    if x.options & OPT_VARIABLES:
        return read_variables(
            cython.address(w.reading), g, v, x.strings, cython.address(x.variables), symbols
        )
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def read_unit(
    w: cython.pointer[Worker],
    x: cython.pointer[cython.const[Context]],
    number: uint32_t,
    v: cython.pointer[UnitValue],
    symbols: FunctionTable,
    whole: cython.bint,
) -> cython.int:
    """See `given_units.pxd`. A unit that is left out by its language is not read."""
    g: cython.pointer[GivenUnit] = cython.address(x.given[number])
    failed: cython.int = read_given(w, x, number, v, symbols, whole)
    if g.map != cython.NULL:
        give_back_around(g.map, g.map_size, g.p - g.map, g.p - g.map + g.size)
    return failed
