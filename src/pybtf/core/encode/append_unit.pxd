# Units into the encoder (see append_unit.py).

from libc.stdint cimport uint32_t
from pybtf.core.encode.encoder cimport Encoder
from pybtf.core.model.encoded_unit cimport UnitValue
from pybtf.core.strings.string_table cimport IN_BASE, string_in_base

cdef int keep_unit(Encoder *e, UnitValue *v) noexcept nogil
cdef int keep_again(Encoder *e, UnitValue *v) noexcept nogil
cdef void insert_names(Encoder *e, const uint32_t *r) noexcept nogil
cdef uint32_t new_string(Encoder *e, uint32_t sid) noexcept nogil

cdef inline uint32_t encoder_string(Encoder *e, uint32_t sid) noexcept nogil:
    # The offset of a string in the output, inserting it if it is not there yet.
    if sid == 0:
        return 0
    if string_in_base(sid):
        return sid - IN_BASE
    if sid < e.string_at.n and e.string_at.p[sid]:
        return e.string_at.p[sid]
    return new_string(e, sid)
