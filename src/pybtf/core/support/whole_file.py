"""Reading a file of megabytes to where it stays.

Half of the time of a plain read is the pages: each is asked for when the first byte gets to it. Here all are there.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython.cimports.cpython.exc import PyErr_CheckSignals, PyErr_SetFromErrno
from cython.cimports.libc.errno import EINTR, errno
from cython.cimports.posix.unistd import read
from cython.cimports.pybtf.core.support.hugepages import touch_large


def read_up_to(fd: cython.int, size: cython.Py_ssize_t) -> bytes:
    """What a file has from its position on, `size` bytes at most. Raises `OSError`."""
    data: bytes = PyBytes_FromStringAndSize(cython.NULL, size)
    to: cython.p_char = PyBytes_AS_STRING(data)
    done: cython.Py_ssize_t = 0
    n: cython.Py_ssize_t
    touch_large(to, size)
    while done < size:
        with cython.nogil:
            n = read(fd, to + done, size - done)
        if n == 0:
            return data[:done]
        if n > 0:
            done += n
        elif errno == EINTR:
            PyErr_CheckSignals()
        else:
            PyErr_SetFromErrno(OSError)
    return data
