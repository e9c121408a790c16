"""BTF that a compiler wrote of one source, as a unit value: what `pybtf merge --compiler-btf` merges.

A unit value (unit_layout.pxd) is what a worker makes of a unit's DWARF. A piece of a compiler's BTF says nearly the
same, so it is brought into that form, and all that follows, from the choice of functions to the de-duplication, is
what happens to values of objects. They differ in these points:

| compiler's BTF | unit value |
|---|---|
| FUNC and FUNC_PROTO | a function with its prototype; a FUNC_PROTO that only FUNCs have is not a type |
| FUNC without a name (gcc 12: of a function type), or extern | nothing |
| DECL_TAG | a tag of a type, function or variable |
| DATASEC, with all offsets 0 | nothing: the symbol table says where a variable is |
| INT with the bit `char` (gcc 12: both that and `signed`, which kernels refuse) | the bit is left out, as by pahole |
| third word of a FWD, to which gcc 12 gives some number | 0 |
| ENUM without size and values (gcc 14): it is only declared | of 4 bytes, as pahole has it |
| ARRAY's index type | nothing: `int`, as by pahole |

Kinds whose feature is off get what pahole writes then. The piece has been opened as a `View`: records are whole, names
and references exist. Everything else is checked here, because the bytes come from a file.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memset, strlen
from cython.cimports.pybtf.core.btf.kinds import *
from cython.cimports.pybtf.core.btf.record_layout import wire_kind, wire_vlen
from cython.cimports.pybtf.core.btf.type_section import wire_store
from cython.cimports.pybtf.core.btf.type_view import TypeView, View, view_name, view_record
from cython.cimports.pybtf.core.elf.function_table import (
    NO_ENTRY,
    SYM_CLONE,
    FuncTable,
    FunctionTable,
    functable_find,
)
from cython.cimports.pybtf.core.model.dwarf_constants import DW_LANG_C11
from cython.cimports.pybtf.core.model.function_state import S_OPTIMIZED, S_SIGNATURE_CHANGED
from cython.cimports.pybtf.core.support.memory import (
    u8s_append,
    u8s_free,
    u8s_reserve,
    u32s_free,
    u32s_push,
    u64s_free,
    u64s_push,
)
from cython.cimports.pybtf.core.values.btf_unit_types import (
    UNIT_FEATURE,
    UNIT_LARGE,
    UNIT_MEMORY,
    UNIT_OK,
    UNIT_RECORD,
    UNIT_REFERENCE,
    UNIT_SHARED,
    Making,
    count_tags,
    look_at,
    put_name,
    put_tags,
    put_types,
    zeros,
)
from cython.cimports.pybtf.core.values.unit_layout import *

LONGEST_CHAIN = cython.declare(uint32_t, 256)
MAX_BYTES = cython.declare(uint64_t, 0x7FFFFFFF)
EXTERN = cython.declare(uint32_t, 2)
OVERLAP = cython.declare(uint64_t, 16)  # times as long as strings and records may be what shares them
LANGUAGE = cython.declare(uint32_t, DW_LANG_C11)  # BTF does not say, and only C's compilers write it

PROBLEMS = {
    UNIT_RECORD: "record",
    UNIT_REFERENCE: "reference",
    UNIT_SHARED: "shared",
    UNIT_FEATURE: "feature",
    UNIT_LARGE: "large",
}


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def making_free(m: cython.pointer[Making]) -> cython.void:
    u32s_free(cython.address(m.small))
    u32s_free(cython.address(m.marks))
    u32s_free(cython.address(m.first_tag))
    u32s_free(cython.address(m.next_tag))
    u32s_free(cython.address(m.places))
    u32s_free(cython.address(m.used))
    u32s_free(cython.address(m.words))
    u8s_free(cython.address(m.out))
    u64s_free(cython.address(m.addresses))


# ---- functions ----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_address(
    m: cython.pointer[Making],
    t: cython.pointer[cython.const[FuncTable]],
    name: cython.p_const_char,
    address: cython.pointer[uint64_t],
    flags: cython.pointer[uint32_t],
) -> cython.bint:
    """The address of the function of this name, 0 if there is none. Where all symbols are those of clones, nothing is
    known of their parameters, and the function must not be taken for them: `flags` get that. False: too many clones
    have been looked at.
    """
    entry: uint32_t = functable_find(t, name, strlen(name))
    i: uint32_t
    address[0] = flags[0] = 0
    if entry == NO_ENTRY:
        return True
    for i in range(t.first[entry], t.first[entry + 1]):
        if not t.sym_flags[i] & SYM_CLONE:
            address[0] = t.value[i]
            return True
        if m.clones == 0:
            return False
        m.clones -= 1
    flags[0] = S_OPTIMIZED | S_SIGNATURE_CHANGED
    address[0] = t.value[t.first[entry]]
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def has_unnamed(m: cython.pointer[Making], proto: cython.pointer[uint32_t]) -> cython.bint:
    """Whether a parameter has no name; the last may be `...`, which has no type either."""
    i: uint32_t
    n: uint32_t = wire_vlen(proto)
    p: cython.pointer[uint32_t] = proto + 3
    for i in range(n):
        if view_name(m.v, p[0])[0] == 0 and (p[1] or i + 1 < n):
            return True
        p += 2
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_function(
    m: cython.pointer[Making], id: uint32_t, t: cython.pointer[cython.const[FuncTable]]
) -> cython.int:
    """Appends a FUNC as unit_layout.pxd has it, and its address. If a parameter has no name, neither elements nor tags
    follow. UNIT_*, and `m.bad` is the FUNC.
    """
    r: cython.pointer[uint32_t] = view_record(m.v, id)
    proto: cython.pointer[uint32_t] = view_record(m.v, r[2])
    unnamed: cython.bint = has_unnamed(m, proto)
    n: uint32_t = 0 if unnamed else wire_vlen(proto)
    anns: uint32_t = 0 if unnamed else count_tags(m, id)
    flags: uint32_t = 0
    address: uint64_t = 0
    i: uint32_t
    p: cython.pointer[uint32_t] = proto + 3
    status: cython.int = put_name(m, r[0])
    m.bad = id
    if anns >> 16:
        return UNIT_RECORD
    if status:
        return status
    if not find_address(m, t, view_name(m.v, r[0]), cython.address(address), cython.address(flags)):
        return UNIT_SHARED
    if not u64s_push(cython.address(m.addresses), address):
        return UNIT_MEMORY
    if (
        not u32s_push(cython.address(m.words), flags | anns << 16)
        or not u32s_push(cython.address(m.words), cython.cast(uint32_t, FUNCTION_UNNAMED) if unnamed else n)
        or not u32s_push(cython.address(m.words), m.small.p[proto[2]])
    ):
        return UNIT_MEMORY
    for i in range(FUNCTION_DIGEST, FUNCTION_HEAD):  # it has no digest, as types have none
        if not u32s_push(cython.address(m.words), 0):
            return UNIT_MEMORY
    for i in range(n):
        status = put_name(m, p[0])
        if status:
            return status
        if not u32s_push(cython.address(m.words), m.small.p[p[1]]):
            return UNIT_MEMORY
        p += 2
    return put_tags(m, id, False, n) if anns else UNIT_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_functions(
    m: cython.pointer[Making],
    head: cython.pointer[uint32_t],
    t: cython.pointer[cython.const[FuncTable]],
    defined: cython.pointer[cython.const[FuncTable]],
) -> cython.int:
    """All functions that the source may define. `defined`: those of its object; NULL: it is not known."""
    id: uint32_t
    at: cython.size_t = m.words.n
    r: cython.pointer[uint32_t]
    proto: cython.pointer[uint32_t]
    name: cython.p_const_char
    status: cython.int
    for id in range(1, m.v.n):
        r = view_record(m.v, id)
        if wire_kind(r) != KIND_FUNC:
            continue
        m.bad = id
        if wire_vlen(r) > EXTERN or r[1] >> 31:
            return UNIT_RECORD
        name = view_name(m.v, r[0])
        proto = view_record(m.v, r[2])
        if not look_at(m, r[0]) or wire_vlen(proto) > m.parameters:
            return UNIT_SHARED
        m.parameters -= wire_vlen(proto)
        m.old |= name[0] == 0
        if name[0] == 0 or wire_vlen(r) == EXTERN:
            continue
        if defined != cython.NULL:
            if functable_find(defined, name, strlen(name)) == NO_ENTRY:
                continue
        elif has_unnamed(m, proto):  # no definition in C, but gcc 12 has declarations as well
            continue
        status = put_function(m, id, t)
        if status:
            return status
        head[H_FUNCTIONS] += 1
    head[H_FUNCTION_WORDS] = cython.cast(uint32_t, m.words.n - at)
    return UNIT_OK


# ---- variables ----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def size_of(v: cython.pointer[cython.const[TypeView]], id: uint32_t) -> uint64_t:
    """Bytes of a type; 0: none that is known, or beyond what BTF can say."""
    times: uint64_t = 1
    steps: uint32_t = 0
    r: cython.pointer[uint32_t]
    kind: uint32_t
    own: uint64_t
    while id and steps < LONGEST_CHAIN:
        steps += 1
        r = view_record(v, id)
        kind = wire_kind(r)
        if kind == KIND_ARRAY:
            times *= r[5]
            if times >> 32:
                return 0
            id = r[3]
        elif kind == KIND_PTR:
            return times * v.pointer_size
        elif kind in (KIND_INT, KIND_STRUCT, KIND_UNION, KIND_ENUM, KIND_ENUM64, KIND_FLOAT):
            own = r[2]
            return times * own
        elif kind in (KIND_TYPEDEF, KIND_VOLATILE, KIND_CONST, KIND_RESTRICT, KIND_TYPE_TAG):
            id = r[2]
        else:
            return 0
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_variable(m: cython.pointer[Making], id: uint32_t, size: uint64_t, address: uint64_t) -> cython.int:
    r: cython.pointer[uint32_t] = view_record(m.v, id)
    anns: uint32_t = count_tags(m, id)
    status: cython.int
    m.bad = id
    if anns >> 16:
        return UNIT_RECORD
    status = put_name(m, r[0])
    if status:
        return status
    if (
        not u32s_push(cython.address(m.words), m.small.p[r[2]])
        or not u32s_push(cython.address(m.words), r[3] | anns << 1)
        or not u32s_push(cython.address(m.words), cython.cast(uint32_t, size))
        or not u32s_push(cython.address(m.words), cython.cast(uint32_t, size >> 32))
        or not u64s_push(cython.address(m.addresses), address)
    ):
        return UNIT_MEMORY
    return put_tags(m, id, False, 0) if anns else UNIT_OK


# ---- the unit -----------------------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def begin(
    m: cython.pointer[Making],
    v: cython.pointer[cython.const[TypeView]],
    words: cython.size_t,
    strings: cython.size_t,
) -> cython.int:
    m.v = v
    m.room = min(OVERLAP * cython.cast(uint64_t, strings) + 65536, MAX_BYTES)
    m.parameters = m.clones = OVERLAP * cython.cast(uint64_t, words) + 65536
    m.bad = 0
    m.used.n = 0
    m.text = 0
    m.out.n = 0
    m.addresses.n = 0
    if not zeros(cython.address(m.words), H_WORDS_OF_HEAD) or not zeros(cython.address(m.places), strings):
        return UNIT_MEMORY
    return UNIT_OK


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def finish(
    m: cython.pointer[Making], head: cython.pointer[uint32_t], name: cython.p_const_char, swap: cython.bint
) -> cython.int:
    """Words and strings of the unit into `out`; its own name is the last string. Types have no digests: their records
    are read.
    """
    nothing: uint8_t[4]
    total: uint64_t = m.text + strlen(name) + 1
    digests: cython.size_t = DIGEST_WORDS * (cython.cast(cython.size_t, head[H_TYPES]) - 1)
    records: cython.size_t = head[H_WORDS]
    others: cython.size_t = m.words.n - H_WORDS_OF_HEAD - records
    i: cython.size_t
    text: cython.p_const_char
    p: cython.pointer[uint8_t]
    memset(cython.address(nothing[0]), 0, 4)
    if 4 * (m.words.n + digests) + total > MAX_BYTES:
        return UNIT_LARGE
    head[H_SIZE] = cython.cast(uint32_t, 4 * (m.words.n + digests) + ((total + 3) & ~cython.cast(uint64_t, 3)))
    head[H_LANGUAGE] = LANGUAGE
    head[H_NAME] = cython.cast(uint32_t, m.text) + 1
    head[H_STRING_BYTES] = cython.cast(uint32_t, total)
    if not u8s_reserve(cython.address(m.out), 4 * (m.words.n + digests)):
        return UNIT_MEMORY
    p = m.out.p
    wire_store(p, head, H_WORDS_OF_HEAD, swap)
    p += 4 * H_WORDS_OF_HEAD
    wire_store(p, m.words.p + H_WORDS_OF_HEAD + records, others, swap)
    p += 4 * others
    memset(p, 0, 4 * digests)
    p += 4 * digests
    wire_store(p, m.words.p + H_WORDS_OF_HEAD, records, swap)
    m.out.n = 4 * (m.words.n + digests)
    for i in range(m.used.n + 1):
        text = view_name(m.v, m.used.p[i]) if i < m.used.n else name
        if not u8s_append(cython.address(m.out), text, strlen(text) + 1):
            return UNIT_MEMORY
    if not u8s_append(cython.address(m.out), cython.address(nothing[0]), (0 - total) & 3):
        return UNIT_MEMORY
    return UNIT_OK


class UnitError(ValueError):
    """A piece that is not a compiler's: what is wrong (one of PROBLEMS), and with which type."""

    def __init__(self, problem: object, id: object) -> None:
        self.problem = problem
        self.id = id
        super().__init__(f"{problem}, type {id}")


@cython.final
@cython.cclass
class BtfUnits:
    """Makes unit values of compilers' BTF.

    `functions`: those of the linked file. `objects`: its variables by name, as `SymbolSource.objects` gives
    them; None: no variables are wanted. `options`: OPT_* bits.
    """

    @property
    def old(self) -> bool:
        """Whether one of the pieces is by gcc before 14: it has the bit `char`, or FUNCs without a name."""
        return self.m.old

    @property
    def nested(self) -> int:
        """How many arrays have arrays as elements, in all pieces."""
        return self.m.nested

    m: Making
    functions: FunctionTable
    objects: dict
    ambiguous = cython.declare(set, visibility="readonly")
    swap: cython.bint

    def __cinit__(self):
        memset(cython.address(self.m), 0, cython.sizeof(Making))

    def __init__(self, functions: FunctionTable, objects, *, swap: cython.bint, options: cython.int):
        """`swap`: whether values are to be in the other byte order than the host's."""
        self.functions = functions
        self.objects = objects
        self.ambiguous = set()
        self.swap = swap
        self.m.options = options

    def __dealloc__(self):
        making_free(cython.address(self.m))

    def unit(self, view: View, name: bytes, defined: FunctionTable = None):
        """(value, addresses) of a piece that is open, as `Run.take_values` takes them. `name`: the unit's. `defined`:
        the functions of the object that the piece is from. Raises `UnitError`.
        """
        m: cython.pointer[Making] = cython.address(self.m)
        head: UnitHead
        status: cython.int
        known: cython.pointer[FuncTable] = cython.NULL
        table: cython.pointer[FuncTable] = cython.address(self.functions.t)
        text: cython.p_const_char = name
        if defined is not None:
            known = cython.address(defined.t)
        memset(cython.address(head[0]), 0, cython.sizeof(head))
        with cython.nogil:
            status = begin(m, cython.address(view.v), view.n_words, view.own_size)
            status = status or put_types(m, head)
            status = status or put_functions(m, head, table, known)
        if status == UNIT_OK and self.objects is not None:
            status = self.put_variables(head)
        if status == UNIT_OK:
            with cython.nogil:
                status = finish(m, head, text, self.swap)
        if status == UNIT_MEMORY:
            raise MemoryError
        if status:
            raise UnitError(PROBLEMS[status], m.bad)
        return (
            PyBytes_FromStringAndSize(cython.cast(cython.p_char, m.out.p), m.out.n),
            PyBytes_FromStringAndSize(cython.cast(cython.p_char, m.addresses.p), 8 * m.addresses.n),
        )

    @cython.cfunc
    @cython.exceptval(check=True)
    def put_variables(self, head: cython.pointer[uint32_t]) -> cython.int:
        """Those of which the linked file has one symbol, of the size of their type. The first unit's counts: gcc 12
        writes what is extern as if it were not.
        """
        m: cython.pointer[Making] = cython.address(self.m)
        id: uint32_t
        r: cython.pointer[uint32_t]
        size: uint64_t
        at: cython.size_t = m.words.n
        status: cython.int
        for id in range(1, m.v.n):
            r = view_record(m.v, id)
            if wire_kind(r) != KIND_VAR:
                continue
            m.bad = id
            if r[3] > EXTERN or wire_vlen(r) or r[1] >> 31:
                return UNIT_RECORD
            if not look_at(m, r[0]):
                return UNIT_SHARED
            known: list = self.objects.get(view_name(m.v, r[0]))
            if r[3] == EXTERN or (known is not None and known[3]):
                head[H_COUNTS + HELD_VAR_DECLARATION] += 1
                continue
            if known is None:
                head[H_COUNTS + HELD_VAR_NO_ADDRESS] += 1
                continue
            size = size_of(m.v, r[2])
            if known[2] != 1 or size != known[1] or size == 0:
                if known[4]:
                    self.ambiguous.add(view_name(m.v, r[0]))
                continue
            known[3] = True
            self.ambiguous.discard(view_name(m.v, r[0]))
            status = put_variable(m, id, size, known[0])
            if status:
                return status
            head[H_VARIABLES] += 1
        head[H_VARIABLE_WORDS] = cython.cast(uint32_t, m.words.n - at)
        return UNIT_OK
