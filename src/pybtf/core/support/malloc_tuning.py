"""What becomes of memory that is given back.

By default much of it goes back to the system: large blocks always, others when enough of them are free at the end. A
process that encodes many files needs as much again a millisecond later, and pays for each page anew: for the fault, for
zeros, for taking it away. Of a small module that is a tenth of its time. And since what is kept is used for long, the
system is asked to give it in large pages.
"""

from cython.cimports.pybtf.core.support.malloc_tuning import keep_memory_


def keep_memory():
    """From now on keep what is given back, for the next. For programs, not for libraries."""
    keep_memory_()
