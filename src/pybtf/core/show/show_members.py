"""A struct or union with its members, and each member with what its type expands to.

What stands between the type of a member and its name depends on both. pahole goes down from the type: over pointers if
those are expanded, over typedefs if types are, over `const` and tags, into the elements of arrays; and each step takes
a part of the line with it. That is why a struct behind a `const` is narrower, and has its sums but not the name of its
member, while a union there has the name and no sums. Behind a tag it is the same, but not narrower. `put_declared`
takes the same steps.

Three functions call each other, as deeply as the types nest: `put_composite` prints each member with `put_member`,
that prints the member's type with `put_declared`, and that a struct which is expanded with `put_composite`.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_CONST,
    KIND_FUNC_PROTO,
    KIND_FWD,
    KIND_PTR,
    KIND_STRUCT,
    KIND_TYPE_TAG,
    KIND_TYPEDEF,
    KIND_UNION,
)
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import is_composite, is_enum, kind_flag, view_name, view_record
from cython.cimports.pybtf.core.dump.text_buffer import Text, put, put_char, put_many, put_unsigned
from cython.cimports.pybtf.core.show.show_layout import facts_of, is_packed, mark_packed, study
from cython.cimports.pybtf.core.show.show_marks import (
    pad_line,
    put_cacheline,
    put_combined,
    put_gap,
    put_offset,
    put_tabs,
)
from cython.cimports.pybtf.core.show.show_names import (
    behind_tags,
    put_enum,
    put_outermost,
    put_parameters,
    put_type,
    put_typedefs,
)
from cython.cimports.pybtf.core.show.show_summary import put_after, put_align, put_no_sums, put_packed, put_summary
from cython.cimports.pybtf.core.show.show_types import (
    MEETS_BOUNDARY,
    MEETS_BOUNDARY_NEXT,
    MEETS_PREVIOUS,
    MEETS_UNIT,
    SHOW_CYCLE,
    SHOW_MAX_CHAIN,
    SHOW_MEMORY,
    Called,
    Facts,
    Level,
    MemberLayout,
    Show,
    show_enter,
    show_fail,
    show_step,
)

CONST_WIDTH = cython.declare(cython.int, 6)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_dimensions(s: cython.pointer[Show], id: uint32_t, flexible: cython.bint) -> uint32_t:
    """What stands after the name of an array. Returns the type of the elements."""
    t: cython.pointer[Text] = cython.address(s.out)
    steps: uint32_t = 0
    count: uint64_t = 1
    element: uint32_t = id
    while element and wire_kind(view_record(s.v, element)) == KIND_ARRAY and steps < SHOW_MAX_CHAIN:
        count *= view_record(s.v, element)[5]  # of more than a machine has memory for, the lower bits
        element = view_record(s.v, element)[3]
        steps += 1
    if s.format.flat and steps:
        put_dimension(t, count, flexible)
    while steps and not s.format.flat:
        put_dimension(t, view_record(s.v, id)[5], flexible)
        id = view_record(s.v, id)[3]
        steps -= 1
    return element


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_dimension(t: cython.pointer[Text], count: uint64_t, flexible: cython.bint) -> cython.void:
    put_char(t, b"[")
    if count or not flexible:
        put_unsigned(t, count)
    put_char(t, b"]")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def element_of(s: cython.pointer[Show], id: uint32_t) -> uint32_t:
    """The type of the elements, if the type itself is an array."""
    steps: uint32_t = 0
    while id and wire_kind(view_record(s.v, id)) == KIND_ARRAY and steps < SHOW_MAX_CHAIN:
        id = view_record(s.v, id)[3]
        steps += 1
    return id


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_called(t: cython.pointer[Text], c: cython.pointer[cython.const[Called]]) -> cython.void:
    if c.apart:
        put(t, b"* ")
    put_many(t, b"*", c.stars)
    put(t, c.name)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_padded_name(
    t: cython.pointer[Text], start: cython.size_t, column: cython.int, c: cython.pointer[cython.const[Called]]
) -> cython.void:
    """What follows a type that began at `start`."""
    pad_line(t, start, abs(column))
    put_char(t, b" ")
    put_called(t, c)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_default(
    s: cython.pointer[Show], frame: cython.pointer[Level], id: uint32_t, c: cython.pointer[cython.const[Called]]
) -> cython.void:
    """A type as a whole, in its column."""
    start: cython.size_t = s.out.n
    put_outermost(s, id)
    put_padded_name(cython.address(s.out), start, frame.type_column, c)
    if c.missing:
        put(cython.address(s.out), b"(null)")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_keyword(
    s: cython.pointer[Show], frame: cython.pointer[Level], id: uint32_t, c: cython.pointer[cython.const[Called]]
) -> cython.void:
    """A struct, union or enum by its name. The column is that of what follows the keyword."""
    t: cython.pointer[Text] = cython.address(s.out)
    kind: uint32_t = wire_kind(view_record(s.v, id))
    width: cython.int = 7
    start: cython.size_t = t.n
    if is_enum(kind):
        width = 5
    elif kind == KIND_UNION or (kind == KIND_FWD and kind_flag(view_record(s.v, id))):
        width = 6
    put_type(s, id)
    put_padded_name(t, start + width, frame.type_column - width, c)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_function(
    s: cython.pointer[Show], frame: cython.pointer[Level], id: uint32_t, pointer: cython.bint,
    c: cython.pointer[cython.const[Called]]
) -> cython.void:  # fmt: skip
    """A function, or a pointer to one, in the columns of a member."""
    t: cython.pointer[Text] = cython.address(s.out)
    start: cython.size_t = t.n
    put_type(s, view_record(s.v, id)[2])
    pad_line(t, start, abs(frame.type_column))
    put(t, b" (*" if pointer else b" (")
    put_called(t, c)
    put_char(t, b")")
    put_parameters(s, id)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_kind(s: cython.pointer[Show], id: uint32_t, kind: uint32_t) -> cython.bint:
    return id != 0 and wire_kind(view_record(s.v, id)) == kind


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_tagged(s: cython.pointer[Show], id: uint32_t) -> cython.bint:
    """Whether it is a struct, a union or an enum, even one that is only declared."""
    kind: uint32_t = wire_kind(view_record(s.v, id)) if id else 0
    return is_composite(kind) or is_enum(kind) or kind == KIND_FWD


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_nameless(s: cython.pointer[Show], id: uint32_t) -> cython.bint:
    """Whether it is such a type, and has no name."""
    return is_tagged(s, id) and view_record(s.v, id)[0] == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_braces(
    s: cython.pointer[Show], id: uint32_t, outer: cython.pointer[Level], frame: cython.pointer[Level],
    c: cython.pointer[cython.const[Called]]
) -> cython.void:  # fmt: skip
    """A struct, union or enum with what is inside it."""
    t: cython.pointer[Text] = cython.address(s.out)
    kind: uint32_t = wire_kind(view_record(s.v, id))
    f: cython.pointer[Facts] = cython.NULL
    if kind != KIND_UNION:
        c = cython.address(frame.suffix)
    if is_enum(kind):
        put_enum(s, id, outer.level)
    elif kind == KIND_FWD:
        put_type(s, id)
        put(t, b" {\n")
        if frame.sums:
            put_no_sums(t, outer.level + 1)
        put_tabs(t, outer.level)
        put_char(t, b"}")
    else:
        frame.level = outer.level + 1
        frame.type_column -= 8
        frame.comment_column -= 8
        put_composite(s, id, frame)
        f = facts_of(s, id)
    outer.braces = True
    outer.brace = t.n - 1
    outer.uncounted = 0
    if f != cython.NULL and is_packed(s, id):
        put_packed(s)
    if c.apart or c.stars or c.name[0]:
        put_char(t, b" ")
        put_called(t, c)
    if f != cython.NULL and f.align and not is_packed(s, id):
        outer.uncounted = t.n
        put_align(s, f.align)
        outer.uncounted = t.n - outer.uncounted


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_array(
    s: cython.pointer[Show], frame: cython.pointer[Level], id: uint32_t, c: cython.pointer[cython.const[Called]]
) -> cython.void:
    """The elements, and after them the dimensions."""
    element: uint32_t = element_of(s, id)
    if view_record(s.v, id)[5] == 0 and element and wire_kind(view_record(s.v, element)) == KIND_CONST:
        element = view_record(s.v, element)[2]
    if show_enter(s, id):
        put_declared(s, frame, element, c)
        put_dimensions(s, id, frame.flexible)
        s.depth -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_braces(s: cython.pointer[Show], id: uint32_t, expand: cython.bint) -> cython.bint:
    """Whether a struct, union or enum is printed with what is inside it."""
    r: cython.pointer[uint32_t] = view_record(s.v, id)
    if r[0] == 0:
        return True
    if wire_kind(r) == KIND_UNION or (wire_kind(r) == KIND_FWD and kind_flag(r)):
        return s.format.expand
    return expand


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def behind_pointers(s: cython.pointer[Show], id: uint32_t, count: cython.pointer[uint32_t]) -> uint32_t:
    """What pointers lead to, behind its tags, and how many pointers these are. One to void is not followed."""
    count[0] = 0
    while is_kind(s, id, KIND_PTR) and view_record(s.v, id)[2] and count[0] < SHOW_MAX_CHAIN:
        id = view_record(s.v, id)[2]
        count[0] += 1
    return behind_tags(s, id) if count[0] else id


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_step(
    s: cython.pointer[Show], frame: cython.pointer[Level], id: cython.pointer[uint32_t], quiet: cython.bint,
    c: cython.pointer[Called]
) -> cython.bint:  # fmt: skip
    """A part of the line that comes before another type: `const`, tags, a pointer to what has no name. `id` becomes
    that type. False: there is none, and `id` itself is what the rest of the line says.
    """
    r: cython.pointer[uint32_t]
    if id[0] == 0:
        return False
    r = view_record(s.v, id[0])
    if wire_kind(r) == KIND_CONST:
        put(cython.address(s.out), b"const ")
        frame.type_column -= CONST_WIDTH
        frame.comment_column -= CONST_WIDTH
        if r[2] == 0:
            return False
        id[0] = r[2]
        return True
    if wire_kind(r) == KIND_TYPE_TAG:
        id[0] = r[2]
        return True
    if wire_kind(r) == KIND_PTR and is_nameless(s, behind_tags(s, r[2])):
        c.apart = True
        frame.suffix = c[0]
        frame.sums = False
        frame.quiet = quiet
        frame.type_column -= 8
        frame.comment_column -= 8
        frame.base = 0
        frame.relative = True
        id[0] = behind_tags(s, r[2])
        return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_end(
    s: cython.pointer[Show], outer: cython.pointer[Level], frame: cython.pointer[Level], id: uint32_t,
    expand: cython.bint, c: cython.pointer[cython.const[Called]]
) -> cython.void:  # fmt: skip
    """The type that no step leads on from, and what is called so. `expand`: a struct that has a name, too."""
    start: cython.size_t = s.out.n
    r: cython.pointer[uint32_t]
    if id == 0:
        put_default(s, frame, id, c)
        return
    r = view_record(s.v, id)
    if is_tagged(s, id):
        if has_braces(s, id, expand):
            put_braces(s, id, outer, frame, c)
        else:
            put_keyword(s, frame, id, c)
        outer.cacheline = frame.cacheline
    elif wire_kind(r) == KIND_CONST:  # of void
        put_type(s, id)
        put_padded_name(cython.address(s.out), start, frame.type_column, c)
    elif wire_kind(r) == KIND_PTR and is_kind(s, behind_tags(s, r[2]), KIND_FUNC_PROTO):
        put_function(s, frame, behind_tags(s, r[2]), True, c)
    elif wire_kind(r) == KIND_FUNC_PROTO:
        put_function(s, frame, id, False, c)
    elif wire_kind(r) == KIND_ARRAY:
        put_array(s, frame, id, c)
        outer.cacheline = frame.cacheline
    else:
        put_default(s, frame, id, c)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_declared(
    s: cython.pointer[Show], outer: cython.pointer[Level], id: uint32_t, called: cython.pointer[cython.const[Called]]
) -> cython.void:
    """A type, and what is called so. `outer` gets to know whether that ended with a brace, and the last cache line."""
    expand: cython.bint = s.format.expand  # a struct that has a name, and typedefs
    quiet: cython.bint
    pointers: uint32_t = 0
    steps: uint32_t = 0
    marked: uint32_t = 0
    frame = cython.declare(Level)
    c = cython.declare(Called)
    frame = outer[0]
    c = called[0]
    outer.braces = False
    if s.format.expand_pointers:
        id = behind_pointers(s, id, cython.address(pointers))
        expand = pointers != 0 and s.within[id] == 0
        marked = id
        s.within[marked] += 1
        c.stars += pointers
    quiet = outer.quiet or pointers != 0
    if expand:
        id = put_typedefs(s, id)
    if is_tagged(s, id):
        frame.suffix = c
        frame.sums = False
        frame.quiet = quiet
    while show_step(s, id):
        if not put_step(s, cython.address(frame), cython.address(id), quiet, cython.address(c)):
            put_end(s, outer, cython.address(frame), id, expand, cython.address(c))
            break
        steps += 1
        if steps == SHOW_MAX_CHAIN:
            show_fail(s, SHOW_CYCLE, id)
    if marked:
        s.within[marked] -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_member(
    s: cython.pointer[Show], frame: cython.pointer[Level], m: cython.pointer[uint32_t], p: cython.pointer[MemberLayout]
) -> cython.void:
    """One member, with all that is inside it if it is printed."""
    t: cython.pointer[Text] = cython.address(s.out)
    start: cython.size_t
    before: cython.size_t
    direct: cython.bint = is_tagged(s, m[1])  # its name stands after the attributes of its type
    c = cython.declare(Called)
    inner = cython.declare(Level)
    c.stars = 0
    c.apart = False
    c.name = b""
    if not direct:
        c.name = view_name(s.v, m[0])
    c.missing = not direct and c.name[0] == 0
    inner = frame[0]
    inner.base = 0 if frame.relative else frame.base + p.offset
    put_tabs(t, frame.level)
    start = t.n
    put_declared(s, cython.address(inner), m[1], cython.address(c))
    frame.cacheline = inner.cacheline
    if direct and view_name(s.v, m[0])[0]:
        if inner.braces or s.format.expand:
            put_char(t, b" ")
        put(t, view_name(s.v, m[0]))
    if p.bits:
        before = t.n
        put_char(t, b":")
        put_unsigned(t, p.bits)
        if direct and view_record(s.v, m[1])[0] == 0:
            inner.uncounted += t.n - before
    if p.align:
        put_align(s, p.align)
    put_char(t, b";")
    if frame.quiet or s.format.quiet:
        put_char(t, b"\n")
        return
    if direct and view_record(s.v, m[1])[0] == 0:
        # Counted from the brace; columns left of it are as far away as those to the right of it.
        before = t.n - inner.brace - inner.uncounted
        pad_line(t, t.n, abs(frame.comment_column + 1 - cython.cast(cython.int, before)) - 1)
    else:
        pad_line(t, start, frame.comment_column)
    put_offset(s, frame, p)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_skipped(
    s: cython.pointer[Show], frame: cython.pointer[Level], id: uint32_t, p: cython.pointer[MemberLayout]
) -> cython.void:
    """The declaration that leaves bits out, if one is due: a member without a name."""
    t: cython.pointer[Text] = cython.address(s.out)
    inner = cython.declare(Level)
    c = cython.declare(Called)
    inside: cython.bint = p.meets == MEETS_UNIT or (p.meets == MEETS_PREVIOUS and p.bit_hole != 0)
    if not inside and p.meets != MEETS_BOUNDARY and p.meets != MEETS_BOUNDARY_NEXT:
        return
    c.stars = 0
    c.apart = c.missing = False
    c.name = b""
    inner = frame[0]
    put_tabs(t, frame.level)
    put_declared(s, cython.address(inner), id, cython.address(c))
    while inner.braces and is_kind(s, id, KIND_TYPEDEF):  # with braces, it ends
        id = view_record(s.v, id)[2]
    if inner.braces and is_tagged(s, id):
        put_char(t, b" ")
    put_char(t, b":")
    put_unsigned(t, p.bit_hole if inside else 0)
    put(t, b";\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_composite(s: cython.pointer[Show], id: uint32_t, frame: cython.pointer[Level]) -> cython.void:
    """The keyword, the name, the members and the sums, up to the closing brace."""
    t: cython.pointer[Text] = cython.address(s.out)
    r: cython.pointer[uint32_t] = view_record(s.v, id)
    m: cython.pointer[uint32_t] = r + 3
    is_struct: cython.bint = wire_kind(r) == KIND_STRUCT
    count: uint32_t = wire_vlen(r)
    i: uint32_t
    blank: cython.bint = False  # an empty line is due
    cacheline: uint32_t = frame.cacheline
    f = cython.declare(Facts)
    layouts: cython.pointer[MemberLayout]
    if not show_enter(s, id):
        return
    if facts_of(s, id) == cython.NULL:
        s.depth -= 1
        return
    layouts = cython.cast(cython.pointer[MemberLayout], calloc(count + 1, cython.sizeof(MemberLayout)))
    if layouts == cython.NULL:
        show_fail(s, SHOW_MEMORY, id)
        s.depth -= 1
        return
    study(s, id, cython.address(f), layouts)
    mark_packed(s, id)
    put(t, b"struct " if is_struct else b"union ")
    if r[0]:
        put(t, view_name(s.v, r[0]))
        put_char(t, b" ")
    put(t, b"{\n")
    if not is_struct:
        frame.in_union = True
    for i in range(count):
        if s.status:
            break
        if is_struct:
            put_gap(s, frame, layouts + i, cython.address(blank))
            put_skipped(s, frame, m[1], layouts + i)
            put_combined(s, frame, layouts + i)
        if is_struct and not s.format.quiet:
            put_cacheline(s, frame, layouts + i, cython.address(blank))
        if blank:
            put_char(t, b"\n")
            blank = False
        frame.flexible = not frame.in_union and i and i == count - 1
        put_member(s, frame, m, layouts + i)
        if not is_struct:
            frame.cacheline = cacheline
        elif not s.format.quiet:
            if is_kind(s, m[1], KIND_STRUCT):
                mark_packed(s, m[1])
            blank = put_after(s, m[1], frame.level)
        m += 3
    if frame.sums and is_struct and not s.format.quiet:
        put_summary(s, r, cython.address(f), frame.level, frame.base)
    free(layouts)
    put_tabs(t, frame.level - 1)
    put_char(t, b"}")
    s.depth -= 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_tail(s: cython.pointer[Show], id: uint32_t, name: cython.p_const_char) -> cython.void:
    """What stands after the closing brace."""
    f: cython.pointer[Facts] = facts_of(s, id)
    if is_packed(s, id):
        put_packed(s)
    if name[0]:
        put_char(cython.address(s.out), b" ")
        put(cython.address(s.out), name)
    if f != cython.NULL and f.align and not is_packed(s, id):
        put_align(s, f.align)
