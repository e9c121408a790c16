"""The context of a run: what all workers read, made before the first of them starts, and freed after the last."""

import cython
from cython.cimports.libc.stdint import int64_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.pybtf.core.classes.class_table import classes_delete, classes_new
from cython.cimports.pybtf.core.dwarf.abbrevs import abbrevs_enough, abbrevs_have_form
from cython.cimports.pybtf.core.dwarf.type_units import type_units_free
from cython.cimports.pybtf.core.dwarf.walk_state import UnitHeader
from cython.cimports.pybtf.core.elf.function_table import FuncTable, functable_head
from cython.cimports.pybtf.core.model.dwarf_constants import DW_FORM_ref_addr
from cython.cimports.pybtf.core.model.faults import FAULT_SHARED, IN_ABBREV, Fault, fault_set
from cython.cimports.pybtf.core.strings.string_table import (
    NO_STRING,
    string_expect,
    string_intern,
    string_intern_hashed,
    string_reserve,
    strings_delete,
    strings_new,
)
from cython.cimports.pybtf.core.support.met_table import met_delete, met_new
from cython.cimports.pybtf.core.worker import Context

AHEAD = cython.declare(uint32_t, 16)  # by so many names prefetching runs ahead of interning
TYPES_AGAIN = cython.declare(cython.size_t, 512)  # distinct types to expect of each unit that is decoded again


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def bytes_of_units(x: cython.pointer[cython.const[Context]]) -> cython.size_t:
    """What tables are sized by: bytes of .debug_info, and a quarter of those of values. Debian's kernel 6.1 has 163 MB
    of the one or 272 of the other; of its 3.3 million types in values, 34,000 are distinct.
    """
    return x.sections.info.n + x.values_size // 4


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def distinct(x: cython.pointer[cython.const[Context]]) -> cython.size_t:
    """About how many distinct types will be described. In the first few units there is one in forty bytes; in a kernel
    most are repeats. Where everything is kept, only what prototypes refer to is described.
    """
    size: cython.size_t = bytes_of_units(x)
    return size // 1024 if x.keep_all else size // 1024 + min(size // 40, 16384)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def context_seen(x: cython.pointer[Context]) -> cython.bint:
    """See context.pxd."""
    x.seen = met_new(distinct(x))
    return x.seen != cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def intern_functions(x: cython.pointer[Context]) -> cython.bint:
    """Names of functions come first: string id i + 1 is entry i of the table. None occurs twice, so that no text is
    looked at. False: no memory.
    """
    t: cython.pointer[cython.const[FuncTable]] = x.table
    i: uint32_t
    for i in range(t.n):
        if i + AHEAD < t.n:
            string_expect(x.strings, t.hash[i + AHEAD])
        if t.name_len[i] == 0 or functable_head(t, i) != i:
            if string_reserve(x.strings) != i + 1:
                return False
        elif string_intern_hashed(x.strings, t.name[i], t.name_len[i], t.hash[i], False) != i + 1:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def context_tables(x: cython.pointer[Context]) -> cython.bint:
    """See context.pxd."""
    # Strings may also stand in .debug_info, one by one.
    x.strings = strings_new(max(x.sections.str.n // 32, bytes_of_units(x) // 1024) + x.table.n)
    x.classes = classes_new(distinct(x))
    if x.strings == cython.NULL or x.classes == cython.NULL or not context_seen(x):
        return False
    if not intern_functions(x):
        return False
    x.known.int_ = string_intern(x.strings, b"int", 3, False)
    x.known.sanitized = string_intern(x.strings, b"__SANITIZED_FAKE_INT__", 22, False)
    x.known.bpf_kfunc = string_intern(x.strings, b"bpf_kfunc", 9, False)
    x.known.bpf_fastcall = string_intern(x.strings, b"bpf_fastcall", 12, False)
    x.known.arena = string_intern(x.strings, b"address_space(1)", 16, False)
    x.variables.strings = x.strings
    return not (
        x.known.int_ == NO_STRING
        or x.known.sanitized == NO_STRING
        or x.known.bpf_kfunc == NO_STRING
        or x.known.bpf_fastcall == NO_STRING
        or x.known.arena == NO_STRING
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def ready_for_payloads(x: cython.pointer[Context]) -> cython.bint:
    """See context.pxd."""
    if not x.keep_all:
        x.known_types = met_new(distinct(x))
    return x.keep_all or x.known_types != cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def context_forget(x: cython.pointer[Context], types: cython.bint) -> cython.void:
    """See context.pxd."""
    met_delete(x.seen)
    x.seen = cython.NULL
    if types:
        met_delete(x.known_types)
        x.known_types = cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def context_again(x: cython.pointer[Context], units: cython.size_t) -> cython.bint:
    """See context.pxd."""
    x.seen = met_new(min(distinct(x), TYPES_AGAIN * units))
    return x.seen != cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def context_is_one(
    x: cython.pointer[Context], fault: cython.pointer[Fault], unit: cython.pointer[uint32_t]
) -> cython.bint:
    """See context.pxd."""
    i: uint32_t
    h: cython.pointer[UnitHeader]
    read: uint64_t = 0
    for i in range(x.n_units):
        h = cython.address(x.headers[i])
        if i and h.abbrev == x.headers[i - 1].abbrev:
            continue
        if abbrevs_have_form(x.sections.abbrev, h.abbrev, DW_FORM_ref_addr, cython.address(read)):
            return True
        if abbrevs_enough(read, x.sections.abbrev):
            fault_set(fault, FAULT_SHARED, IN_ABBREV, h.abbrev, 0, cython.cast(int64_t, read))
            unit[0] = i
            break
    return x.type_units.n != 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def context_free(x: cython.pointer[Context]) -> cython.void:
    """See context.pxd."""
    free(x.headers)
    free(x.payload_units)
    type_units_free(cython.address(x.type_units))
    free(x.variables.sections)
    strings_delete(x.strings)
    classes_delete(x.classes)
    met_delete(x.seen)
    met_delete(x.known_types)
