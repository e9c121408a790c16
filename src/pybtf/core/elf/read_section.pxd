# A section read by its name (see read_section.py).

from libc.stdint cimport uint64_t
from pybtf.core.support.memory cimport U8s

# Reads the data of the first section called `name`, `length` bytes before its NUL, of the file at `path` into `data`, in
# place of what is there. False: there is none of up to `most` bytes, or something is not as usual.
cdef bint read_section(const char *path, const char *name, size_t length, uint64_t most, U8s *data) noexcept nogil

# Opens the file at `path`: a descriptor, and where in it the data of that section are, wholly. -1: something is not as usual.
cdef int open_section(const char *path, const char *name, size_t length, U8s *scratch, uint64_t *start,
                      uint64_t *size) noexcept nogil
