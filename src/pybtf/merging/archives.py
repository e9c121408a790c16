"""Archives of objects (ar), read: regular ones, whose members are in the file, and thin ones, which only name them.

The format is that of the System V gABI's time, with GNU's long names: a magic of 8 bytes, and members with a head of 60
bytes in ASCII, each beginning at an even offset.
"""

from __future__ import annotations

import os

from pybtf.errors import InputError, Place
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from typing import Final

REGULAR: Final = b"!<arch>\n"
THIN: Final = b"!<thin>\n"
_HEAD: Final = 60
_TABLES: Final = (b"/", b"/SYM64/", b"//")
LONGEST: Final = 4096
"""Bytes of a name: PATH_MAX."""


@record(frozen=True)
class Member:
    """A member: its name; where its head and its contents begin; how many bytes these are. `path`: of a thin archive's
    member, the file, or the archive that has it; otherwise None. `table`: it is not an object, but the archive's
    symbols or its names.
    """

    name: str
    head: int
    start: int
    size: int
    path: str | None = None
    table: bool = False


def is_archive(head: bytes) -> bool:
    """Whether a file is one whose first eight bytes are these."""
    return head in (REGULAR, THIN)


def check_member(path: str, head: bytes) -> None:
    """Raise `InputError` if what a thin archive names is a thin archive: ar puts the members of that into it, and one
    that names itself would have no end. Of a regular one, it names the members.
    """
    if head == THIN:
        raise InputError(path, "a thin archive, as a member of a thin archive", "an object file")


def members(path: str, data: bytes | memoryview) -> list[Member]:
    """All members of the archive with these contents, in order. Raises `InputError` for a damaged one.

    Members of one long name share it: there may be as many as heads fit into the file.
    """
    view = memoryview(data)
    thin = bytes(view[:8]) == THIN
    names = b""
    known: dict[bytes, tuple[str, str | None]] = {}
    found: list[Member] = []
    at = 8
    while at < len(view):
        head = bytes(view[at : at + _HEAD])
        name, size = head[:16].rstrip(b" "), head[48:58].rstrip(b" ")
        if head[58:] != b"`\n" or not size.isdigit():
            raise _damaged(path, at, "no head of a member")
        length = int(size)
        table = name in _TABLES
        inside = table or not thin
        if inside and length > len(view) - at - _HEAD:
            raise _damaged(path, at, f"a member of {length} bytes")
        start = at + _HEAD
        if name == b"//":
            names = bytes(view[start : start + length])
            known.clear()
        if name not in known:
            title = _title(path, at, name, names)
            inner = os.path.join(os.path.dirname(path), title) if thin and not table else None  # noqa: PTH118, PTH120
            known[name] = title, inner
        title, inner = known[name]
        found.append(Member(title, at, start, length, inner, table))
        at = start + (length if inside else 0)
        at += at % 2
    return found


def files_of(there: list[Member]) -> list[str]:
    """The files that the members of a thin archive are, or are in, each once: in sixty bytes, an archive can name one
    again, which may have any number.
    """
    found: dict[str, str] = {}
    for each in there:
        if each.path is not None:
            found.setdefault(each.path if "\0" in each.path else os.path.realpath(each.path), each.path)
    return list(found.values())


def _title(path: str, at: int, name: bytes, names: bytes) -> str:
    """The name of a member: in its head, or where that says in the table of long names: where one begins. In a thin
    archive, a colon and a place follow for a member of a regular archive, whose name that is.
    """
    if name.startswith(b"#1/"):
        hint = "Make it with GNU ar, or llvm-ar --format=gnu."
        raise InputError(Place(path, None, at), "a member as in archives of BSD (#1/)", "an archive as GNU ar's", hint)
    if name[:1] == b"/" and name[1:].replace(b":", b"", 1).isdigit():
        start = int(name[1:].partition(b":")[0] or len(names))
        end = names.find(b"/\n", start)
        if end < 0 or (start and names[start - 2 : start] != b"/\n"):
            raise _damaged(path, at, "a name that is not there")
        if end - start > LONGEST:
            raise _damaged(path, at, f"a name of {end - start} bytes")
        name = names[start:end]
    elif name not in _TABLES:
        name = name.removesuffix(b"/")
    return os.fsdecode(name)


def _damaged(path: str, at: int, found: str) -> InputError:
    return InputError(Place(path, None, at), found, "an archive as ar writes it")


def replaced(path: str, data: bytes, there: list[Member], new: dict[int, bytes]) -> bytes:
    """A regular archive with other contents for the members whose heads are at these offsets.

    What its table of symbols says of places is brought up to date. Raises `InputError` if that is damaged.
    """
    out = bytearray(REGULAR)
    moved: dict[int, int] = {}
    for member in there:
        moved[member.head] = len(out)
        content = new.get(member.head, data[member.start : member.start + member.size])
        head = bytearray(data[member.head : member.head + _HEAD])
        head[48:58] = str(len(content)).encode().ljust(10)
        out += head + content
        out += b"\n" * (len(out) % 2)
    for member in there:
        if member.name in ("/", "/SYM64/"):
            _move_symbols(path, out, member, moved)
    return bytes(out)


def _move_symbols(path: str, out: bytearray, table: Member, moved: dict[int, int]) -> None:
    """Bring the places in a table of symbols up to date: a count, places, and names, of which the order remains."""
    width = 4 if table.name == "/" else 8
    start = moved[table.head] + _HEAD
    count = int.from_bytes(out[start : start + width], "big")
    if count > (table.size - width) // width:
        raise _damaged(path, table.head, f"a table of {count} symbols")
    for at in range(start + width, start + width * (count + 1), width):
        place = int.from_bytes(out[at : at + width], "big")
        if place not in moved or moved[place] >> 8 * width:
            raise _damaged(path, table.head, f"a symbol of a member at {place:#x}")
        out[at : at + width] = moved[place].to_bytes(width, "big")
