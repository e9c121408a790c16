"""One line per type, for tests, diffs and messages, and the first place where two BTFs differ.

The format, which is stable (NAME stands in single quotes, empty for anonymous; bytes other than printable
ASCII, and quote and backslash, as \\xNN; ids and sizes are decimal):

    [ID] INT NAME size=N bits=N offset=N encoding=none          or SIGNED, CHAR, BOOL, joined by |
    [ID] FLOAT NAME size=N
    [ID] PTR NAME type=ID                     VOLATILE, CONST, RESTRICT, TYPEDEF, TYPE_TAG alike
    [ID] ARRAY NAME type=ID index=ID nelems=N
    [ID] STRUCT NAME size=N vlen=N {NAME type=ID at=BIT, ...}   UNION alike; a bitfield: at=BIT:SIZE
    [ID] ENUM NAME size=N vlen=N {NAME=VALUE, ...}              ENUM64 alike
    [ID] FWD NAME
    [ID] FUNC NAME type=ID static                               VAR alike; static, global or extern
    [ID] FUNC_PROTO NAME ret=ID vlen=N (NAME type=ID, ...)
    [ID] DATASEC NAME size=N vlen=N {type=ID offset=N size=N, ...}
    [ID] DECL_TAG NAME type=ID component=N
    [ID] KINDn NAME third=N vlen=N words=hex,...                a kind known only by its layout

After the kind, ` +flag` says that the kind flag is set.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from pybtf.btf.kinds import IntEncoding
from pybtf.btf.strings import encode_name
from pybtf.btf.types import (
    Array,
    Composite,
    Datasec,
    DeclTag,
    Enumeration,
    Float,
    FuncProto,
    Int,
    Ref,
    Symbol,
    Type,
    Unknown,
)

if TYPE_CHECKING:
    from pybtf.btf.reader import BTF

_PLAIN = frozenset(range(0x20, 0x7F)) - set(b"'\\")


def quote(name: str) -> str:
    """A name in single quotes, in printable ASCII."""
    return "'" + "".join(chr(b) if b in _PLAIN else f"\\x{b:02x}" for b in encode_name(name)) + "'"


def describe(type: Type) -> str:
    """All of a type in one line; the module's docstring gives the format."""
    kind = f"KIND{type.number}" if isinstance(type, Unknown) else type.kind.name
    flag = " +flag" if type.kind_flag else ""
    rest = _rest(type)
    return f"[{type.id}] {kind}{flag} {quote(type.name)}" + (f" {rest}" if rest else "")


def _rest(type: Type) -> str:
    match type:
        case Int():
            return (
                f"size={type.size} bits={type.bits} offset={type.offset} encoding={_encoding(type.encoding)}"
            )
        case Float():
            return f"size={type.size}"
        case Symbol():
            return f"type={type.type} {type.linkage.name.lower()}"
        case DeclTag():
            return f"type={type.type} component={type.component}"
        case Ref():
            return f"type={type.type}"
        case Array():
            return f"type={type.type} index={type.index_type} nelems={type.nelems}"
        case Composite():
            members = (
                f"{quote(m.name)} type={m.type} at={m.bit_offset}"
                + (f":{m.bitfield_size}" if m.bitfield_size else "")
                for m in type.members
            )
            return f"size={type.size} vlen={len(type.members)} {{{', '.join(members)}}}"
        case Enumeration():
            values = ", ".join(f"{quote(v.name)}={v.value}" for v in type.values)
            return f"size={type.size} vlen={len(type.values)} {{{values}}}"
        case FuncProto():
            params = ", ".join(f"{quote(p.name)} type={p.type}" for p in type.params)
            return f"ret={type.return_type} vlen={len(type.params)} ({params})"
        case Datasec():
            variables = ", ".join(f"type={v.type} offset={v.offset} size={v.size}" for v in type.variables)
            return f"size={type.size} vlen={len(type.variables)} {{{variables}}}"
        case Unknown():
            words = ",".join(f"{word:x}" for word in type.words)
            return f"third={type.third} vlen={type.vlen} words={words}"
        case _:
            return ""


def _encoding(encoding: IntEncoding) -> str:
    names = [flag.name or "" for flag in IntEncoding if encoding & flag]
    rest = int(encoding) & ~sum(IntEncoding)
    return "|".join([*names, *([f"{rest:#x}"] if rest else [])]) or "none"


class Difference(NamedTuple):
    """Where two BTFs first differ. `where` is `header FIELD`, `type ID` or `string OFFSET`; a side that ends
    before the other says so."""

    where: str
    a: str
    b: str

    def __str__(self) -> str:
        return f"{self.where}:\n  a: {self.a}\n  b: {self.b}"


def first_difference(a: BTF, b: BTF) -> Difference | None:
    """The first place where two BTFs differ; None if header, types and strings are the same.

    What explains most comes first: byte order, version and length of the header, then the types by meaning,
    then the strings, and last the offsets in the header and in records, which are consequences if anything
    else differs. Gaps between sections, bytes after them, and the layout section are not compared, but the
    header's offsets are.
    """
    return (
        _header(a, b, ("little", "version", "flags", "hdr_len"))
        or _ids(a, b)
        or _types(a, b)
        or _strings(a, b)
        or _header(a, b, a.header._fields)
        or _name_offsets(a, b)
    )


def _header(a: BTF, b: BTF, fields: tuple[str, ...]) -> Difference | None:
    for field in fields:
        left, right = getattr(a.header, field), getattr(b.header, field)
        if left != right:
            return Difference(f"header {field}", str(left), str(right))
    return None


def _ids(a: BTF, b: BTF) -> Difference | None:
    if a.first_id == b.first_id:
        return None
    return Difference("first type id", str(a.first_id), str(b.first_id))


def _record(btf: BTF, id: int) -> array[int]:
    index = id - btf.first_id
    return btf.words[btf.starts[index] : btf.starts[index + 1]]


def _line(btf: BTF, id: int) -> str:
    if id >= btf.end_id:
        return f"ends with type {btf.end_id - 1}"
    return describe(btf.type(id))


def _types(a: BTF, b: BTF) -> Difference | None:
    if a.words == b.words and a.strings.data == b.strings.data:
        return None
    for left, right in zip(a, b, strict=False):
        if left != right:
            return Difference(f"type {left.id}", describe(left), describe(right))
    if a.end_id == b.end_id:
        return None
    id = min(a.end_id, b.end_id)
    return Difference(f"type {id}", _line(a, id), _line(b, id))


def _strings(a: BTF, b: BTF) -> Difference | None:
    if a.strings.data == b.strings.data:
        return None
    left, right = dict(a.strings), dict(b.strings)
    for offset in sorted(left.keys() | right.keys()):
        if left.get(offset) != right.get(offset):
            sides = [quote(s[offset]) if offset in s else "no string begins here" for s in (left, right)]
            return Difference(f"string {offset:#x}", *sides)
    return Difference("strings", f"start at {a.strings.start:#x}", f"start at {b.strings.start:#x}")


def _name_offsets(a: BTF, b: BTF) -> Difference | None:
    """Records that mean the same, but take a name from another offset: a string section with repeats."""
    for id in range(a.first_id, a.end_id):
        left, right = _record(a, id), _record(b, id)
        if left != right:
            words = [" ".join(f"{word:#x}" for word in record) for record in (left, right)]
            return Difference(f"type {id}, words of {_line(a, id)}", *words)
    return None
