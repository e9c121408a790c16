"""Decoding the DIE tree of a unit. Begin with `walk_children`, the loop.

Each turn of the loop first reads all DIEs that it can at a glance (die_fast_path.py), nearly all of a kernel, and then
one DIE attribute by attribute. Both do the same to the tables, so what is said here is true of both.

The walk is depth first, in DIE order, and an object enters its table only after all its children (the small ids
depend on it). While the children of an object are read, the object waits in a *frame*; its members, enumerators,
parameters, dimensions and annotations wait on stacks, where those of the innermost open frame are always on top,
so that closing a frame moves one contiguous run to its final place. There is no recursion: the depth of a tree is
data.

What a DIE means depends on the frame it is met in: a handful of tags are special to each kind of frame, everything
else goes to `dispatch`. A DIE with an unknown tag is counted and passed over with its subtree.

References stay `.debug_info` offsets here; `resolve.py` turns them into small ids when the unit is complete.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.dwarf.alternate_units import survey_die
from cython.cimports.pybtf.core.dwarf.attributes import D_ANNOTATION, D_CONST_VALUE
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
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import *
from cython.cimports.pybtf.core.model.faults import FAULT_REST, IN_INFO, fault_set
from cython.cimports.pybtf.core.support.cursor import cur_tell


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def dispatch(w: cython.pointer[Walker], top_level: cython.bint) -> cython.int:
    """A DIE that is nothing special to the frame it was met in."""
    tag: uint16_t = w.d.tag
    f: cython.pointer[Frame]
    if tag == DW_TAG_pointer_type:
        if w.d.children or die_has(cython.address(w.d), D_ANNOTATION):
            return open_type(w, IN_POINTER, 0)
        return plain_type(w)
    elif is_structure(tag):
        return open_type(w, IN_STRUCT, w.n_members)
    elif tag == DW_TAG_typedef:
        if w.d.children:
            return open_type(w, IN_TYPEDEF, 0)
        return plain_type(w)
    elif (
        tag == DW_TAG_base_type
        or tag == DW_TAG_const_type
        or tag == DW_TAG_volatile_type
        or tag == DW_TAG_restrict_type
    ):
        return plain_type(w)
    elif tag == DW_TAG_array_type:
        return open_type(w, IN_ARRAY, w.n_dims)
    elif tag == DW_TAG_enumeration_type:
        return open_type(w, IN_ENUM, w.n_enumerators)
    elif tag == DW_TAG_subroutine_type:
        return open_type(w, IN_SUBROUTINE, w.n_params)
    elif tag == DW_TAG_subprogram:
        return open_function(w)
    elif tag == DW_TAG_variable:
        return open_variable(w, top_level)
    elif tag == DW_TAG_namespace:
        f = open_frame(w, IN_NAMESPACE, 0)
        return FAILED if f == cython.NULL else opened(w, f)
    elif (
        tag == DW_TAG_reference_type
        or tag == DW_TAG_rvalue_reference_type
        or tag == DW_TAG_ptr_to_member_type
        or tag == DW_TAG_atomic_type
        or tag == DW_TAG_string_type
    ):
        # they have ids, though BTF cannot express them
        return plain_type(w)
    elif tag == DW_TAG_unspecified_type:  # void wherever it is referred to
        return SKIP
    elif tag == DW_TAG_constant or tag == DW_TAG_imported_declaration or tag == DW_TAG_imported_module:
        return SKIP
    elif tag == DW_TAG_dwarf_procedure or tag == DW_TAG_label or tag == DW_TAG_GNU_annotation:
        return SKIP
    elif tag == DW_TAG_imported_unit and top_level:
        return import_unit(w)
    return unsupported(w)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unsupported(w: cython.pointer[Walker]) -> cython.int:
    """A DIE whose tag is not known here: it is counted, for the report, and passed over."""
    w.skipped_tags += 1
    return SKIP


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_template(tag: uint16_t) -> cython.bint:
    """A parameter of a C++ template, which BTF does not have."""
    return (
        tag == DW_TAG_template_type_param
        or tag == DW_TAG_template_value_param
        or DW_TAG_GNU_template_template_param <= tag <= DW_TAG_GNU_formal_parameter_pack
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def in_struct(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """A child of a struct, class or union."""
    tag: uint16_t = w.d.tag
    if tag == DW_TAG_member or tag == DW_TAG_inheritance:
        return add_member(w, f)
    if is_annotation(tag):
        return annotation_child(w, -1)
    if tag == DW_TAG_variant_part:
        f.type.flags |= T_VARIANTS
        return SKIP
    if tag == DW_TAG_subrange_type or is_template(tag):
        return SKIP
    return dispatch(w, False)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def in_function(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """A child of a function or of a block in it."""
    tag: uint16_t = w.d.tag
    g: cython.pointer[Frame]
    if tag == DW_TAG_formal_parameter:
        return add_param(w, f) if f.mode == IN_FUNCTION else SKIP
    elif tag == DW_TAG_variable:
        return open_variable(w, False)
    elif tag == DW_TAG_lexical_block:
        g = open_frame(w, IN_BLOCK, 0)
        return FAILED if g == cython.NULL else opened(w, g)
    elif tag == DW_TAG_inlined_subroutine or tag == DW_TAG_call_site or tag == DW_TAG_GNU_call_site:
        return SKIP
    elif tag == DW_TAG_unspecified_parameters:
        if f.mode == IN_FUNCTION:
            f.func.flags |= F_VARIADIC
        return SKIP
    elif is_annotation(tag):
        return annotation_child(w, -1)
    elif is_template(tag):
        return SKIP
    return dispatch(w, False)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def in_pointer(w: cython.pointer[Walker], f: cython.pointer[Frame]) -> cython.int:
    """btf_type_tag children, which only pointers may have (Q18): each becomes a slot in front of the pointer, referring
    to the one before it.
    """
    t: Type
    value: uint32_t
    if (
        not is_annotation(w.d.tag)
        or not w.want_type_tags
        or not has_name(w, b"btf_type_tag", 12)
    ):
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
        if tag == DW_TAG_enumerator:
            return add_enumerator(w)
        return open_function(w) if tag == DW_TAG_subprogram else unsupported(w)
    elif mode == IN_ARRAY:
        return add_dimension(w, f) if tag == DW_TAG_subrange_type else SKIP
    elif mode == IN_SUBROUTINE:
        if tag == DW_TAG_formal_parameter:
            return add_param(w, f)
        if tag == DW_TAG_unspecified_parameters:
            f.type.flags |= T_VARIADIC
            return SKIP
        return SKIP if tag == DW_TAG_subrange_type else dispatch(w, False)
    elif mode == IN_UNIT:
        return dispatch(w, True)
    elif mode == IN_NAMESPACE:
        return dispatch(w, False)
    elif mode == IN_POINTER:
        return in_pointer(w, f)
    # typedef, variable, parameter, member: annotations only
    if is_annotation(tag):
        return annotation_child(w, f.index if mode == IN_MEMBER or mode == IN_PARAMETER else -1)
    return SKIP


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def unit_ends(w: cython.pointer[Walker]) -> cython.int:
    """The tree of a unit's DIEs has ended. Nonzero: fault. What is left of the unit would be lost, and is there only if
    an entry is damaged; zeros may fill it up.
    """
    at: cython.pointer[cython.const[uint8_t]] = w.r.c.pos
    while at < w.r.c.end and at[0] == 0:
        at += 1
    if at == w.r.c.end:
        return 0
    return fault_set(
        cython.address(w.fault), FAULT_REST, IN_INFO, cur_tell(cython.address(w.r.c)), 0, w.r.c.end - w.r.c.pos
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def end(w: cython.pointer[Walker]) -> cython.int:
    """The topmost frame has no more children. Nonzero: fault."""
    f: cython.pointer[Frame] = cython.address(w.frames[w.n_frames - 1])
    imported: cython.bint = f.mode == IN_UNIT and f.index
    if f.mode == IN_UNIT and unit_ends(w):
        return 1
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
        return unit_ends(w)
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
        if w.survey == SURVEY_ALL:
            survey_die(w, w.frames[w.n_frames - 1].mode)
        next_ = child(w, cython.address(w.frames[w.n_frames - 1]))
        if next_ == SKIP and d.children:
            if die_skip_children(cython.address(w.r), d):
                return 1
        if next_ == FAILED or w.fault.code:
            return 1
    return w.fault.code
