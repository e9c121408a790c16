"""The names of all types of a unit, interned in place: where everything is kept, and types need no class (`sparse` in
classify.py).

The names of a module are mostly those of its base, scattered over memory. So they are prefetched for several records
before the first of these is looked at.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.pybtf.core.btf.record_layout import wire_each, wire_kind, wire_vlen
from cython.cimports.pybtf.core.classes.classify import Classifier, make_plain, names_settled
from cython.cimports.pybtf.core.model.encoded_unit import UnitValue
from cython.cimports.pybtf.core.strings.lazy_names import (
    name_expect,
    name_intern_first,
    names_expect_like,
    names_intern_like,
)
from cython.cimports.pybtf.core.support.check import CHECK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def intern_some(
    c: cython.pointer[Classifier], records: cython.pointer[cython.pointer[uint32_t]], n: uint32_t
) -> cython.int:
    """Interns all names of at most sixteen records. The memory they need is asked for together. Nonzero: `c.failed`."""
    i: uint32_t
    step: uint32_t
    r: cython.pointer[uint32_t]
    counts = cython.declare(uint32_t[16])
    models = cython.declare(uint32_t[16])
    for i in range(n):
        name_expect(c.names, records[i][0])
    for i in range(n):
        r = records[i]
        counts[i] = wire_vlen(r) if wire_each(wire_kind(r)) else 0
        if not names_settled(c, name_intern_first(c.names, r, r + 3, counts[i], cython.address(models[i]))):
            return 1
    for i in range(n):
        if models[i]:
            names_expect_like(c.names, records[i] + 3, counts[i], wire_each(wire_kind(records[i])), models[i])
    for i in range(n):
        r = records[i]
        step = wire_each(wire_kind(r))
        if counts[i] and not names_settled(c, names_intern_like(c.names, r + 3, counts[i], step, models[i])):
            return 1
        if c.plain and not make_plain(c, wire_kind(r), r, r + 3, counts[i]):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def intern_names(c: cython.pointer[Classifier], v: cython.pointer[UnitValue]) -> cython.int:
    """Interns all names in the records of a unit, in place. Nonzero: `c.failed`."""
    id: uint32_t
    n: uint32_t = 0
    r: cython.pointer[uint32_t]
    records = cython.declare(cython.pointer[uint32_t][16])
    for id in range(1, v.n_types):
        CHECK(v.offs.p[id] < v.offs.p[id + 1], "the records of a unit are not in order")
        r = v.words.p + v.offs.p[id]
        records[n] = r
        n += (r[0] | wire_vlen(r)) != 0
        if n == 16:
            if intern_some(c, records, n):
                return 1
            n = 0
    return intern_some(c, records, n)
