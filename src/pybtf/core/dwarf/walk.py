# cython: annotation_typing=True
"""Decoding the DIE tree of a unit: the one interpreter loop of the DWARF side.

The walk is depth first, in DIE order, and an object enters its table only after all its children (the small ids
depend on it). While the children of an object are read, the object waits in a *frame*; its members, enumerators,
parameters, dimensions and annotations wait on stacks, where those of the innermost open frame are always on top,
so that closing a frame moves one contiguous run to its final place. There is no recursion: the depth of a tree is
data.

What a DIE means depends on the frame it is met in: a handful of tags are special to each kind of frame, everything
else goes to one dispatcher. A tag that nobody knows is counted and passed over with its subtree.

References stay `.debug_info` offsets here; `resolve.py` turns them into small ids when the unit is complete.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.abbrevs import D_ANNOTATION, D_CONST_VALUE
from cython.cimports.pybtf.core.dwarf.alternate_units import survey_die
from cython.cimports.pybtf.core.dwarf.btf_tags import annotation_child
from cython.cimports.pybtf.core.dwarf.die_fast_path import can_glance, glances
from cython.cimports.pybtf.core.dwarf.die_objects import (
    add_dimension,
    add_enumerator,
    add_member,
    add_param,
    open_function,
    open_type,
    open_variable,
    plain_type,
)
from cython.cimports.pybtf.core.dwarf.die_reader import Die, die_has, die_next, die_skip_children
from cython.cimports.pybtf.core.dwarf.open_objects import close_frame, open_frame, opened
from cython.cimports.pybtf.core.dwarf.unit_open import import_unit, leave_import
from cython.cimports.pybtf.core.dwarf.walk import *
from cython.cimports.pybtf.core.dwarf.walk_state import *
from cython.cimports.pybtf.core.model.dwarf_unit import *


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def dispatch(w: cython.pointer[Walker], top_level: cython.bint) -> cython.int:
    """A DIE that is nothing special to the frame it was met in."""
    tag: uint16_t = w.d.tag
    f: cython.pointer[Frame]
    if tag == 0x0F:  # pointer_type
        if w.d.children or die_has(cython.address(w.d), D_ANNOTATION):
            return open_type(w, IN_POINTER, 0)
        return plain_type(w)
    elif tag == 0x13 or tag == 0x17 or tag == 0x02 or tag == 0x38:  # structure, union, class, interface
        return open_type(w, IN_STRUCT, w.n_members)
    elif tag == 0x16:  # typedef
        if w.d.children:
            return open_type(w, IN_TYPEDEF, 0)
        return plain_type(w)
    elif tag == 0x24 or tag == 0x26 or tag == 0x35 or tag == 0x37:  # base, const, volatile, restrict
        return plain_type(w)
    elif tag == 0x01:
        return open_type(w, IN_ARRAY, w.n_dims)
    elif tag == 0x04:
        return open_type(w, IN_ENUM, w.n_enumerators)
    elif tag == 0x15:
        return open_type(w, IN_SUBROUTINE, w.n_params)
    elif tag == 0x2E:
        return open_function(w)
    elif tag == 0x34:
        return open_variable(w, top_level)
    elif tag == 0x39:  # namespace
        f = open_frame(w, IN_NAMESPACE, 0)
        return FAILED if f == cython.NULL else opened(w, f)
    elif tag == 0x10 or tag == 0x42 or tag == 0x1F or tag == 0x47 or tag == 0x12:
        # references, pointer to member, atomic, string: they have ids, though BTF cannot express them
        return plain_type(w)
    elif tag == 0x3B:  # unspecified_type: void wherever it is referred to
        return SKIP
    elif tag == 0x27 or tag == 0x08 or tag == 0x3A:  # constant, imported declaration and module
        return SKIP
    elif tag == 0x36 or tag == 0x0A or tag == 0x6001:  # dwarf_procedure, label, GNU_annotation
        return SKIP
    elif tag == 0x3D and top_level:  # imported_unit
        return import_unit(w)
    return unsupported(w)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unsupported(w: cython.pointer[Walker]) -> cython.int:
    w.skipped_tags += 1
    return SKIP


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_template(tag: uint16_t) -> cython.bint:
    return tag == 0x2F or tag == 0x30 or 0x4106 <= tag <= 0x4108


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def in_struct(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    tag: uint16_t = w.d.tag
    if tag == 0x0D or tag == 0x1C:
        return add_member(w, f)
    if tag == 0x6000 or tag == 0x6001:
        return annotation_child(w, -1)
    if tag == 0x21 or tag == 0x33 or is_template(tag):  # subrange, variant part
        return SKIP
    return dispatch(w, False)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def in_function(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """A child of a function or of a block in it."""
    tag: uint16_t = w.d.tag
    g: cython.pointer[Frame]
    if tag == 0x05:
        return add_param(w, f) if f.mode == IN_FUNCTION else SKIP
    elif tag == 0x34:
        return open_variable(w, False)
    elif tag == 0x0B:  # lexical_block
        g = open_frame(w, IN_BLOCK, 0)
        return FAILED if g == cython.NULL else opened(w, g)
    elif tag == 0x1D or tag == 0x48 or tag == 0x4109:  # inlined_subroutine, call_site
        return SKIP
    elif tag == 0x18:  # unspecified_parameters
        if f.mode == IN_FUNCTION:
            f.func.flags |= F_VARIADIC
        return SKIP
    elif tag == 0x6000 or tag == 0x6001:
        return annotation_child(w, -1)
    elif is_template(tag):
        return SKIP
    return dispatch(w, False)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def in_pointer(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """btf_type_tag children: each becomes a slot in front of the pointer, referring to the one before it."""
    t: Type
    value: uint32_t
    if (w.d.tag != 0x6000 and w.d.tag != 0x6001) or not w.want_type_tags or not named(w, b"btf_type_tag", 12):
        return SKIP
    value = walk_name(w, D_CONST_VALUE)
    memset(cython.address(t), 0, cython.sizeof(Type))
    t.tag = TAG_TYPE_TAG
    t.name = value
    t.ref = f.type.ref
    t.flags = f.type.flags & T_REF_LOCAL
    if add_type(w, cython.address(t)):
        return FAILED
    f.type.ref = w.u.n_types - 1
    f.type.flags |= T_REF_LOCAL
    f.index += 1
    return SKIP


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def child(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """The DIE just read, a child of frame `f`. May move `w.frames`."""
    mode: uint8_t = f.mode
    tag: uint16_t = w.d.tag
    if mode == IN_STRUCT:
        return in_struct(w, f)
    elif mode == IN_FUNCTION or mode == IN_BLOCK:
        return in_function(w, f)
    elif mode == IN_ENUM:
        if tag == 0x28:
            return add_enumerator(w)
        return open_function(w) if tag == 0x2E else unsupported(w)
    elif mode == IN_ARRAY:
        return add_dimension(w, f) if tag == 0x21 else SKIP
    elif mode == IN_SUBROUTINE:
        if tag == 0x05:
            return add_param(w, f)
        if tag == 0x18:
            f.type.flags |= T_VARIADIC
            return SKIP
        return SKIP if tag == 0x21 else dispatch(w, False)
    elif mode == IN_UNIT:
        return dispatch(w, True)
    elif mode == IN_NAMESPACE:
        return dispatch(w, False)
    elif mode == IN_POINTER:
        return in_pointer(w, f)
    # typedef, variable, parameter, member: annotations only
    if tag == 0x6000 or tag == 0x6001:
        return annotation_child(w, f.index if mode == IN_MEMBER or mode == IN_PARAMETER else -1)
    return SKIP


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def end(w: cython.pointer[Walker]) -> cython.int:
    """The topmost frame has no more children. Nonzero: fault."""
    f: cython.pointer[Frame] = cython.address(w.frames[w.n_frames - 1])
    imported: cython.bint = f.mode == IN_UNIT and f.index
    if close_frame(w, f):
        return 1
    return leave_import(w) if imported else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def walk_children(w: cython.pointer[Walker]) -> cython.int:
    """Reads the children of the unit DIE, which has just been read. Nonzero: fault in `w.fault`."""
    d: cython.pointer[Die] = cython.address(w.d)
    next_: cython.int
    w.n_frames = w.n_members = w.n_enumerators = w.n_params = w.n_anns = w.n_dims = 0
    if not d.children:
        return 0
    if open_frame(w, IN_UNIT, 0) == cython.NULL:
        return 1
    while w.n_frames:
        if can_glance(w) and glances(w):
            return 1
        if w.r.c.pos == w.r.c.end and w.frames[w.n_frames - 1].mode == IN_UNIT:
            # the unit's own final null entry may be missing
            if end(w):
                return 1
            continue
        if die_next(cython.address(w.r), d):
            return 1
        if d.tag == 0:
            if end(w):
                return 1
            continue
        if w.survey:
            survey_die(w, w.frames[w.n_frames - 1].mode)
        next_ = child(w, cython.address(w.frames[w.n_frames - 1]))
        if next_ == SKIP and d.children:
            if die_skip_children(cython.address(w.r), d):
                return 1
        if next_ == FAILED or w.fault.code:
            return 1
    return w.fault.code
