# A section read by its name (see read_section.py).

from libc.stdint cimport uint64_t
from pybtf.core.support.memory cimport U8s

# Reads the data of the first section called `name`, `length` bytes before its NUL, of the file at `path` into `data`, in
# place of what is there. False: there is none of up to `most` bytes, or something is not as usual.
cdef bint read_section(const char *path, const char *name, size_t length, uint64_t most, U8s *data) noexcept nogil

# Reads `n` bytes at `start` of the file at `path`, likewise. False: there are not so many, or they cannot be read.
cdef bint read_range(const char *path, uint64_t start, uint64_t n, U8s *data) noexcept nogil
