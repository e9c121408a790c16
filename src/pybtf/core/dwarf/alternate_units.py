"""Which units of an alternate file are needed.

`dwz -m` moves what several files have in common into one more file, their *alternate file*, and leaves references into
it. Its units are appended to those of the file itself (dwarf/alternate.py), so that a reference is an offset of
`.debug_info` as any other, a little larger. What remains is to choose which of its units are decoded: an alternate
file has the types of a whole distribution, and the file needs only some of them.

The rules are pahole's, found by experiment. These units are needed:

- a unit with a DIE to which the file itself refers: by DW_AT_type, DW_AT_abstract_origin or DW_AT_specification of any
  DIE that is decoded, whether or not it becomes a type; or by DW_AT_import of an imported declaration or module;
- a partial unit that is imported, by the file itself or by *any* unit of the alternate file, needed or not;
- a unit with a type tag that a pointer has, as GCC writes them (btf_tags.py): a pointer of the file itself, or of *any*
  unit of the alternate file.

Other references within the alternate file make no unit needed. Those that lead outside the decoded units are void, and
`lost_references` counts them, for a warning. The needed units are decoded in the order they have, each once, and before
the file itself. So a survey comes first: over the roots of the alternate file and their children, over the whole file,
whose objects are then thrown away, and over the pointers of the alternate file, if any may have such tags.

Where such a pointer is in a unit that is not needed, the pointer is left out, but not its tags: each of them is a type
in the place of the pointer, and refers to void (`keep_tags`, Q36).
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.pybtf.core.dwarf.alternate_units import *
from cython.cimports.pybtf.core.dwarf.attributes import D_IMPORT, D_ORIGIN, D_SPECIFICATION, D_TYPE
from cython.cimports.pybtf.core.dwarf.die_reader import die_has, die_read, die_skip_children
from cython.cimports.pybtf.core.dwarf.forms import A_ALT
from cython.cimports.pybtf.core.dwarf.left_out import leave_out_for_fault
from cython.cimports.pybtf.core.dwarf.unit_enter import unit_enter, unit_with
from cython.cimports.pybtf.core.dwarf.walk_state import *
from cython.cimports.pybtf.core.model.debug_sections import Span
from cython.cimports.pybtf.core.model.dwarf_constants import *
from cython.cimports.pybtf.core.model.dwarf_unit import T_CHAINED, T_REF_LOCAL, TAG_TYPE_TAG, Type, Unit, is_structure
from cython.cimports.pybtf.core.support.memory import memmem


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def survey_alternates(w: cython.pointer[Walker]) -> cython.int:
    """Finds out which units of the alternate file are partial units, and what they import. Nonzero: fault."""
    i: uint32_t
    free(w.needed)
    w.needed = cython.cast(cython.pointer[uint8_t], calloc(w.n_units - w.n_headers, 1))
    if w.needed == cython.NULL:
        return no_memory(w)
    for i in range(w.n_headers, w.n_units):
        if w.lost != cython.NULL and w.lost[i]:
            continue
        if survey_unit(w, i) and (w.lost == cython.NULL or not leave_out_for_fault(w, i)):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def survey_unit(w: cython.pointer[Walker], i: uint32_t) -> cython.int:
    """As `survey_alternates`, of unit `i` alone. Nonzero: fault."""
    if unit_enter(w, cython.address(w.headers[i])):
        return 1
    if w.d.tag == DW_TAG_partial_unit:
        w.needed[i - w.n_headers] |= NEED_PARTIAL
    return w.d.children and survey_imports(w)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def survey_imports(w: cython.pointer[Walker]) -> cython.int:
    """Notes what the unit whose root has just been read imports. Nonzero: fault."""
    while w.r.c.pos < w.r.c.end:
        if die_read(cython.address(w.r), cython.address(w.d)):
            return 1
        if w.d.tag == 0:
            break
        if w.d.tag == DW_TAG_imported_unit:
            survey_import(w)
        if die_skip_children(cython.address(w.r), cython.address(w.d)):
            return 1
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def survey_die(w: cython.pointer[Walker], mode: uint8_t) -> cython.void:
    """Notes what units the DIE that has just been read needs. It is the child of a frame of this mode."""
    tag: uint16_t = w.d.tag
    if tag == DW_TAG_imported_unit:
        if mode == IN_UNIT:
            survey_import(w)
    elif tag == DW_TAG_imported_declaration or tag == DW_TAG_imported_module:
        if dispatches(mode):
            survey_slot(w, D_IMPORT)
    elif is_object(tag, mode):
        survey_slot(w, D_TYPE)
        survey_slot(w, D_ORIGIN)
        # Nobody asks a member, an enumerator, a parameter or a constant for it.
        if (
            tag != DW_TAG_member
            and tag != DW_TAG_inheritance
            and tag != DW_TAG_enumerator
            and tag != DW_TAG_formal_parameter
            and tag != DW_TAG_constant
        ):
            survey_slot(w, D_SPECIFICATION)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def dispatches(mode: uint8_t) -> cython.bint:
    """Whether DIEs that are nothing special to a frame of this mode are looked at."""
    return mode <= IN_STRUCT or IN_SUBROUTINE <= mode <= IN_BLOCK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_object(tag: uint16_t, mode: uint8_t) -> cython.bint:
    """Whether pahole makes an object of a DIE with this tag in a frame of this mode, kept or not."""
    code: cython.bint = mode == IN_FUNCTION or mode == IN_BLOCK
    if tag == DW_TAG_subprogram:
        return dispatches(mode) or mode == IN_ENUM
    if tag == DW_TAG_formal_parameter:
        return code or mode == IN_SUBROUTINE
    if tag == DW_TAG_lexical_block:
        return code
    if tag == DW_TAG_member or tag == DW_TAG_inheritance:
        return mode == IN_STRUCT
    if tag == DW_TAG_enumerator:
        return mode == IN_ENUM
    if (
        tag == DW_TAG_template_type_param
        or tag == DW_TAG_template_value_param
        or DW_TAG_GNU_template_template_param <= tag <= DW_TAG_GNU_formal_parameter_pack
    ):
        return code or mode == IN_STRUCT
    return dispatches(mode) and is_plain_object(tag)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_plain_object(tag: uint16_t) -> cython.bint:
    """Types, variables, constants and namespaces: objects wherever they are looked at."""
    if (
        tag == DW_TAG_pointer_type
        or tag == DW_TAG_structure_type
        or tag == DW_TAG_typedef
        or tag == DW_TAG_base_type
        or tag == DW_TAG_const_type
        or tag == DW_TAG_variable
        or tag == DW_TAG_union_type
    ):
        return True
    if (
        tag == DW_TAG_array_type
        or tag == DW_TAG_class_type
        or tag == DW_TAG_enumeration_type
        or tag == DW_TAG_reference_type
        or tag == DW_TAG_string_type
        or tag == DW_TAG_subroutine_type
        or tag == DW_TAG_ptr_to_member_type
    ):
        return True
    if (
        tag == DW_TAG_constant
        or tag == DW_TAG_volatile_type
        or tag == DW_TAG_restrict_type
        or tag == DW_TAG_interface_type
        or tag == DW_TAG_namespace
        or tag == DW_TAG_unspecified_type
        or tag == DW_TAG_rvalue_reference_type
    ):
        return True
    return tag == DW_TAG_atomic_type


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def survey_import(w: cython.pointer[Walker]) -> cython.void:
    """An imported_unit: the offset must be that of a root."""
    at: uint64_t
    unit: uint32_t
    if not die_has(cython.address(w.d), D_IMPORT) or w.d.a[D_IMPORT].cls != A_ALT:
        return
    at = target(w, D_IMPORT)
    unit = unit_with(w, at)
    if unit < w.n_units and w.headers[unit].first_die == at:
        w.needed[unit - w.n_headers] |= NEED_IMPORTED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def survey_slot(w: cython.pointer[Walker], slot: cython.int) -> cython.void:
    if die_has(cython.address(w.d), slot) and w.d.a[slot].cls == A_ALT:
        survey_offset(w, target(w, slot))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def survey_offset(w: cython.pointer[Walker], at: uint64_t) -> cython.void:
    """Notes that the DIE at this offset of .debug_info is needed."""
    unit: uint32_t
    if at >= w.sections.alternate_at:
        unit = unit_with(w, at)
        if unit < w.n_units:
            w.needed[unit - w.n_headers] |= NEED_REFERRED


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def may_have_tags(w: cython.pointer[cython.const[Walker]]) -> cython.bint:
    """Whether pointers of the alternate file may have type tags: its abbreviations seem to have the attribute."""
    abbrev: Span = w.sections.alternate.abbrev
    attribute: cython.p_const_char = b"\xb9\x42"  # DW_AT_GNU_annotation, a LEB128 number
    return w.want_type_tags and memmem(abbrev.p, abbrev.n, attribute, 2) != cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_tags(w: cython.pointer[Walker], first: uint32_t, end: uint32_t) -> cython.void:
    """Adds to the table the type tags that pointers had among the types from `first` to `end`, which the table has just
    forgotten. What they were tags of is void.
    """
    t: cython.pointer[Type]
    i: uint32_t
    for i in range(first, end):
        t = cython.address(w.u.types[i])
        if t.tag == TAG_TYPE_TAG and t.flags & T_CHAINED:
            t.ref = 0
            t.flags = T_CHAINED | T_REF_LOCAL
            w.u.types[w.u.n_types] = t[0]
            w.u.n_types += 1


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def target(w: cython.pointer[Walker], slot: cython.int) -> uint64_t:
    """The offset of .debug_info that a reference into the alternate file stands for; one past the end if it is none."""
    size: uint64_t = w.sections.info.n - w.sections.alternate_at
    return w.sections.alternate_at + min(w.d.a[slot].v, size)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_needed(w: cython.pointer[cython.const[Walker]], unit: uint32_t) -> cython.bint:
    """Whether unit number `unit`, one of the alternate file, is to be decoded. To be asked after the survey."""
    need: uint8_t = w.needed[unit - w.n_headers]
    return need & NEED_REFERRED or need & (NEED_IMPORTED | NEED_PARTIAL) == NEED_IMPORTED | NEED_PARTIAL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def lost_references(w: cython.pointer[cython.const[Walker]]) -> uint64_t:
    """How many types, members, parameters, functions and variables have a type in a unit of the alternate file that is
    not decoded. To be asked when all DIEs are read, before their references become ids.
    """
    i: uint32_t
    k: uint32_t
    n: uint64_t = 0
    t: cython.pointer[Type]
    u: cython.pointer[cython.const[Unit]] = cython.address(w.u)
    for i in range(1, u.n_types):
        t = cython.address(u.types[i])
        # Nobody asks an enumeration for its underlying type.
        if t.tag != DW_TAG_enumeration_type and not t.flags & T_REF_LOCAL:
            n += is_lost(w, t.ref)
        if is_structure(t.tag):
            for k in range(t.first, t.first + t.count):
                n += is_lost(w, u.members[k].ref)
        elif t.tag == DW_TAG_subroutine_type:
            for k in range(t.first, t.first + t.count):
                n += is_lost(w, u.type_params[k].ref)
    for i in range(u.n_variables):
        n += is_lost(w, u.variables[i].ref)
    for i in range(u.n_functions):
        n += is_lost(w, u.functions[i].ref)
        for k in range(u.functions[i].first, u.functions[i].first + u.functions[i].count):
            n += is_lost(w, u.params[k].ref)
    return n


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def is_lost(w: cython.pointer[cython.const[Walker]], at: uint32_t) -> cython.bint:
    """Whether a DIE at this offset of .debug_info is in a unit that is not needed."""
    unit: uint32_t
    if at < w.sections.alternate_at:
        return False
    unit = unit_with(w, at)
    return unit < w.n_units and not is_needed(w, unit)
