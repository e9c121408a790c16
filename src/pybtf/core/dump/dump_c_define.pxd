from libc.stdint cimport uint32_t
from pybtf.core.dump.dump_c cimport CDump

cdef uint32_t nth_use(CDump *d, uint32_t id) noexcept nogil     # of the name of a type, in the order of writing
cdef void put_used(CDump *d, const char *name, uint32_t use) noexcept nogil
cdef void put_type_name(CDump *d, uint32_t id) noexcept nogil
cdef void put_tag(CDump *d, uint32_t id) noexcept nogil         # `struct NAME`, or what it is
cdef void put_enum(CDump *d, uint32_t id, uint32_t level) noexcept nogil
cdef void put_composite(CDump *d, uint32_t id, uint32_t level) noexcept nogil
