"""A type as it stands by itself: a struct or union, an enum, a typedef, a function, a variable.

`put_definition` is where each text begins. What a struct or union has inside is printed by `show_members`.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_FUNC,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_PTR,
    KIND_TYPEDEF,
    KIND_UNION,
    KIND_VAR,
)
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import is_composite, is_enum, view_name, view_record
from cython.cimports.pybtf.core.dump.text_buffer import Text, put, put_char, put_many
from cython.cimports.pybtf.core.show.show_marks import pad_line
from cython.cimports.pybtf.core.show.show_members import element_of, put_array, put_composite, put_dimensions, put_tail
from cython.cimports.pybtf.core.show.show_names import (
    put_array_qualifiers,
    put_enum,
    put_parameters,
    put_tagged_parameters,
    put_type,
)
from cython.cimports.pybtf.core.show.show_types import Called, Level, Show, show_step

TYPE_COLUMN = cython.declare(cython.int, 26)  # width of types
NAME_COLUMN = cython.declare(cython.int, 21)  # of names, in structs
UNION_NAME_COLUMN = cython.declare(cython.int, 19)
WIDE_NAME_COLUMN = cython.declare(cython.int, 53)  # where types are expanded


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_definition(s: cython.pointer[Show], id: uint32_t, typedef: cython.p_const_char) -> cython.void:
    """A type as it stands by itself; a struct or union as the typedef of this name, if there is one."""
    t: cython.pointer[Text] = cython.address(s.out)
    r: cython.pointer[uint32_t] = view_record(s.v, id)
    frame = cython.declare(Level)
    memset(cython.address(frame), 0, cython.sizeof(Level))
    frame.type_column = TYPE_COLUMN
    frame.comment_column = TYPE_COLUMN + 1 + (WIDE_NAME_COLUMN if s.format.expand else NAME_COLUMN)
    frame.sums = True
    frame.relative = s.format.relative
    frame.suffix.name = b""
    if is_composite(wire_kind(r)):
        frame.level = 1
        if wire_kind(r) == KIND_UNION and not s.format.expand:
            frame.comment_column = TYPE_COLUMN + 1 + UNION_NAME_COLUMN
        # With `-E` and `-p`, pointers back to it are not expanded, unless it is reorganized: pahole then prints a copy.
        # Structs further in, or behind a typedef, are known by what `put_declared` came to first, which may be a
        # typedef of theirs.
        if typedef[0]:
            put(t, b"typedef ")
        known: cython.bint = s.format.expand and s.plan == cython.NULL
        s.within[id] += known
        put_composite(s, id, cython.address(frame))
        s.within[id] -= known
        put_tail(s, id, typedef)
        put(t, b";\n")
    elif is_enum(wire_kind(r)):
        if wire_vlen(r):
            put_enum(s, id, 0)
        else:
            put_type(s, id)  # it is only declared
        put(t, b";\n")
    elif wire_kind(r) == KIND_TYPEDEF:
        put(t, b"typedef ")
        put_typedef(s, r, cython.address(frame))
    elif wire_kind(r) == KIND_FUNC:
        if r[2] and wire_kind(view_record(s.v, r[2])) == KIND_FUNC_PROTO:
            put_function_tags(s)
            put_type(s, view_record(s.v, r[2])[2])
            put_char(t, b" ")
            put(t, view_name(s.v, r[0]))
            put_tagged_parameters(s, r[2], s.tags + s.n_function_tags, s.n_tags - s.n_function_tags)
        else:
            put_declaration(s, r[2], view_name(s.v, r[0]))
        put(t, b";\n")
    elif wire_kind(r) == KIND_VAR:  # pahole prints none
        put_declaration(s, put_array_qualifiers(s, r[2]), view_name(s.v, r[0]))
        put(t, b";\n")
    elif wire_kind(r) == KIND_FWD:
        put_type(s, id)
        put(t, b";\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_function_tags(s: cython.pointer[Show]) -> cython.void:
    """The declaration tags of the function itself, in their order, as words in front of it."""
    i: uint32_t
    for i in range(s.n_function_tags):
        if not show_step(s, s.tags[i]):
            return
        put(cython.address(s.out), view_name(s.v, view_record(s.v, s.tags[i])[0]))
        put_char(cython.address(s.out), b" ")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_declaration(s: cython.pointer[Show], id: uint32_t, name: cython.p_const_char) -> cython.void:
    """A name with its type: a pointer to a function, an array, or anything else."""
    t: cython.pointer[Text] = cython.address(s.out)
    steps: uint32_t = 0
    element: uint32_t = element_of(s, id)
    end: uint32_t = element
    while end and wire_kind(view_record(s.v, end)) == KIND_PTR and steps < 16:
        end = view_record(s.v, end)[2]
        steps += 1
    if end and wire_kind(view_record(s.v, end)) == KIND_FUNC_PROTO and steps < 2:
        put_type(s, view_record(s.v, end)[2])
        put(t, b" (")
        put_many(t, b"*", steps)
        put(t, name)
        put_dimensions(s, id, False)
        put_char(t, b")")
        put_parameters(s, end)
        return
    put_type(s, element)
    put_char(t, b" ")
    put(t, name)
    put_dimensions(s, id, False)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_typedef(s: cython.pointer[Show], r: cython.pointer[uint32_t], frame: cython.pointer[Level]) -> cython.void:
    """What follows the keyword. What a typedef names is printed with it, if it has no name of its own."""
    t: cython.pointer[Text] = cython.address(s.out)
    name: cython.p_const_char = view_name(s.v, r[0])
    of: cython.pointer[uint32_t]
    start: cython.size_t = t.n
    c = cython.declare(Called)
    if r[2] == 0:
        put(t, b"void ")
        put(t, name)
        put(t, b";\n")
        return
    of = view_record(s.v, r[2])
    if is_composite(wire_kind(of)) and (of[0] == 0 or s.format.expand):
        frame.level = 1
        frame.type_column -= 8
        frame.comment_column -= 8
        frame.suffix.name = name  # it is met again behind a member that is const, and has no name
        put_composite(s, r[2], frame)
        put_tail(s, r[2], name)
    elif is_enum(wire_kind(of)) and of[0] == 0:
        put_enum(s, r[2], 0)
        put_char(t, b" ")
        put(t, name)
    elif wire_kind(of) == KIND_UNION:
        put_type(s, r[2])
        pad_line(t, start, TYPE_COLUMN)
        put_char(t, b" ")
        put(t, name)
    elif wire_kind(of) == KIND_ARRAY:
        c.name = name
        c.stars = 0
        c.apart = c.missing = False
        put_array(s, frame, r[2], cython.address(c))
    else:
        put_declaration(s, r[2], name)
    put(t, b";\n")
