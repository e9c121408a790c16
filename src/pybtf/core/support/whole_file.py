"""Reading megabytes of a file to where they stay.

More than half of the time of a plain read goes into the pages, each of which the system finds and clears when the first
byte gets there. Here they are large ones.
"""

import cython
from cython.cimports.cpython.buffer import PyBuffer_FillInfo
from cython.cimports.cpython.exc import PyErr_CheckSignals, PyErr_SetFromErrno
from cython.cimports.libc.errno import EINTR, errno
from cython.cimports.libc.stdlib import free
from cython.cimports.posix.unistd import pread
from cython.cimports.pybtf.core.support.hugepages import large


@cython.final
@cython.cclass
class WholeFile:
    """`size` bytes of an open file, or as many as it has, from an offset on; a buffer. Raises `OSError`."""

    p: cython.p_char
    n: cython.Py_ssize_t

    def __cinit__(self, fd: cython.int, offset: cython.longlong, size: cython.Py_ssize_t):
        n: cython.Py_ssize_t
        self.p = cython.cast(cython.p_char, large(size))
        if self.p == cython.NULL:
            raise MemoryError
        while self.n < size:
            with cython.nogil:
                n = pread(fd, self.p + self.n, size - self.n, offset + self.n)
            if n == 0:
                break
            if n > 0:
                self.n += n
            elif errno == EINTR:
                PyErr_CheckSignals()
            else:
                PyErr_SetFromErrno(OSError)

    def __dealloc__(self):
        free(self.p)

    def __len__(self):
        return self.n

    def __getbuffer__(self, view: cython.pointer[cython.Py_buffer], flags: cython.int):
        PyBuffer_FillInfo(view, self, self.p, self.n, True, flags)
