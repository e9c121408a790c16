"""Passing over DIEs of which nothing is wanted: what is in a call, for example, or in a function that was inlined.

gcc says where the next sibling of such a DIE is. clang does not, and then all that is inside has to be gone through. Of
each DIE only the size matters there. The abbreviation gives it, except for one or two parts that begin with their own
size (`Passage` in abbrev_layout.pxd). Parts that are longer than usual, and whatever else is unusual, are left to
die_reader.py, which reports damage.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.pybtf.core.dwarf.abbrev_layout import *
from cython.cimports.pybtf.core.dwarf.abbrevs import *
from cython.cimports.pybtf.core.dwarf.passing import *

SHORT_TEXT = cython.declare(cython.Py_ssize_t, 4)  # the bytes of a name that gcc writes in place of its offset


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def pass_part(
    part: uint8_t, p: cython.pointer[cython.const[uint8_t]], end: cython.pointer[cython.const[uint8_t]]
) -> cython.pointer[cython.const[uint8_t]]:
    """Past what is at `p`, of no fixed size. NULL: not at a glance."""
    n: cython.Py_ssize_t
    if part == TEXT:
        for n in range(min(SHORT_TEXT, end - p)):
            if p[n] == 0:
                return p + n + 1
        return cython.NULL
    return pass_lead(part, p, end) if part != UNCLEAR else cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pass_values(
    q: cython.pointer[cython.const[Passage]],
    p: cython.pointer[cython.const[uint8_t]],
    end: cython.pointer[cython.const[uint8_t]],
) -> cython.pointer[cython.const[uint8_t]]:
    """See `passing.pxd`."""
    if end - p < q.first:
        return cython.NULL
    p += q.first
    if q.part == 0:
        return p
    p = pass_part(q.part, p, end)
    if p == cython.NULL or end - p < q.second:
        return cython.NULL
    p += q.second
    if q.other_part == 0:
        return p
    p = pass_part(q.other_part, p, end)
    if p == cython.NULL or end - p < q.third:
        return cython.NULL
    return p + q.third


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pass_tree(
    t: cython.pointer[AbbrevTable],
    p: cython.pointer[cython.const[uint8_t]],
    end: cython.pointer[cython.const[uint8_t]],
    depth: cython.pointer[uint64_t],
) -> cython.pointer[cython.const[uint8_t]]:
    """See `passing.pxd`."""
    left: uint64_t = depth[0]
    decl: cython.pointer[cython.const[AbbrevDecl]]
    next_: cython.pointer[cython.const[uint8_t]]
    code: uint32_t
    while left and p < end:
        code = p[0]
        next_ = p + 1
        if code == 0:
            left -= 1
            p = next_
            continue
        if code & 0x80:
            if next_ == end or next_[0] & 0x80:
                break
            code = (code & 0x7F) | cython.cast(uint32_t, next_[0]) << 7
            next_ += 1
        decl = abbrevs_find(t, code)
        if decl == cython.NULL or (decl.children and decl.passage.sibling):
            break
        next_ = pass_values(cython.address(decl.passage), next_, end)
        if next_ == cython.NULL:
            break
        left += decl.children
        p = next_
    depth[0] = left
    return p
