"""Comments about a struct as a whole: the sums at its end, and what is said after a member of its type."""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.pybtf.core.btf.kinds import KIND_STRUCT
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import view_name, view_record
from cython.cimports.pybtf.core.dump.text_buffer import Text, put, put_char, put_many, put_unsigned
from cython.cimports.pybtf.core.show.show_layout import facts_of, is_empty
from cython.cimports.pybtf.core.show.show_types import Facts, Show


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_count(t: cython.pointer[Text], count: uint32_t, what: cython.p_const_char) -> cython.void:
    """`1 byte`, `2 bytes`."""
    put_unsigned(t, count)
    put_char(t, b" ")
    put(t, what)
    if count != 1:
        put_char(t, b"s")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_packed(s: cython.pointer[Show]) -> cython.void:
    if not s.format.no_packed:
        put(cython.address(s.out), b" __attribute__((__packed__))")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_align(s: cython.pointer[Show], align: uint32_t) -> cython.void:
    t: cython.pointer[Text] = cython.address(s.out)
    if s.format.no_aligned:
        return
    put(t, b" __attribute__((__aligned__(")
    put_unsigned(t, align)
    put(t, b")))")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin(t: cython.pointer[Text], said: cython.bint, level: uint32_t) -> cython.void:
    """What stands in front of the next thing that is said of a type."""
    if said:
        put(t, b", ")
    else:
        put_char(t, b"\n")
        put_many(t, b"\t", level)
        put(t, b"/* XXX last struct has ")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_after(s: cython.pointer[Show], type: uint32_t, level: uint32_t) -> cython.bint:
    """What is worth knowing of the type of a member, after it. Whether there is anything."""
    t: cython.pointer[Text] = cython.address(s.out)
    f: cython.pointer[Facts]
    said: cython.bint = False
    id: uint32_t = type
    if id == 0 or wire_kind(view_record(s.v, id)) != KIND_STRUCT:
        return False
    f = facts_of(s, id)
    if f == cython.NULL:
        return False
    if f.ends_flexible:
        begin(t, said, level)
        put(t, b"a flexible array")
        said = True
    if f.embeds_flexible:
        begin(t, said, level)
        put(t, b"embedded flexible array(s)")
        said = True
    if f.padding:
        begin(t, said, level)
        put_count(t, f.padding, b"byte")
        put(t, b" of padding")
        said = True
    if f.bit_padding:
        begin(t, said, level)
        put_count(t, f.bit_padding, b"bit")
        put(t, b" of padding")
        said = True
    if f.holes:
        begin(t, said, level)
        put_count(t, f.holes, b"hole")
        said = True
    if f.bit_holes:
        begin(t, said, level)
        put_count(t, f.bit_holes, b"bit hole")
        said = True
    if said:
        put(t, b" */\n")
    return said


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def line(t: cython.pointer[Text], level: uint32_t, text: cython.p_const_char, value: uint32_t) -> cython.void:
    """The beginning of a line of the summary."""
    put_many(t, b"\t", level)
    put(t, b"/* ")
    put(t, text)
    put_unsigned(t, value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def more(t: cython.pointer[Text], text: cython.p_const_char, value: uint32_t) -> cython.void:
    put(t, text)
    put_unsigned(t, value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_inside(t: cython.pointer[Text], level: uint32_t, f: cython.pointer[Facts]) -> cython.void:
    """What the types of the members have."""
    if f.with_holes or f.with_bit_holes or f.bit_paddings:
        put_many(t, b"\t", level)
        put(t, b"/* member types with ")
        if f.with_holes:
            more(t, b"holes: ", f.with_holes)
            more(t, b", total: ", f.holes_inside)
        if f.with_bit_holes:
            more(t, b", bit holes: " if f.with_holes else b"bit holes: ", f.with_bit_holes)
            more(t, b", total: ", f.bit_holes_inside)
        if f.bit_paddings:
            more(t, b", bit paddings: " if f.with_holes or f.with_bit_holes else b"bit paddings: ", f.bit_paddings)
            put(t, b", total: ")
            put_count(t, f.bit_padding_inside, b"bit")
        put(t, b" */\n")
    if f.paddings:
        line(t, level, b"paddings: ", f.paddings)
        more(t, b", sum paddings: ", f.padding_inside)
        put(t, b" */\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_sums(t: cython.pointer[Text], level: uint32_t, f: cython.pointer[Facts]) -> cython.void:
    """Of a struct with holes: how much of it members take, and how much the holes."""
    if f.sum_members:
        line(t, level, b"sum members: ", f.sum_members)
        if f.holes:
            more(t, b", holes: ", f.holes)
            more(t, b", sum holes: ", f.hole_bytes)
        put(t, b" */\n")
    if f.sum_bits:
        line(t, level, b"sum bitfield members: ", f.sum_bits)
        put(t, b" bits")
        if f.bit_holes:
            more(t, b", bit holes: ", f.bit_holes)
            more(t, b", sum bit holes: ", f.bit_hole_bits)
            put(t, b" bits")
        else:
            more(t, b" (", f.sum_bits // 8)
            put(t, b" bytes)")
        put(t, b" */\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_flexible(t: cython.pointer[Text], level: uint32_t, f: cython.pointer[Facts]) -> cython.void:
    """How many members have a flexible array, at their end and before it."""
    put_many(t, b"\t", level)
    put(t, b"/* flexible array members: ")
    if f.flexible_end:
        more(t, b"end: ", f.flexible_end)
    if f.flexible_middle:
        more(t, b", middle: " if f.flexible_end else b"middle: ", f.flexible_middle)
    put(t, b" */\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_biggest(s: cython.pointer[Show], level: uint32_t, f: cython.pointer[Facts]) -> cython.void:
    """The first member with the biggest element."""
    t: cython.pointer[Text] = cython.address(s.out)
    put_many(t, b"\t", level)
    put(t, b"/* first biggest size base type member: ")
    if f.biggest_name:
        put(t, view_name(s.v, f.biggest_name))
    else:
        put(t, b"(null)")
    more(t, b" ", f.biggest_offset)
    more(t, b" ", f.biggest_size)
    put(t, b" */\n")


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_summary(
    s: cython.pointer[Show], r: cython.pointer[cython.const[uint32_t]], f: cython.pointer[Facts], level: uint32_t,
    base: uint32_t
) -> cython.void:
    """The lines at the end of a struct."""
    t: cython.pointer[Text] = cython.address(s.out)
    size: uint32_t = r[2]
    last: uint32_t = (base + size) % s.line_size
    put_char(t, b"\n")
    line(t, level, b"size: ", size)
    more(t, b", cachelines: ", 0 if is_empty(r) else size // s.line_size + (size % s.line_size != 0))
    more(t, b", members: ", wire_vlen(r))
    put(t, b" */\n")
    if f.holes or f.bit_holes:
        put_sums(t, level, f)
    if f.padding:
        line(t, level, b"padding: ", f.padding)
        put(t, b" */\n")
    put_inside(t, level, f)
    if f.bit_padding:
        line(t, level, b"bit_padding: ", f.bit_padding)
        put(t, b" bits */\n")
    if f.forced and not s.format.no_aligned:
        line(t, level, b"forced alignments: ", f.forced)
        if f.forced_holes:
            more(t, b", forced holes: ", f.forced_holes)
            more(t, b", sum forced holes: ", f.forced_bytes)
        put(t, b" */\n")
    if f.flexible_end or f.flexible_middle:
        put_flexible(t, level, f)
    if last:
        line(t, level, b"last cacheline: ", last)
        put(t, b" bytes */\n")
    if s.format.biggest and f.biggest:
        put_biggest(s, level, f)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_no_sums(t: cython.pointer[Text], level: uint32_t) -> cython.void:
    """Those of a struct that is only declared."""
    put_char(t, b"\n")
    line(t, level, b"size: ", 0)
    put(t, b", cachelines: 0, members: 0 */\n")
