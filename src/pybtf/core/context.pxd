# What all workers read (see context.py).

from libc.stdint cimport uint32_t
from pybtf.core.model.faults cimport Fault
from pybtf.core.worker cimport Context

# Makes the tables of strings, classes and records, with the names of functions and those the program knows; needs
# `sections` and `table`. 0: no memory.
cdef bint context_tables(Context *x) noexcept nogil

# Makes the table of records alone. 0: no memory.
cdef bint context_seen(Context *x) noexcept nogil

# Gets ready for units from values of objects. False: no memory.
cdef bint ready_for_payloads(Context *x) noexcept nogil

# After the last unit: frees the table of records, and with `types` also that of digests. The latter is kept until then,
# because types that are read once more are compared with it. Strings and classes remain.
cdef void context_forget(Context *x, bint types) noexcept nogil

# After `context_forget`: gets ready for so many units that are read once more. False: no memory.
cdef bint context_again(Context *x, size_t units) noexcept nogil

# Whether all units have to be one: some abbreviation declaration, used or not, has the form DW_FORM_ref_addr, or there
# are type units. Also where tables that are made to be slow are found out (`fault`, in `unit`): no worker reads more of
# them than is read here.
cdef bint context_is_one(Context *x, Fault *fault, uint32_t *unit) noexcept nogil

# Frees what the context points to, but not the context.
cdef void context_free(Context *x) noexcept nogil
