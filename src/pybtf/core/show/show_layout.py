"""Where members lie: holes, padding, bit-fields, and the attributes that must have brought them there.

BTF has offsets and sizes, and no attributes. A member that lies further on than its type's alignment explains must have
been aligned by one; a member that lies where its type's alignment does not allow it is in a packed struct.
"""

import cython
from cython.cimports.libc.stdint import int64_t, uint32_t
from cython.cimports.libc.string import memset
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_ARRAY,
    KIND_ENUM,
    KIND_ENUM64,
    KIND_FLOAT,
    KIND_INT,
    KIND_PTR,
    KIND_RESTRICT,
    KIND_STRUCT,
    KIND_TYPE_TAG,
    KIND_TYPEDEF,
)
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import (
    is_composite,
    is_modifier,
    member_bits,
    member_offset,
    view_record,
)
from cython.cimports.pybtf.core.show.show_layout import Ends, is_empty
from cython.cimports.pybtf.core.show.show_types import (
    FACTS_BUSY,
    FACTS_KNOWN,
    MEETS_BOUNDARY,
    MEETS_BOUNDARY_NEXT,
    MEETS_NEXT,
    MEETS_NOTHING,
    MEETS_PREVIOUS,
    MEETS_UNIT,
    SHOW_CYCLE,
    SHOW_EFFORT,
    SHOW_MAX_CHAIN,
    Facts,
    MemberLayout,
    Plan,
    Show,
    show_enter,
    show_fail,
    show_step,
)

LARGEST = cython.declare(uint32_t, 1 << 31)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def behind(s: cython.pointer[Show], id: uint32_t) -> uint32_t:
    """The type behind typedefs, qualifiers and tags."""
    steps: uint32_t = 0
    first: uint32_t = id
    kind: uint32_t
    while id:
        kind = wire_kind(view_record(s.v, id))
        if kind != KIND_TYPEDEF and not is_modifier(kind) and kind != KIND_TYPE_TAG:
            break
        if not show_step(s, first):
            return 0
        id = view_record(s.v, id)[2]
        steps += 1
        if steps > SHOW_MAX_CHAIN:
            show_fail(s, SHOW_CYCLE, first)
            return 0
    return id


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def elements(s: cython.pointer[Show], id: uint32_t) -> uint32_t:
    """As `behind`; and of arrays, that of their elements."""
    steps: uint32_t = 0
    id = behind(s, id)
    while id and wire_kind(view_record(s.v, id)) == KIND_ARRAY:
        id = behind(s, view_record(s.v, id)[3])
        steps += 1
        if steps > SHOW_MAX_CHAIN:
            show_fail(s, SHOW_CYCLE, id)
            return 0
    return id


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_restrict(s: cython.pointer[Show], id: uint32_t) -> cython.bint:
    """Whether `restrict` is on the way from `id` to its `elements`."""
    r: cython.pointer[cython.const[uint32_t]]
    kind: uint32_t
    while id:
        r = view_record(s.v, id)
        kind = wire_kind(r)
        if kind == KIND_RESTRICT:
            return True
        if kind != KIND_ARRAY and kind != KIND_TYPEDEF and not is_modifier(kind) and kind != KIND_TYPE_TAG:
            break
        id = r[3] if kind == KIND_ARRAY else r[2]
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def size_of(s: cython.pointer[Show], id: uint32_t) -> int64_t:
    """In bytes, at most 32 bits of them; 0 of what has none."""
    count: int64_t = 1
    steps: uint32_t = 0
    kind: uint32_t
    id = behind(s, id)
    while id and wire_kind(view_record(s.v, id)) == KIND_ARRAY:
        count = cython.cast(uint32_t, count * view_record(s.v, id)[5])
        id = behind(s, view_record(s.v, id)[3])
        steps += 1
        if steps > SHOW_MAX_CHAIN:
            show_fail(s, SHOW_CYCLE, id)
            return 0
    if id == 0:
        return 0
    kind = wire_kind(view_record(s.v, id))
    if kind == KIND_PTR:
        return cython.cast(uint32_t, count * s.v.pointer_size)
    if is_composite(kind) or kind == KIND_INT or kind == KIND_ENUM or kind == KIND_ENUM64 or kind == KIND_FLOAT:
        return 0 if is_empty(view_record(s.v, id)) else cython.cast(uint32_t, count * view_record(s.v, id)[2])
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def natural_of(s: cython.pointer[Show], id: uint32_t) -> uint32_t:
    """The alignment of a type without attributes; 0 of what has none."""
    kind: uint32_t
    size: uint32_t
    f: cython.pointer[Facts]
    id = elements(s, id)
    if id == 0:
        return 0
    kind = wire_kind(view_record(s.v, id))
    if kind == KIND_PTR:
        return s.v.pointer_size
    if is_composite(kind):
        f = facts_of(s, id)
        return f.natural if f != cython.NULL else 0
    if kind == KIND_INT or kind == KIND_ENUM or kind == KIND_ENUM64 or kind == KIND_FLOAT:
        size = view_record(s.v, id)[2]
        return size
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def facts_of(s: cython.pointer[Show], id: uint32_t) -> cython.pointer[Facts]:
    """Of a struct or union. NULL if it contains itself."""
    f: cython.pointer[Facts] = s.facts + id
    if f.state == FACTS_KNOWN:
        return f
    if f.state == FACTS_BUSY:
        show_fail(s, SHOW_CYCLE, id)
        return cython.NULL
    if not show_enter(s, id):
        return cython.NULL
    f.state = FACTS_BUSY
    study(s, id, f, cython.NULL)
    f.state = FACTS_KNOWN
    s.depth -= 1
    return f


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def power_above(value: uint32_t) -> uint32_t:
    """The smallest power of two that is larger."""
    power: uint32_t = 1
    while power <= value and power < LARGEST:
        power *= 2
    return power


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def forced_alignment(
    s: cython.pointer[cython.const[Show]], gap: uint32_t, offset: uint32_t, natural: uint32_t
) -> uint32_t:
    """The attribute that explains a gap in front of an offset; 0 if the type does."""
    align: uint32_t
    if natural == 0 or gap < natural or gap == 0 or offset % 2:
        return 0
    align = power_above(gap)
    if offset % s.line_size == 0 and align < s.line_size and s.line_size % align == 0:
        align = s.line_size
    return align


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def member_facts(s: cython.pointer[Show], f: cython.pointer[Facts], type: uint32_t) -> cython.void:
    """What the type of a member adds."""
    inner: cython.pointer[Facts]
    id: uint32_t = behind(s, type)
    if id == 0 or wire_kind(view_record(s.v, id)) != KIND_STRUCT:
        return
    inner = facts_of(s, id)
    if inner == cython.NULL:
        return
    if inner.ends_flexible or inner.embeds_flexible:
        f.embeds_flexible = True
    if id != type:  # all else is counted only where the struct is named as such
        return
    if inner.ends_flexible:
        f.flexible_end += 1
    if inner.embeds_flexible:
        f.flexible_middle += 1
    if inner.holes:
        f.with_holes += 1
        f.holes_inside += inner.holes
    if inner.bit_holes:
        f.with_bit_holes += 1
        f.bit_holes_inside += inner.bit_holes
    if inner.padding:
        f.paddings += 1
        f.padding_inside += inner.padding
    if inner.bit_padding:
        f.bit_paddings += 1
        f.bit_padding_inside += inner.bit_padding


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def keep_attributes(
    plan: cython.pointer[cython.const[Plan]], f: cython.pointer[Facts], layouts: cython.pointer[MemberLayout]
) -> cython.void:
    """What members and struct had been given is not found anew once they have been moved."""
    i: uint32_t
    f.align = 0 if f.packed else plan.align
    f.forced = f.forced_holes = f.forced_bytes = 0
    if layouts == cython.NULL:
        return
    for i in range(plan.count):
        layouts[i].align = plan.slots[i].align
        if layouts[i].align:
            f.forced += 1
            if layouts[i].hole:
                f.forced_holes += 1
                f.forced_bytes += layouts[i].hole


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def study(
    s: cython.pointer[Show], id: uint32_t, f: cython.pointer[Facts], layouts: cython.pointer[MemberLayout]
) -> cython.void:
    """Fill in the facts, and the place of each member if there is room for them."""
    r: cython.pointer[uint32_t] = view_record(s.v, id)
    m: cython.pointer[uint32_t] = r + 3
    is_struct: cython.bint = wire_kind(r) == KIND_STRUCT
    p = cython.declare(MemberLayout)
    last = cython.declare(MemberLayout)
    e = cython.declare(Ends)
    start: int64_t
    i: uint32_t
    memset(f, 0, cython.sizeof(Facts))
    memset(cython.address(last), 0, cython.sizeof(MemberLayout))
    memset(cython.address(e), 0, cython.sizeof(Ends))
    f.state = FACTS_BUSY
    f.natural = 1
    for i in range(wire_vlen(r)):
        start = member_offset(r, m)
        place(s, f, r, m, cython.address(p))
        if is_struct:
            measure_gap(cython.address(p), cython.address(e), start)
            if i:
                p.meets = meeting(cython.address(p), cython.address(last), e.first_end)
            if p.bit == 0 and start > e.solid:
                p.align = forced_alignment(
                    s, cython.cast(uint32_t, (start - e.solid) // 8), p.offset, natural_of(s, m[1])
                )
        count_member(f, cython.address(p))
        note_biggest(s, f, m, cython.address(p))
        if layouts != cython.NULL:
            layouts[i] = p
        pass_member(cython.address(e), cython.address(p), cython.address(last), start)
        member_facts(s, f, m[1])
        last = p
        m += 3
    if f.natural and r[2] % f.natural:
        f.packed = True
    if is_struct:
        if wire_vlen(r):
            m -= 3
            f.ends_flexible = is_flexible(s, m[1])
        measure_end(s, f, cython.address(e), r[2])
    if f.holes or f.padding or not is_struct:
        f.packed = False
    if s.plan != cython.NULL and s.plan.id == id and s.plan.shown:
        f.packed = s.plan.packed
    if f.packed:
        f.align = 0
    if s.plan != cython.NULL and s.plan.id == id:
        keep_attributes(s.plan, f, layouts)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def place(
    s: cython.pointer[Show],
    f: cython.pointer[Facts],
    r: cython.pointer[uint32_t],
    m: cython.pointer[uint32_t],
    p: cython.pointer[MemberLayout],
) -> cython.void:
    """Where a member lies, by itself. A bit-field lies in a unit of its type's size."""
    natural: uint32_t = natural_of(s, m[1])
    start: int64_t = member_offset(r, m)
    memset(p, 0, cython.sizeof(MemberLayout))
    p.size = cython.cast(uint32_t, size_of(s, m[1]))
    p.bits = member_bits(r, m)
    p.offset = start // 8
    if natural > f.natural:
        f.natural = natural
    if p.bits:
        if p.size:
            p.offset = start // (8 * cython.cast(int64_t, p.size)) * p.size
        p.bit = start - 8 * cython.cast(int64_t, p.offset)
    elif natural and p.offset % natural:
        f.packed = True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure_gap(p: cython.pointer[MemberLayout], e: cython.pointer[Ends], start: int64_t) -> cython.void:
    """What nothing uses in front of a member: the rest of a unit of bit-fields, whole bytes, bits of its own unit."""
    until: int64_t
    if start <= e.end:
        return
    if e.unit > e.end:
        until = e.unit if e.unit < start else start
        p.bit_hole = until - e.end
        e.end = until
    if p.bits:
        until = 8 * cython.cast(int64_t, p.offset)
        if until < e.end:
            until = e.end
        p.bit_hole += start - until
        p.hole = (until - e.end) // 8
    else:
        p.hole = (start - e.end) // 8


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def meeting(
    p: cython.pointer[cython.const[MemberLayout]], last: cython.pointer[cython.const[MemberLayout]], first_end: int64_t
) -> cython.int:
    """How a member and the one in front of it share units (MEETS_*)."""
    limit: int64_t = first_end if last.bits else 8 * (cython.cast(int64_t, last.offset) + last.size)
    if p.bits and p.offset < last.offset and last.size == 0:  # nothing lies there
        return MEETS_UNIT if p.bit_hole else MEETS_NOTHING
    if p.bits and p.offset <= last.offset and (p.offset < last.offset or (not last.bits and last.size)):
        return MEETS_PREVIOUS
    if (p.bits or last.bits) and p.offset != last.offset and 8 * cython.cast(int64_t, p.offset) < limit:
        return MEETS_BOUNDARY_NEXT if p.bits and p.bit_hole else MEETS_NEXT
    if p.bit_hole and p.bits:
        return MEETS_UNIT if p.offset == last.offset else MEETS_BOUNDARY
    return MEETS_NOTHING


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_member(f: cython.pointer[Facts], p: cython.pointer[cython.const[MemberLayout]]) -> cython.void:
    """Adds what is known of a member to the sums of its struct."""
    if p.bit_hole:
        f.bit_holes += 1
        f.bit_hole_bits += p.bit_hole
    if p.hole:
        f.holes += 1
        f.hole_bytes += p.hole
    if p.align:
        f.forced += 1
        if p.hole:
            f.forced_holes += 1
            f.forced_bytes += p.hole
    if p.bits:
        f.sum_bits += p.bits
    else:
        f.sum_members += p.size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def note_biggest(
    s: cython.pointer[Show], f: cython.pointer[Facts], m: cython.pointer[cython.const[uint32_t]],
    p: cython.pointer[cython.const[MemberLayout]]
) -> cython.void:  # fmt: skip
    """Remembers a member if it has the biggest element so far, as pahole counts: sizes are powers of two for it; of
    a struct, the whole of that member counts that is its own biggest; what a pointer fits in ends the search; what is
    `restrict` has no size.
    """
    inner: cython.pointer[Facts] = cython.NULL
    size: uint32_t
    id: uint32_t
    if f.biggest >= s.v.pointer_size:
        return
    id = elements(s, m[1])
    if id == 0 or is_restrict(s, m[1]):
        return
    if is_composite(wire_kind(view_record(s.v, id))):
        inner = facts_of(s, id)
        size = inner.biggest_size if inner != cython.NULL else 0
    else:
        size = cython.cast(uint32_t, size_of(s, id))
    if power_above(size) <= power_above(f.biggest):
        return
    f.biggest = size
    if inner != cython.NULL and size <= s.v.pointer_size:
        f.biggest_name = inner.biggest_name
        f.biggest_offset = inner.biggest_offset
        f.biggest_size = inner.biggest_size
    else:
        f.biggest_name = m[0]
        f.biggest_offset = p.offset
        f.biggest_size = p.size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def pass_member(
    e: cython.pointer[Ends],
    p: cython.pointer[cython.const[MemberLayout]],
    last: cython.pointer[cython.const[MemberLayout]],
    start: int64_t,
) -> cython.void:
    """Moves the ends after a member. `last`: the member in front of it."""
    end: int64_t = start + (p.bits if p.bits else 8 * cython.cast(int64_t, p.size))
    unit: int64_t
    if p.bits:
        unit = 8 * (cython.cast(int64_t, p.offset) + p.size)
        if p.offset != last.offset or not last.bits:
            e.first_end = unit
        if end > unit and p.size:  # in packed structs it goes on in the next unit
            unit += 8 * cython.cast(int64_t, p.size)
        if unit > e.unit:
            e.unit = unit
    else:
        e.unit = e.first_end = 0
    if end > e.end:
        e.end = end
    if p.size and end > e.solid:
        e.solid = end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure_end(
    s: cython.pointer[cython.const[Show]], f: cython.pointer[Facts], e: cython.pointer[Ends], size: uint32_t
) -> cython.void:
    """Padding of a struct of this size, and the attribute that explains it."""
    whole: int64_t = 8 * cython.cast(int64_t, size)
    until: int64_t
    if e.unit > e.end:
        until = e.unit if e.unit < whole else whole
        if until > e.end:
            f.bit_padding = until - e.end
            e.end = until
    if whole > e.end:
        f.padding = (whole - e.end) // 8
    if whole > e.solid:
        f.align = forced_alignment(s, cython.cast(uint32_t, (whole - e.solid) // 8), size, f.natural)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_flexible(s: cython.pointer[Show], id: uint32_t) -> cython.bint:
    """Whether a type is an array without a size. pahole counts only those of one dimension."""
    r: cython.pointer[uint32_t] = view_record(s.v, id)
    if id == 0 or wire_kind(r) != KIND_ARRAY or r[5]:
        return False
    return r[3] == 0 or wire_kind(view_record(s.v, r[3])) != KIND_ARRAY


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mark_packed(s: cython.pointer[Show], id: uint32_t) -> cython.void:
    """A struct that has holes or padding is not packed; what lies askew in it must be, then.

    So must be what a union holds whose size is not a multiple of its alignment. Of a struct that is known to be packed
    from where it lies itself, nothing follows.
    """
    r: cython.pointer[uint32_t] = view_record(s.v, id)
    m: cython.pointer[uint32_t] = r + 3
    f: cython.pointer[Facts] = facts_of(s, id)
    natural: uint32_t
    i: uint32_t
    is_struct: cython.bint = wire_kind(r) == KIND_STRUCT
    if f == cython.NULL or f.marked == s.round or (is_struct and f.holes == 0 and f.padding == 0):
        return
    # Not once for a type, but for each member that is one.
    if s.effort < wire_vlen(r):
        show_fail(s, SHOW_EFFORT, id)
        return
    s.effort -= wire_vlen(r)
    for i in range(wire_vlen(r)):
        id = behind(s, m[1])
        if id and wire_kind(view_record(s.v, id)) == KIND_STRUCT and member_bits(r, m) == 0:
            natural = natural_of(s, id)
            if natural and (member_offset(r, m) // 8 if is_struct else r[2]) % natural:
                s.facts[id].marked = s.round
        m += 3


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_packed(s: cython.pointer[Show], id: uint32_t) -> cython.bint:
    """Whether the attribute stands after a struct."""
    f: cython.pointer[Facts] = facts_of(s, id)
    return f != cython.NULL and (f.packed or f.marked == s.round)
