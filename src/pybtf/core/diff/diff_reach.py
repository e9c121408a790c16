"""How far a change of a type reaches: what has the type in it, and which functions take or return it."""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_FUNC,
    KIND_FUNC_PROTO,
    KIND_PTR,
    KIND_TYPE_TAG,
    KIND_TYPEDEF,
    KIND_VAR,
)
from cython.cimports.pybtf.core.btf.record_layout import wire_kind
from cython.cimports.pybtf.core.btf.type_view import View, is_composite, is_modifier, view_record
from cython.cimports.pybtf.core.diff.diff_reach import BY_POINTER, BY_VALUE, TAKEN
from cython.cimports.pybtf.core.show.show_graph import TypeGraph

FREE_EFFORT = cython.declare(uint64_t, 1 << 26)
EFFORT_PER_TYPE = cython.declare(uint64_t, 1 << 9)
PER_NAME = cython.declare(uint64_t, 16)  # what one in a list takes


@cython.cclass
class Reach:
    """The own types of a BTF, from the side of those that others are made of.

    All searches together have a budget of steps, far above what real BTF takes. When it is spent, answers are None.
    """

    def __cinit__(self):
        self.marks = cython.NULL
        self.queue = cython.NULL

    def __dealloc__(self):
        free(self.marks)
        free(self.queue)

    def __init__(self, view: View):
        self.view = view
        self.graph = TypeGraph(view)
        self.effort = FREE_EFFORT + EFFORT_PER_TYPE * view.v.n
        self.marks = cython.cast(cython.pointer[uint8_t], calloc(view.v.n, 1))
        self.queue = cython.cast(cython.pointer[uint32_t], calloc(3 * cython.cast(cython.size_t, view.v.n), 4))
        if self.marks == cython.NULL or self.queue == cython.NULL:
            raise MemoryError

    @cython.cfunc
    @cython.exceptval(check=False)
    def put(self, id: uint32_t, mark: uint8_t) -> cython.bint:
        """Mark a type and queue it, once for each mark."""
        if self.marks[id] & mark:
            return False
        self.marks[id] |= mark
        self.queue[self.n] = id
        self.n += 1
        return True

    @cython.cfunc
    @cython.exceptval(check=False)
    def search(self, id: uint32_t) -> cython.bint:
        """Queue all that a type reaches. 0: the budget is spent."""
        at: cython.size_t = 0
        i: uint32_t
        user: uint32_t
        kind: uint32_t
        one: uint32_t
        r: cython.pointer[uint32_t]
        value: cython.bint
        pointer: cython.bint
        self.put(id, BY_VALUE)
        while at < self.n:
            one = self.queue[at]
            at += 1
            if self.marks[one] & TAKEN and wire_kind(view_record(cython.address(self.view.v), one)) == KIND_FUNC:
                continue
            value = self.marks[one] & BY_VALUE
            pointer = self.marks[one] & BY_POINTER
            for i in range(self.graph.starts[one], self.graph.starts[one + 1]):
                if self.effort == 0:
                    return False
                self.effort -= 1
                user = self.graph.users[i]
                r = view_record(cython.address(self.view.v), user)
                kind = wire_kind(r)
                if kind == KIND_ARRAY and r[3] != one:
                    continue
                if self.marks[one] & TAKEN:
                    if kind == KIND_FUNC:
                        self.put(user, TAKEN)
                elif kind == KIND_FUNC_PROTO:
                    self.put(user, TAKEN)
                elif kind == KIND_PTR:
                    self.put(user, BY_POINTER)
                elif is_composite(kind) or kind == KIND_VAR:
                    if value:
                        self.put(user, BY_VALUE)
                elif kind == KIND_ARRAY or kind == KIND_TYPEDEF or kind == KIND_TYPE_TAG or is_modifier(kind):
                    if value:
                        self.put(user, BY_VALUE)
                    if pointer:
                        self.put(user, BY_POINTER)
        return True

    @cython.cfunc
    def clear(self):
        at: cython.size_t
        for at in range(self.n):
            self.marks[self.queue[at]] = 0
        self.n = 0

    def of(self, id: uint32_t) -> tuple:
        """The ids of structs and unions, of variables and of functions that a type reaches, or None.

        The first two have it in them, at any depth; those without a name are gone through and not listed. Functions
        have it, or a pointer to it, or one of those that have it in them, as a parameter or as what they return.
        """
        at: cython.size_t
        one: uint32_t
        kind: uint32_t
        types: list = []
        variables: list = []
        functions: list = []
        r: cython.pointer[uint32_t]
        if not 0 < id < self.view.v.n:
            raise IndexError(id)
        if not self.search(id) or PER_NAME * self.n > self.effort:
            self.clear()
            return None
        self.effort -= PER_NAME * self.n
        for at in range(self.n):
            one = self.queue[at]
            r = view_record(cython.address(self.view.v), one)
            kind = wire_kind(r)
            if one == id:
                continue
            if kind == KIND_FUNC:
                functions.append(one)
            elif kind == KIND_VAR:
                variables.append(one)
            elif is_composite(kind) and r[0]:
                types.append(one)
        self.clear()
        return types, variables, functions

    def sums(self, id: uint32_t) -> tuple:
        """How many of each `of` would give, or None."""
        at: cython.size_t
        one: uint32_t
        kind: uint32_t
        types: uint32_t = 0
        variables: uint32_t = 0
        functions: uint32_t = 0
        r: cython.pointer[uint32_t]
        if not 0 < id < self.view.v.n:
            raise IndexError(id)
        if not self.search(id):
            self.clear()
            return None
        for at in range(self.n):
            one = self.queue[at]
            r = view_record(cython.address(self.view.v), one)
            kind = wire_kind(r)
            if one == id:
                continue
            if kind == KIND_FUNC:
                functions += 1
            elif kind == KIND_VAR:
                variables += 1
            elif is_composite(kind) and r[0]:
                types += 1
        self.clear()
        return types, variables, functions
