# Functions, and what they consist of, read at a glance (see function_fast_path.py).

from libc.stdint cimport uint32_t, uint64_t
from pybtf.core.dwarf.abbrevs cimport AbbrevDecl
from pybtf.core.dwarf.walk_state cimport Frame, Walker

cdef bint put_in_function(Walker *w, Frame *f, const AbbrevDecl *decl, uint64_t die, uint32_t name, uint32_t ref,
                          uint64_t value) noexcept nogil
