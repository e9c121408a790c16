# DWARF types to BTF records of one unit (see translate.py).

from libc.stdint cimport uint32_t
from pybtf.core.model.dwarf_unit cimport Unit
from pybtf.core.model.encoded_unit cimport UnitValue

cdef struct KnownStrings:       # string ids of texts the encoder itself writes
    uint32_t int_
    uint32_t sanitized
    uint32_t bpf_kfunc
    uint32_t bpf_fastcall
    uint32_t arena

# `options`: OPT_FLOAT and OPT_ENUM64 count.
cdef int translate_types(Unit *u, UnitValue *v, const KnownStrings *known, int options) noexcept nogil
