from libc.stdint cimport uint32_t
from pybtf.core.dump.text_buffer cimport Text
from pybtf.core.show.show_types cimport Level, MemberLayout, Show

cdef void put_tabs(Text *t, uint32_t level) noexcept nogil
cdef void pad_line(Text *t, size_t start, int column) noexcept nogil
cdef void put_offset(Show *s, Level *frame, MemberLayout *p) noexcept nogil
cdef void put_cacheline(Show *s, Level *frame, MemberLayout *p, bint *blank) noexcept nogil
cdef void put_gap(Show *s, Level *frame, MemberLayout *p, bint *blank) noexcept nogil
cdef void put_combined(Show *s, Level *frame, MemberLayout *p) noexcept nogil
