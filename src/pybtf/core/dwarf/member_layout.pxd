# Final offsets of struct members, and their order in Rust (see member_layout.py).

from libc.stdint cimport uint32_t

from pybtf.core.model.dwarf_unit cimport Member, Unit

cdef void lay_out_members(Unit *u, bint little) noexcept nogil
cdef void sort_members(Member *run, Member *scratch, uint32_t count) noexcept nogil
