# cython: annotation_typing=True
"""Reading a DIE at a glance: one of a known shape (shapes.py), in a frame where its tag means what it mostly means.

Each branch of `glance` does to the tables of the unit what the function for its tag does (objects.py), for the case
that only those attributes are there which the shape has. Before anything is changed, everything is checked that the
other way would check. If something is not as it should be, nothing is done, and the DIE is read the other way.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.pybtf.core.abbrevs import *
from cython.cimports.pybtf.core.glance import *
from cython.cimports.pybtf.core.memory import room
from cython.cimports.pybtf.core.names import NAME_AT, name_short
from cython.cimports.pybtf.core.unit import *
from cython.cimports.pybtf.core.walker import *


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def number(p: cython.pointer[cython.const[uint8_t]], size: uint8_t) -> uint64_t:
    """A number in the host's byte order."""
    wide: uint64_t = 0
    if size == 1:
        return p[0]
    if size == 2:
        memcpy(cython.address(wide), p, 2)
    elif size == 4:
        memcpy(cython.address(wide), p, 4)
    else:
        memcpy(cython.address(wide), p, 8)
    return wide


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def short_name(
    p: cython.pointer[cython.const[uint8_t]], end: cython.pointer[cython.const[uint8_t]]
) -> uint32_t:
    """The name word of a text of one to three bytes at `p`; 0 if it is empty, longer, or too near to the end."""
    if end - p < 4 or p[0] == 0:
        return 0
    if p[1] == 0:
        return name_short(p, 1)
    if p[2] == 0:
        return name_short(p, 2)
    return name_short(p, 3) if p[3] == 0 else 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def name_size(word: uint32_t) -> uint32_t:
    """Bytes of the text of a short name word."""
    if word & 0xFF0000:
        return 3
    return 2 if word & 0xFF00 else 1


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put_member(
    w: cython.pointer[Walker], f: cython.pointer[Frame], name: uint32_t, ref: uint32_t, at: uint64_t
) -> cython.bint:
    m: cython.pointer[Member]
    if not room(
        cython.cast(cython.pp_void, cython.address(w.members)),
        cython.address(w.cap_members),
        w.n_members + 1,
        cython.sizeof(Member),
    ):
        return False
    m = cython.address(w.members[w.n_members])
    memset(m, 0, cython.sizeof(Member))
    m.name = name
    m.ref = ref
    m.byte_offset = cython.cast(uint32_t, at)
    m.bit_offset = cython.cast(uint64_t, m.byte_offset) * 8
    w.n_members += 1
    f.index += 1
    return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put_type(
    w: cython.pointer[Walker],
    decl: cython.pointer[cython.const[AbbrevDecl]],
    name: uint32_t,
    ref: uint32_t,
    size: uint32_t,
) -> cython.bint:
    u: cython.pointer[Unit] = cython.address(w.u)
    t: cython.pointer[Type]
    if not room(
        cython.cast(cython.pp_void, cython.address(u.types)),
        cython.address(u.cap_types),
        u.n_types + 1,
        cython.sizeof(Type),
    ):
        return False
    t = cython.address(u.types[u.n_types])
    memset(t, 0, cython.sizeof(Type))
    t.die = cython.cast(uint32_t, w.r.c.pos - w.r.c.base)
    t.tag = decl.tag
    t.name = name
    t.ref = ref
    t.size = size
    u.n_types += 1
    return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put_enumerator(w: cython.pointer[Walker], name: uint32_t, value: uint64_t) -> cython.bint:
    if not room(
        cython.cast(cython.pp_void, cython.address(w.enumerators)),
        cython.address(w.cap_enumerators),
        w.n_enumerators + 1,
        cython.sizeof(Enumerator),
    ):
        return False
    w.enumerators[w.n_enumerators].name = name
    w.enumerators[w.n_enumerators].value = value
    w.n_enumerators += 1
    return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def put_parameter(
    w: cython.pointer[Walker],
    f: cython.pointer[Frame],
    shape: cython.pointer[cython.const[Shape]],
    name: uint32_t,
    ref: uint32_t,
) -> cython.bint:
    p: cython.pointer[Param]
    if not room(
        cython.cast(cython.pp_void, cython.address(w.params)),
        cython.address(w.cap_params),
        w.n_params + 1,
        cython.sizeof(Param),
    ):
        return False
    p = cython.address(w.params[w.n_params])
    memset(p, 0, cython.sizeof(Param))
    p.reg = -1
    p.die = cython.cast(uint32_t, w.r.c.pos - w.r.c.base)
    p.name = name
    p.named = shape.inline_name or shape.name_at != ABSENT
    p.ref = ref
    p.has_type = shape.type_at != ABSENT
    w.n_params += 1
    f.index += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def glance(
    w: cython.pointer[Walker],
    f: cython.pointer[Frame],
    decl: cython.pointer[cython.const[AbbrevDecl]],
    p: cython.pointer[cython.const[uint8_t]],
) -> cython.bint:
    """Reads a DIE whose attributes are at `p`, a child of frame `f`. False: nothing has been done."""
    s: cython.pointer[cython.const[Shape]] = cython.address(decl.shape)
    mode: uint8_t = f.mode
    name: uint32_t = 0
    ref: uint32_t = 0
    value: uint64_t = s.value
    to: uint64_t
    done: cython.bint = False
    if w.survey:
        return False
    if s.inline_name:
        name = short_name(p, w.r.c.end)
        if name == 0:
            return False
        p += name_size(name) + 1
    if w.r.c.end - p < s.size:
        return False
    if s.name_at != ABSENT:
        memcpy(cython.address(name), p + s.name_at, 4)
        if name >= w.names.deferred:
            return False
        name |= NAME_AT
    if s.type_at != ABSENT:
        memcpy(cython.address(ref), p + s.type_at, 4)
        to = w.r.unit + ref
        if to >= w.r.end or to >= w.sections.alternate_at:
            return False
        ref = cython.cast(uint32_t, to)
    if s.value_size:
        value = number(p + s.value_at, s.value_size)
    if s.kind == SHAPE_MEMBER:
        # Without a place, the member of a struct is a static one.
        if mode == IN_STRUCT and (s.value_at != ABSENT or f.type.tag == 0x17):
            done = put_member(w, f, name, ref, value)
    elif s.kind == SHAPE_TYPE:
        if mode <= IN_STRUCT or (IN_SUBROUTINE <= mode and mode <= IN_BLOCK):
            done = put_type(w, decl, name, ref, cython.cast(uint32_t, value))
    elif s.kind == SHAPE_ENUMERATOR:
        if mode == IN_ENUM:
            done = put_enumerator(w, name, value)
    elif s.kind == SHAPE_LOCAL:
        done = mode == IN_FUNCTION or mode == IN_BLOCK
    elif mode == IN_SUBROUTINE and not w.want_parameter_names:
        done = put_parameter(w, f, s, name, ref)
    if done:
        w.r.c.pos = p + s.size
    return done
