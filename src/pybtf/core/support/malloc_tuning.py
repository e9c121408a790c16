"""What happens to memory that is freed.

By default much of it goes back to the system: large blocks always, others when enough of them are free at the end. A
process that encodes many files needs as much again a millisecond later, and pays again for each page: for the fault,
for zeroing, for unmapping. For a small module that is a tenth of its time. And since this memory is used for a long
time, the system is asked for huge pages.
"""

from cython.cimports.pybtf.core.support.malloc_tuning import keep_memory_


def keep_memory():
    """From now on keep what is given back, for the next. For programs, not for libraries."""
    keep_memory_()
