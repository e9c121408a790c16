"""What happens to memory that is freed.

By default much of it goes back to the system: large blocks always, others when enough of them are free at the end. A
process that encodes many files needs as much again a millisecond later, and pays again for each page: for the fault,
for zeroing, for unmapping. For a small module that is a tenth of its time. And since this memory is used for a long
time, the system is asked for huge pages.

A process that encodes one large file needs none of that. But once a large block was given back, the default is to take
those up to its size from the heap, where tables leave holes when they grow.
"""

from cython.cimports.pybtf.core.support.malloc_tuning import keep_memory_, part_memory_


def keep_memory():
    """From now on keep what is given back, for the next. For programs, not for libraries."""
    keep_memory_()


def part_memory():
    """From now on blocks of a megabyte are parted from the heap, whatever was given back before: a table that grows is
    moved and not copied, and leaves no hole. For programs, not for libraries.
    """
    part_memory_()
