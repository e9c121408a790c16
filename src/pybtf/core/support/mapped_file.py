"""Files that are mapped by the thousand.

`mmap.mmap` keeps a descriptor open as long as the map, and a process may have a thousand of them. Here the map is all
that is kept.
"""

import os

import cython
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
from cython.cimports.cpython.exc import PyErr_SetFromErrno
from cython.cimports.pybtf.core.support.mapped_file import (
    FileState,
    close_file,
    give_back_around,
    map_file,
    unmap,
    written_since,
)


@cython.final
@cython.cclass
class MappedFile:
    """A regular file that is not empty, mapped for reading; a buffer. Raises `OSError`."""

    p: cython.p_void
    n: cython.size_t
    name: bytes
    state: FileState

    def __cinit__(self, path: str):
        self.name = os.fsencode(path)
        if b"\0" in self.name:
            raise OSError("a null byte in a name")
        self.p = map_file(self.name, cython.address(self.n), cython.address(self.state))
        if self.p == cython.NULL:
            PyErr_SetFromErrno(OSError)

    def __dealloc__(self):
        if self.p != cython.NULL:
            unmap(self.p, self.n)

    def __len__(self):
        return self.n

    def was_written(self):
        """Whether somebody has written to the file since: what was read of it may be of two states. A file that has
        been replaced by another one is still what it was.
        """
        return bool(written_since(self.name, cython.address(self.state)))

    def __getbuffer__(self, view: cython.pointer[cython.Py_buffer], flags: cython.int):
        PyBuffer_FillInfo(view, self, self.p, self.n, True, flags)


@cython.final
@cython.cclass
class OwnDescriptor:
    """Closes the descriptor `number` when nobody holds this. It does so without Python: an interrupt that a `__del__`
    meets is lost, and the program goes on.
    """

    number: cython.int

    def __cinit__(self, number: cython.int):
        self.number = number

    def __dealloc__(self):
        with cython.nogil:  # it takes a while if that removes the file
            close_file(self.number)


def own(values):
    """`values` where nobody else can write to them: a copy of those that are mapped, whose pages are given back."""
    view = cython.declare(cython.Py_buffer)
    file: MappedFile
    start: cython.size_t
    of = values.obj if isinstance(values, memoryview) else values
    if isinstance(of, (bytes, bytearray)):
        return values
    PyObject_GetBuffer(values, cython.address(view), PyBUF_SIMPLE)
    try:
        copy = PyBytes_FromStringAndSize(cython.cast(cython.p_char, view.buf), view.len)
        if isinstance(of, MappedFile):
            file = of
            start = cython.cast(cython.p_char, view.buf) - cython.cast(cython.p_char, file.p)
            give_back_around(cython.cast(cython.p_uchar, file.p), file.n, start, start + view.len)
    finally:
        PyBuffer_Release(cython.address(view))
    return copy
