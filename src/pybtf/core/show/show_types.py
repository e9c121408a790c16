"""Types as text for people: structs with their layout, enums, typedefs. The text is that of pahole."""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.libc.string import memset, strcmp
from cython.cimports.pybtf.core.btf.kinds import (
    KIND_DECL_TAG,
    KIND_ENUM,
    KIND_ENUM64,
    KIND_FUNC,
    KIND_FUNC_PROTO,
    KIND_PTR,
    KIND_STRUCT,
    KIND_TYPEDEF,
)
from cython.cimports.pybtf.core.btf.record_layout import wire_each, wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_view import View, is_composite, view_name, view_record
from cython.cimports.pybtf.core.dump.text_buffer import TEXT_MEMORY, text_free
from cython.cimports.pybtf.core.show.show_layout import behind, elements, facts_of, is_packed, study
from cython.cimports.pybtf.core.show.show_names import put_type
from cython.cimports.pybtf.core.show.show_print import put_definition
from cython.cimports.pybtf.core.show.show_reorganize import plan_close, plan_open, plan_step
from cython.cimports.pybtf.core.show.show_types import (
    SHOW_CYCLE,
    SHOW_DEEP,
    SHOW_EFFORT,
    SHOW_MAX_DEPTH,
    SHOW_MEMORY,
    SHOW_OK,
    Facts,
    MemberLayout,
    Plan,
    Show,
    show_enter,
    show_fail,
    show_step,
)

from pybtf.errors import quoted

FREE_EFFORT = cython.declare(cython.size_t, 1 << 26)
EFFORT_PER_WORD = cython.declare(cython.size_t, 256)
USER = cython.declare(cython.size_t, 64)  # steps that a user counts for, by the memory that it takes
WANTED = cython.declare(uint8_t, 1)
OPEN = cython.declare(uint8_t, 2)
BARREN = cython.declare(uint8_t, 4)
LONGEST = 128  # bytes of a name in a message
EXPANDED = cython.declare(cython.size_t, 1 << 25)  # steps, and bytes, of one text in which something is expanded

REASONS = {
    SHOW_CYCLE: ("type {id} contains itself", "a pointer between the two"),
    SHOW_DEEP: ("{asked} nests too deeply, at type {id}", f"at most {SHOW_MAX_DEPTH} levels"),
    SHOW_EFFORT: (
        "the text of {asked} takes too many steps, or becomes too long, at type {id}",
        "BTF made by a compiler or encoder",
    ),
}


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def is_nameless(s: cython.pointer[Show], id: uint32_t) -> cython.bint:
    return is_composite(wire_kind(view_record(s.v, id))) and view_record(s.v, id)[0] == 0


@cython.cclass
class Shower:
    """The types of a BTF as text, and what the text says of structs as numbers.

    `hex`: offsets and sizes as hexadecimal numbers. `expand`: the members of structs, and what typedefs are, in place
    of their names; `pointers`: also of what members point to. `quiet`: no comments. `relative`: offsets within a struct
    that is expanded count from its beginning. `remember`: a struct that one text shows to be packed is so in those that
    follow, as when pahole prints many. `line_size`: bytes of a cache line, at least 1. `no_packed`, `no_aligned`:
    without these attributes. `flat`: arrays of arrays as one. `biggest`: which member has the biggest element.
    """

    def __cinit__(self):
        memset(cython.address(self.s), 0, cython.sizeof(Show))

    def __dealloc__(self):
        text_free(cython.address(self.s.out))
        free(self.s.facts)
        free(self.s.within)
        free(self.s.tags)

    def __init__(
        self, view: View, hex: cython.bint = False, expand: cython.bint = False, pointers: cython.bint = False,
        quiet: cython.bint = False, relative: cython.bint = False, remember: cython.bint = False,
        line_size: uint32_t = 64, no_packed: cython.bint = False, no_aligned: cython.bint = False,
        flat: cython.bint = False, biggest: cython.bint = False
    ):  # fmt: skip
        if line_size == 0:
            raise ValueError("a cache line of no bytes")
        self.view = view
        self.s.line_size = line_size
        self.s.v = cython.address(view.v)
        self.s.format.hex = hex
        self.s.format.expand = expand
        self.s.format.expand_pointers = pointers
        self.s.format.quiet = quiet
        self.s.format.relative = relative
        self.s.format.no_packed = no_packed
        self.s.format.no_aligned = no_aligned
        self.s.format.flat = flat
        self.s.format.biggest = biggest
        self.remember = remember
        self.s.round = 1
        self.s.effort = FREE_EFFORT + EFFORT_PER_WORD * view.n_words
        self.s.out.limit = self.whole = self.left = self.given = self.s.effort
        self.s.facts = cython.cast(cython.pointer[Facts], calloc(view.v.n, cython.sizeof(Facts)))
        self.s.within = cython.cast(cython.pointer[uint16_t], calloc(view.v.n, cython.sizeof(uint16_t)))
        if self.s.facts == cython.NULL or self.s.within == cython.NULL:
            raise MemoryError

    @cython.cfunc
    def check(self):
        """Raise what has gone wrong. Of what has no end, any type inside could be blamed: it is the one asked for."""
        place: uint32_t = self.s.bad
        name: str
        raw: bytes
        if self.s.status == SHOW_MEMORY or self.s.out.status == TEXT_MEMORY:
            raise MemoryError
        if self.s.status == SHOW_OK and self.s.out.status:
            show_fail(cython.address(self.s), SHOW_EFFORT, 0)
        if self.s.status != SHOW_OK:
            found, expected = REASONS[self.s.status]
            if self.s.status != SHOW_CYCLE and self.asked:
                place = self.asked
            if self.s.status != SHOW_CYCLE and (self.s.format.expand or self.s.format.expand_pointers):
                expected = "less to expand, as without --expand-types and --expand-pointers"
            raw = view_name(self.s.v, view_record(self.s.v, place)[0])
            name = f"type {place}"
            if raw:
                name += " " + quoted(raw[:LONGEST].decode("utf-8", "surrogateescape"))
            self.view.fail(place, 0, found.format(asked=name, id=self.s.bad), expected)

    @cython.cfunc
    @cython.exceptval(check=False)
    def ask(self, id: uint32_t) -> cython.void:
        """What follows is about this type. What has gone wrong before remains so."""
        if self.s.status == SHOW_OK:
            self.asked = id

    @cython.cfunc
    def learn(self, id: uint32_t):
        """See to it that the facts of a struct or union are known."""
        if not 0 < id < self.view.v.n or not is_composite(wire_kind(view_record(self.s.v, id))):
            raise IndexError(id)
        self.ask(id)
        facts_of(cython.address(self.s), id)
        self.check()

    def text(self, id: uint32_t, typedef: bytes = b"") -> bytes:
        """The definition or declaration of a type. Raises `InputError` if it contains itself.

        `typedef`: the name that a typedef gives to a struct or union without one; the typedef is printed, in the
        columns of a struct.
        """
        if not 0 < id < self.view.v.n:
            raise IndexError(id)
        self.ask(id)
        self.s.out.done += self.s.out.n
        self.s.out.n = 0
        self.s.round += not self.remember
        if self.s.format.expand or self.s.format.expand_pointers:
            self.left -= self.given - self.s.effort
            self.given = self.s.effort = min(EXPANDED, self.left)
            self.s.out.limit = min(self.s.out.done + EXPANDED, self.whole)
        if wire_kind(view_record(self.s.v, id)) == KIND_FUNC:
            self.take_tags(id)
        put_definition(cython.address(self.s), id, typedef)
        return self.made(id)

    @cython.cfunc
    def made(self, id: uint32_t) -> bytes:
        """What has been put together about this type. Void cannot be blamed for its length: it has no record."""
        # The buffer asks only when it grows.
        if id and self.s.out.done + self.s.out.n > self.whole:
            show_fail(cython.address(self.s), SHOW_EFFORT, id)
        self.check()
        return self.s.out.p[: self.s.out.n]

    @cython.cfunc
    def take_tags(self, id: uint32_t):
        """Lay out the tags of a function for `put_definition`: its own, then those of its parameters, in order."""
        target: uint32_t
        tag: uint32_t
        r: cython.pointer[uint32_t]
        found: list
        if self.tags is None:
            self.tags = {}
            for tag in range(1, self.view.v.n):
                r = view_record(self.s.v, tag)
                if wire_kind(r) == KIND_DECL_TAG:
                    target = r[2]
                    self.tags.setdefault(target, []).append(((r[3] + 1) & 0xFFFFFFFF, tag))
        found = sorted(self.tags.get(id, ()))
        free(self.s.tags)
        self.s.n_tags = self.s.n_function_tags = 0
        self.s.tags = cython.cast(cython.pointer[uint32_t], calloc(len(found) + 1, cython.sizeof(uint32_t)))
        if self.s.tags == cython.NULL:
            raise MemoryError
        for component, tag in found:
            self.s.tags[self.s.n_tags] = tag
            self.s.n_tags += 1
            self.s.n_function_tags += component == 0

    def reorganized(self, id: uint32_t, steps: cython.bint = False, texts: cython.bint = True) -> tuple:
        """A struct with its members in another order: its text, its size, and with `steps` what was done; without
        `texts`, in names only.

        A step is the names of the member that was moved, of the one that it was after, and of the one that it is
        after now; how many of its bytes became padding; the text after it, without the line of `biggest`.
        """
        biggest: cython.bint = self.s.format.biggest
        plan: Plan
        done: list = []
        names: tuple
        text: bytes
        if not 0 < id < self.view.v.n or wire_kind(view_record(self.s.v, id)) != KIND_STRUCT:
            raise IndexError(id)
        self.learn(id)
        memset(cython.address(plan), 0, cython.sizeof(Plan))
        plan_open(cython.address(self.s), cython.address(plan), id)
        self.s.format.biggest = False
        try:
            while self.s.status == SHOW_OK:
                before: list = [row[0] for row in self.members(id)] if steps else []
                if not plan_step(cython.address(self.s), cython.address(plan)):
                    break
                if steps:
                    names = (before[plan.moved], before[plan.moved - 1], before[plan.behind])
                    done.append((*names, plan.to_padding, self.text(id) if texts else b""))
                if steps and texts:
                    plan.packed = plan.packed if plan.shown else is_packed(cython.address(self.s), id)
                    plan.shown = True
            self.check()
            if plan.endless:
                self.view.fail(id, 0, f"members of type {id} would move for ever", "a struct that can be reorganized")
            self.s.format.biggest = biggest
            text = self.text(id)
            return text, view_record(self.s.v, id)[2], done
        finally:
            self.s.format.biggest = biggest
            plan_close(cython.address(self.s), cython.address(plan))

    def packable(self, id: uint32_t) -> int:
        """The size of a struct after it has been reorganized; the one that it has, if that comes to no end."""
        plan: Plan
        size: uint32_t
        if not 0 < id < self.view.v.n or wire_kind(view_record(self.s.v, id)) != KIND_STRUCT:
            raise IndexError(id)
        self.learn(id)
        size = view_record(self.s.v, id)[2]
        memset(cython.address(plan), 0, cython.sizeof(Plan))
        plan_open(cython.address(self.s), cython.address(plan), id)
        while plan_step(cython.address(self.s), cython.address(plan)):
            pass
        if not plan.endless and self.s.status == SHOW_OK:
            size = view_record(self.s.v, id)[2]
        plan_close(cython.address(self.s), cython.address(plan))
        self.check()
        return size

    def composites(self, named: cython.bint = True) -> list:
        """The ids of all own structs and unions (that have a name)."""
        id: uint32_t
        found: list = []
        for id in range(self.view.v.first_own, self.view.v.n):
            if is_composite(wire_kind(view_record(self.s.v, id))) and (view_record(self.s.v, id)[0] or not named):
                found.append(id)
        return found

    def typedefs(self) -> dict:
        """Of each struct and union that a typedef names, the id of the first such typedef."""
        id: uint32_t
        r: cython.pointer[uint32_t]
        found: dict = {}
        for id in range(1, self.view.v.n):
            r = view_record(self.s.v, id)
            if wire_kind(r) == KIND_TYPEDEF and r[2] and is_composite(wire_kind(view_record(self.s.v, r[2]))):
                found.setdefault(r[2], id)
        return found

    def methods(self) -> dict:
        """Of each type to which functions take a pointer, as it is, how many such parameters there are. In the order
        in which they are met.
        """
        id: uint32_t
        i: uint32_t
        of: uint32_t
        r: cython.pointer[uint32_t]
        found: dict = {}
        for id in range(self.view.v.first_own, self.view.v.n):
            r = view_record(self.s.v, id)
            if wire_kind(r) != KIND_FUNC or r[2] == 0:
                continue
            r = view_record(self.s.v, r[2])
            if wire_kind(r) != KIND_FUNC_PROTO:
                continue
            for i in range(wire_vlen(r)):
                of = r[4 + 2 * i]
                if of and wire_kind(view_record(self.s.v, of)) == KIND_PTR:
                    of = view_record(self.s.v, of)[2]
                    found[of] = found.get(of, 0) + 1
        return found

    def enumerations_with(self, name: bytes) -> list:
        """The ids of all own enumerations that have an enumerator of this name."""
        id: uint32_t
        i: uint32_t
        step: uint32_t
        r: cython.pointer[uint32_t]
        wanted: cython.p_const_char = name
        found: list = []
        for id in range(self.view.v.first_own, self.view.v.n):
            r = view_record(self.s.v, id)
            if wire_kind(r) != KIND_ENUM and wire_kind(r) != KIND_ENUM64:
                continue
            step = wire_each(wire_kind(r))
            for i in range(wire_vlen(r)):
                if strcmp(view_name(self.s.v, r[3 + step * i]), wanted) == 0:
                    found.append(id)
                    break
        return found

    def sums(self, id: uint32_t) -> dict:
        """Size, holes and padding of a struct or union."""
        r: cython.pointer[cython.const[uint32_t]]
        f: Facts
        self.learn(id)
        r = view_record(self.s.v, id)
        f = self.s.facts[id]
        return {
            "size": r[2],
            "members": wire_vlen(r),
            "holes": f.holes,
            "hole_bytes": f.hole_bytes,
            "bit_holes": f.bit_holes,
            "bit_hole_bits": f.bit_hole_bits,
            "padding": f.padding,
            "bit_padding": f.bit_padding,
            "packed": bool(f.packed),
            "flexible_array": bool(f.ends_flexible),
            "embedded_flexible_arrays": f.flexible_end + f.flexible_middle,
            "embeds_flexible_array": bool(f.embeds_flexible),
        }

    def members(self, id: uint32_t) -> list:
        """Of each member its name, type, offset, bit, bits and size, and the bytes and bits left out in front of it."""
        r: cython.pointer[cython.const[uint32_t]]
        count: uint32_t
        i: uint32_t
        f: Facts
        found: list = []
        name: bytes
        layouts: cython.pointer[MemberLayout]
        self.learn(id)
        r = view_record(self.s.v, id)
        count = wire_vlen(r)
        layouts = cython.cast(cython.pointer[MemberLayout], calloc(count + 1, cython.sizeof(MemberLayout)))
        if layouts == cython.NULL:
            raise MemoryError
        try:
            study(cython.address(self.s), id, cython.address(f), layouts)
            self.check()
            for i in range(count):
                name = view_name(self.s.v, r[3 + 3 * i])
                found.append(
                    (
                        name, r[4 + 3 * i], layouts[i].offset, layouts[i].bit, layouts[i].bits, layouts[i].size,
                        layouts[i].hole, layouts[i].bit_hole,
                    )
                )  # fmt: skip
        finally:
            free(layouts)
        return found

    def behind(self, id: uint32_t) -> int:
        """The type behind typedefs, qualifiers and tags; 0 is void."""
        if id >= self.view.v.n:
            raise IndexError(id)
        self.ask(id)
        of: uint32_t = behind(cython.address(self.s), id)
        self.check()
        return of

    def type_name(self, id: uint32_t) -> bytes:
        """A type as it stands in front of a member."""
        if id >= self.view.v.n:
            raise IndexError(id)
        self.ask(id)
        self.s.out.done += self.s.out.n
        self.s.out.n = 0
        put_type(cython.address(self.s), id)
        return self.made(id)

    def users(self, wanted: list, pointers: cython.bint) -> list:
        """The structs that have one of these types within them, or pointers to one: id and name of the member.

        Behind typedefs, qualifiers and tags, as an element of arrays, and within structs and unions without a name, of
        which no line of its own would tell: such a member has the name of what it is in before its own.
        """
        id: uint32_t
        marks: cython.pointer[uint8_t]
        found: list = []
        marks = cython.cast(cython.pointer[uint8_t], calloc(self.view.v.n, 1))
        if marks == cython.NULL:
            raise MemoryError
        try:
            for id in wanted:
                if not 0 < id < self.view.v.n:
                    raise IndexError(id)
                marks[id] |= WANTED
            for id in self.composites():
                self.ask(id)
                self.look_into(id, id, b"", marks, pointers, found)
                self.check()
        finally:
            free(marks)
        return found

    @cython.cfunc
    @cython.exceptval(-1, check=False)
    def look_into(
        self, id: uint32_t, outer: uint32_t, around: bytes, marks: cython.pointer[uint8_t], pointers: cython.bint,
        found: list
    ) -> cython.bint:  # fmt: skip
        """Add what of a struct or union is wanted to what `outer` has; whether there was any. `around`: the names of
        the members that it is in. A struct without a name in which there is nothing is looked into once.
        """
        i: uint32_t
        of: uint32_t
        to: uint32_t
        r: cython.pointer[cython.const[uint32_t]] = view_record(self.s.v, id)
        s: cython.pointer[Show] = cython.address(self.s)
        name: bytes
        any: cython.bint = False
        for i in range(wire_vlen(r)):
            if not show_step(s, outer):
                return any
            of = to = elements(s, r[4 + 3 * i])
            if pointers:
                to = behind(s, view_record(s.v, of)[2]) if of and wire_kind(view_record(s.v, of)) == KIND_PTR else 0
            if to and marks[to] & WANTED:
                name = around + view_name(s.v, r[3 + 3 * i])
                # Structs may share what is in them; what is found shares nothing.
                s.effort -= min(s.effort, USER + cython.cast(cython.size_t, len(name)))
                found.append((outer, name))
                any = True
            elif of and is_nameless(s, of) and not marks[of] & BARREN:
                if marks[of] & OPEN:
                    show_fail(s, SHOW_CYCLE, of)
                if not show_enter(s, outer):
                    return any
                name = around + view_name(s.v, r[3 + 3 * i])
                if len(name) > len(around):
                    name += b"."
                s.effort -= min(s.effort, cython.cast(cython.size_t, len(name)))
                marks[of] |= OPEN
                if self.look_into(of, outer, name, marks, pointers, found):
                    any = True
                elif s.status == SHOW_OK:
                    marks[of] |= BARREN
                marks[of] &= ~OPEN
                s.depth -= 1
        return any

    def users_of(self, wanted: uint32_t, ids: list, pointers: cython.bint) -> list:
        """Members of `ids` whose own type is this one, or a pointer to it, as pahole counts: id, name of the member."""
        i: uint32_t
        id: uint32_t
        of: uint32_t
        r: cython.pointer[uint32_t]
        found: list = []
        for id in ids:
            if id >= self.view.v.n or not is_composite(wire_kind(view_record(self.s.v, id))):
                raise IndexError(id)
            r = view_record(self.s.v, id)
            for i in range(wire_vlen(r)):
                of = r[4 + 3 * i]
                if pointers:
                    if of == 0 or wire_kind(view_record(self.s.v, of)) != KIND_PTR:
                        continue
                    of = view_record(self.s.v, of)[2]
                if of == wanted:
                    found.append((id, view_name(self.s.v, r[3 + 3 * i])))
        return found


def show_types(view: View, ids: list) -> list:
    """The texts of these types, one for each."""
    shower = Shower(view)
    return [shower.text(id) for id in ids]
