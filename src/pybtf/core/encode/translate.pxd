# DWARF types to BTF records of one unit (see translate.py).

from libc.stdint cimport uint32_t
from pybtf.core.model.dwarf_unit cimport Unit
from pybtf.core.model.encoded_unit cimport UnitValue

cdef enum:                      # options of translate_types
    T_FLOAT = 1
    T_ENUM64 = 2

cdef struct KnownStrings:       # string ids of texts the encoder itself writes
    uint32_t int_
    uint32_t sanitized
    uint32_t bpf_kfunc
    uint32_t bpf_fastcall
    uint32_t arena

cdef int translate_types(Unit *u, UnitValue *v, const KnownStrings *known, int options) noexcept nogil
