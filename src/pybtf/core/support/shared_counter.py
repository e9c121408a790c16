"""Numbers of which each is given once, to whichever process asks first.

Forked processes share them in a word of memory, from whose both ends numbers are taken, by one atomic operation each.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.pybtf.core.support.shared_counter import put, share_word, take, unshare_word


@cython.final
@cython.cclass
class Tickets:
    """The numbers from 0 to `count` - 1, shared with all processes that are forked later."""

    word: cython.pointer[uint64_t]

    def __cinit__(self, count: uint32_t):
        self.word = share_word()
        if self.word == cython.NULL:
            raise MemoryError
        put(self.word, count)

    def __dealloc__(self):
        unshare_word(self.word)

    def first(self):
        """The lowest number that is left, -1 if there is none."""
        return take(self.word, False)

    def last(self):
        """The highest number that is left, -1 if there is none."""
        return take(self.word, True)

    def withdraw(self):
        """None are left from now on."""
        put(self.word, 0)
