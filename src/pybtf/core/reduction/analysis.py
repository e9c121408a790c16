"""What the passes of the reduction share: references of class records, and walks with a limit.

All of them work on one `Analysis`, an array for each fact of a class or a name; analysis.pxd says which.
"""

import cython
from cython.cimports.libc.stdint import uint16_t, uint32_t, uint64_t
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.classes.class_record import *
from cython.cimports.pybtf.core.encode.encoder import Encoder
from cython.cimports.pybtf.core.reduction.analysis import *
from cython.cimports.pybtf.core.support.memory import u32s_push


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def refs_of(r: cython.pointer[cython.const[uint32_t]], out: cython.pointer[Refs]) -> cython.void:
    """Where the references of a record are: `third`, and `n` words from `first` on, `step` apart."""
    kind: uint32_t = record_kind(r)
    out.third = 0
    out.n = 0
    out.first = r + REC_HEAD
    out.step = 3
    if kind == KIND_STRUCT or kind == KIND_UNION:
        out.n = r[REC_COUNT]
    elif kind == KIND_FUNC_PROTO:
        out.third = r[REC_THIRD]
        out.n = r[REC_COUNT]
        out.step = 2
    elif (
        kind == KIND_PTR
        or kind == KIND_ARRAY
        or kind == KIND_TYPEDEF
        or kind == KIND_VOLATILE
        or kind == KIND_CONST
        or kind == KIND_RESTRICT
        or kind == KIND_TYPE_TAG
    ):
        out.third = r[REC_THIRD]


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def spend(a: cython.pointer[Analysis], steps: uint64_t) -> cython.bint:
    """Whether so many more steps may be taken."""
    if a.effort < steps:
        a.tired = True
        a.effort = 0
        return False
    a.effort -= steps
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def visit(a: cython.pointer[Analysis], c: uint32_t) -> cython.int:
    """Puts class `c` into `todo`, unless it is void or this search (`stamp`) has met it. Negative: no memory."""
    if c == 0 or a.visited[c] == a.stamp:
        return 0
    a.visited[c] = a.stamp
    return 0 if u32s_push(cython.address(a.todo), c) else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def push_targets(e: cython.pointer[Encoder], a: cython.pointer[Analysis], c: uint32_t) -> cython.int:
    """Everything class `c` refers to; for a key, all that it may stand for; unless it takes too long. Nonzero: no
    memory.
    """
    r: cython.pointer[cython.const[uint32_t]] = class_record(e.classes, c)
    f: Refs
    k: uint32_t
    m: uint32_t
    refs_of(r, cython.address(f))
    if not spend(a, f.n):  # many pairs of arrays may lead to one struct with many members
        return 0
    if visit(a, f.third) < 0:
        return 1
    for k in range(f.n):
        if visit(a, f.first[k * f.step + 1]) < 0:
            return 1
    m = a.first_member[c]
    while m and spend(a, 1):
        if visit(a, m) < 0:
            return 1
        m = a.next_member[m]
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def doubt(a: cython.pointer[Analysis], c: uint32_t, mark: uint16_t) -> cython.void:
    """Marks class `c`. A mark that is new is a seed: something for `spread` to start from."""
    if c and mark & ~a.marks[c]:
        a.marks[c] |= mark
        a.seeds += 1
