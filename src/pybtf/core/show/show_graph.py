"""What depends on a type: the types that need it, and those that only it brings in.

A type is *only there for* another if every way to it from a type that nobody refers to leads through that other one,
its dominator. What would be gone with a type is all that it dominates. Dominators are found as Cooper, Harvey and
Kennedy describe it (A Simple, Fast Dominance Algorithm): in reverse postorder, again and again, until nothing changes.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memset, strlen
from cython.cimports.pybtf.core.btf.kinds import KIND_ENUM, KIND_ENUM64, KIND_FUNC_PROTO
from cython.cimports.pybtf.core.btf.record_layout import (
    RefSpan,
    wire_kind,
    wire_names,
    wire_refs,
    wire_words,
)
from cython.cimports.pybtf.core.btf.type_view import View, view_record

EFFORT = cython.declare(uint64_t, 1 << 30)  # steps to dependents and dominators in all: some seconds
OF_TYPE = cython.declare(uint8_t, 1)
OF_MEMBER = cython.declare(uint8_t, 2)
OF_ENUMERATOR = cython.declare(uint8_t, 4)
OF_PARAMETER = cython.declare(uint8_t, 8)


@cython.cclass
class TypeGraph:
    """The own types of a BTF, and the references between them."""

    def __cinit__(self):
        self.starts = self.users = self.scratch = cython.NULL

    def __dealloc__(self):
        free(self.starts)
        free(self.users)
        free(self.scratch)

    def __init__(self, view: View):
        id: uint32_t
        to: uint32_t
        i: uint32_t
        total: cython.size_t = 0
        refs: RefSpan
        self.view = view
        self.first = view.v.first_own
        self.n = view.v.n
        self.effort = EFFORT
        self.starts = cython.cast(cython.pointer[uint32_t], calloc(self.n + 2, cython.sizeof(uint32_t)))
        self.scratch = cython.cast(cython.pointer[uint32_t], calloc(self.n + 2, cython.sizeof(uint32_t)))
        if self.starts == cython.NULL or self.scratch == cython.NULL:
            raise MemoryError
        for id in range(self.first, self.n):
            refs = wire_refs(view_record(cython.address(view.v), id))
            for i in range(refs.count):
                to = refs.p[i * refs.stride]
                if to >= self.first:
                    self.starts[to + 1] += 1
                    total += 1
        for id in range(1, self.n + 1):
            self.starts[id] += self.starts[id - 1]
        self.users = cython.cast(cython.pointer[uint32_t], malloc((total + 1) * cython.sizeof(uint32_t)))
        if self.users == cython.NULL:
            raise MemoryError
        for id in range(self.first, self.n):
            refs = wire_refs(view_record(cython.address(view.v), id))
            for i in range(refs.count):
                to = refs.p[i * refs.stride]
                if to >= self.first:
                    self.users[self.starts[to] + self.scratch[to]] = id
                    self.scratch[to] += 1

    def dependents(self, id: uint32_t) -> object:
        """How many types need this one, directly or through others, without itself. None once EFFORT is used up."""
        count: uint32_t = 1
        at: uint32_t = 0
        i: uint32_t
        user: uint32_t
        seen: cython.pointer[uint8_t]
        if not self.first <= id < self.n:
            raise IndexError(id)
        if self.effort < self.n:
            return None
        self.effort -= self.n
        seen = cython.cast(cython.pointer[uint8_t], calloc(self.n, 1))
        if seen == cython.NULL:
            raise MemoryError
        self.scratch[0] = id
        seen[id] = 1
        while at < count:
            i = self.starts[self.scratch[at] + 1] - self.starts[self.scratch[at]]
            if self.effort < i:
                self.effort = 0
                free(seen)
                return None
            self.effort -= i
            for i in range(self.starts[self.scratch[at]], self.starts[self.scratch[at] + 1]):
                user = self.users[i]
                if not seen[user]:
                    seen[user] = 1
                    self.scratch[count] = user
                    count += 1
            at += 1
        free(seen)
        return count - 1

    @cython.cfunc
    def number(self, order: cython.pointer[uint32_t], rank: cython.pointer[uint32_t]):
        """Fill `order` with the ids in postorder, from 0, and `rank` with the place of each, from 1."""
        id: uint32_t
        top: uint32_t
        to: uint32_t
        turn: cython.int
        done: uint32_t = 0
        depth: uint32_t
        refs: RefSpan
        stack: cython.pointer[uint32_t] = self.scratch
        next: cython.pointer[uint32_t] = cython.cast(
            cython.pointer[uint32_t], calloc(self.n + 1, cython.sizeof(uint32_t))
        )
        if next == cython.NULL:
            raise MemoryError
        # First from those that nobody refers to, then from what is left, which refers to itself in circles.
        for turn in range(2):
            for id in range(self.first, self.n):
                if next[id] or (turn == 0 and self.starts[id] != self.starts[id + 1]):
                    continue
                depth = 1
                stack[0] = id
                next[id] = 1
                while depth:
                    top = stack[depth - 1]
                    refs = wire_refs(view_record(cython.address(self.view.v), top))
                    if next[top] - 1 == refs.count:
                        order[done] = top
                        done += 1
                        rank[top] = done
                        depth -= 1
                        continue
                    to = refs.p[(next[top] - 1) * refs.stride]
                    next[top] += 1
                    if to >= self.first and next[to] == 0:
                        next[to] = 1
                        stack[depth] = to
                        depth += 1
        free(next)

    @cython.cfunc
    @cython.exceptval(check=False)
    def dominators(
        self, order: cython.pointer[cython.const[uint32_t]], count: uint32_t,
        rank: cython.pointer[cython.const[uint32_t]], idom: cython.pointer[uint32_t]
    ) -> cython.bint:  # fmt: skip
        """Fill `idom` with the rank of each type's dominator, by rank; the last rank + 1 is the root of all. False once
        EFFORT is used up.
        """
        root: uint32_t = count + 1
        changed: cython.bint = True
        at: uint32_t
        id: uint32_t
        i: uint32_t
        one: uint32_t
        found: uint32_t
        idom[root] = root
        while changed:
            changed = False
            at = count
            while at:
                if idom[at] == root:
                    at -= 1
                    continue
                id = order[at - 1]
                found = 0
                if self.effort < self.starts[id + 1] - self.starts[id]:
                    return False
                self.effort -= self.starts[id + 1] - self.starts[id]
                for i in range(self.starts[id], self.starts[id + 1]):
                    one = rank[self.users[i]]
                    if idom[one] == 0 or one == at:
                        continue
                    if found == 0:
                        found = one
                        continue
                    while one != found:
                        if self.effort == 0:
                            return False
                        self.effort -= 1
                        if one < found:
                            one = idom[one]
                        else:
                            found = idom[found]
                if found == 0:
                    found = root
                if idom[at] != found:
                    idom[at] = found
                    changed = True
                at -= 1
        return True

    def retained(self) -> object:
        """By own id: the bytes of the records that would be gone without the type, its own included.

        None once EFFORT is used up.
        """
        count: uint32_t = self.n - self.first
        at: uint32_t
        found: list = []
        order: cython.pointer[uint32_t] = cython.cast(cython.pointer[uint32_t], calloc(count + 2, 4))
        rank: cython.pointer[uint32_t] = cython.cast(cython.pointer[uint32_t], calloc(self.n + 2, 4))
        idom: cython.pointer[uint32_t] = cython.cast(cython.pointer[uint32_t], calloc(count + 2, 4))
        sums: cython.pointer[uint32_t] = cython.cast(cython.pointer[uint32_t], calloc(count + 2, 4))
        try:
            if order == cython.NULL or rank == cython.NULL or idom == cython.NULL or sums == cython.NULL:
                raise MemoryError
            self.number(order, rank)
            if not self.dominators(order, count, rank, idom):
                return None
            for at in range(1, count + 1):
                sums[at] += 4 * wire_words(view_record(cython.address(self.view.v), order[at - 1])[1])
                sums[idom[at]] += sums[at]
            for at in range(count):
                found.append(sums[rank[self.first + at]])
            return found
        finally:
            free(order)
            free(rank)
            free(idom)
            free(sums)

    def records(self) -> list:
        """By own id: the bytes of its record."""
        id: uint32_t
        found: list = []
        for id in range(self.first, self.n):
            found.append(4 * wire_words(view_record(cython.address(self.view.v), id)[1]))
        return found

    def strings(self) -> dict:
        """Number and bytes of the own strings by what has them as a name: a sum of the numbers OF_..."""
        base: uint32_t = self.view.v.base_size
        size: uint32_t = cython.cast(uint32_t, self.view.own_size)
        at: uint32_t = 0
        i: uint32_t
        id: uint32_t
        name: uint32_t
        length: uint32_t
        mark: uint8_t
        names: RefSpan
        r: cython.pointer[uint32_t]
        bytes_: cython.size_t[16]
        numbers: cython.size_t[16]
        used: cython.pointer[uint8_t] = cython.cast(cython.pointer[uint8_t], calloc(size + 1, 1))
        if used == cython.NULL:
            raise MemoryError
        memset(bytes_, 0, cython.sizeof(bytes_))
        memset(numbers, 0, cython.sizeof(numbers))
        for id in range(self.first, self.n):
            r = view_record(cython.address(self.view.v), id)
            if r[0] and r[0] >= base:
                used[r[0] - base] |= OF_TYPE
            names = wire_names(r)
            mark = OF_MEMBER
            if wire_kind(r) == KIND_ENUM or wire_kind(r) == KIND_ENUM64:
                mark = OF_ENUMERATOR
            elif wire_kind(r) == KIND_FUNC_PROTO:
                mark = OF_PARAMETER
            for i in range(names.count):
                name = names.p[i * names.stride]
                if name and name >= base:
                    used[name - base] |= mark
        while at < size:
            length = strlen(self.view.v.own_text + at) + 1
            mark = 0
            for i in range(length):
                mark |= used[at + i]
            bytes_[mark & 15] += length
            numbers[mark & 15] += 1
            at += length
        free(used)
        return {mark: (numbers[mark], bytes_[mark]) for mark in range(16) if numbers[mark]}
