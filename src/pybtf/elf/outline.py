"""What a writer must know of an ELF file before it may change it: header, tables, and where bytes are in use.

A reader may ignore damage in parts it does not look at. A writer may not: it decides from the tables which
bytes belong to nobody, and a table that lies would make it overwrite something or put new data where an old
section claims to be. So everything is checked here at once: counts and offsets against the size of the file,
every section and segment against its end, names against the name table. All numbers are taken as hostile and
compared with the file before anything is allocated for them.

*Debug-only files* (`objcopy --only-keep-debug`, `eu-strip -f`) are the one licensed lie: all they would load
has become SHT_NOBITS, but eu-strip leaves the program headers as they were, pointing at bytes that are now
elsewhere or past the end. In a file whose allocated sections all have no bytes (notes excepted, which are
kept), program headers say nothing about the file, and `phdrs` is empty.

The file is read with `pread`, not mapped: another process may truncate it, and a map would answer with
SIGBUS.
"""

from __future__ import annotations

import os

from pybtf.elf.constants import SHF_ALLOC, SHF_COMPRESSED, SHN_XINDEX, SHT_NOBITS, SHT_NOTE, SHT_NULL, SHT_STRTAB
from pybtf.elf.wire import (
    EI_CLASS,
    EI_DATA,
    EI_VERSION,
    EV_CURRENT,
    IDENT_SIZE,
    MAGIC,
    PN_XNUM,
    Ehdr,
    Phdr,
    Shdr,
    Wire,
    wire_of,
)
from pybtf.errors import InputError, Place
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from typing import Final

# Far above any real file, far below what would hurt: an entry is a few hundred bytes once it is read.
MAX_ENTRIES: Final = 1 << 20

_TRUNCATED: Final = "The file is truncated or damaged."


@record(frozen=True)
class Outline:
    """Header and tables of the ELF file behind `fd`, checked. Offsets and sizes are bytes in the file.

    `shdrs` has at least one entry; `strings` is the section name table, which starts and ends with a NUL;
    `shstrndx` is its index, above 0. `phdrs` is empty for a
    debug-only file. Every section that occupies bytes, and every segment, lies in the file.
    """

    path: str
    fd: int
    size: int
    wire: Wire
    ident: bytes
    ehdr: Ehdr
    shdrs: list[Shdr]
    phdrs: list[Phdr]
    shstrndx: int
    strings: bytes

    def read(self, offset: int, size: int) -> bytes:
        """The bytes from `offset`; `size` of them, all within the file. Raises `InputError` if it shrank."""
        return read_exactly(self.path, self.fd, offset, size)

    def find(self, name: bytes) -> int | None:
        """Index of the one section called `name`, or None. Raises `InputError` if there are several."""
        wanted, length = name + b"\0", len(name) + 1
        strings = self.strings
        found = [
            index
            for index, header in enumerate(self.shdrs)
            if index and header.type != SHT_NULL and strings[header.name : header.name + length] == wanted
        ]
        if len(found) > 1:
            raise InputError(
                Place(self.path, name.decode("ascii", "replace")),
                f"{len(found)} sections have this name ({', '.join(map(str, found[:4]))})",
                "one, or none",
                "Remove all but one (objcopy --remove-section), or use --detached.",
            )
        return found[0] if found else None


def read_outline(path: str, fd: int, size: int) -> Outline:
    """Read and check header and tables of the file open as `fd`, of `size` bytes. Raises `InputError`."""
    ident, wire = _read_ident(path, fd, size)
    if size < wire.ehdr.size:
        raise InputError(Place(path), f"only {size} bytes", f"the ELF header, {wire.ehdr.size}", _TRUNCATED)
    ehdr = wire.read_ehdr(read_exactly(path, fd, 0, wire.ehdr.size))
    shdrs = _read_sections(path, fd, size, wire, ehdr)
    shstrndx = shdrs[0].link if ehdr.shstrndx == SHN_XINDEX else ehdr.shstrndx
    strings = _read_names(path, fd, shdrs, shstrndx)
    phdrs = [] if _is_debug_only(shdrs) else _read_segments(path, fd, size, wire, ehdr, shdrs[0].info)
    return Outline(path, fd, size, wire, ident, ehdr, shdrs, phdrs, shstrndx, strings)


def read_exactly(path: str, fd: int, offset: int, size: int) -> bytes:
    """`size` bytes from `offset`. Raises `InputError` if the file is shorter by now or cannot be read."""
    pieces, at, end = [], offset, offset + size
    while at < end:
        try:
            piece = os.pread(fd, end - at, at)
        except OSError as error:
            raise InputError(Place(path, offset=at), f"cannot be read: {error.strerror}") from error
        if not piece:
            raise InputError(
                Place(path, offset=at), "the file ends here", f"{end - at} more bytes", _TRUNCATED
            )
        pieces.append(piece)
        at += len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _read_ident(path: str, fd: int, size: int) -> tuple[bytes, Wire]:
    ident = read_exactly(path, fd, 0, min(size, IDENT_SIZE))
    if ident[:4] != MAGIC:
        from pybtf.elf.unlike import unlike

        raise unlike(path, read_exactly(path, fd, 0, min(size, 1024)), "an ELF file", advise=True)
    if len(ident) < IDENT_SIZE:
        raise InputError(Place(path), f"only {size} bytes", f"the ELF identification, {IDENT_SIZE} bytes")
    wire = wire_of(ident)
    if wire is None:
        raise InputError(
            Place(path, offset=EI_CLASS),
            f"ELF class {ident[EI_CLASS]}, byte order {ident[EI_DATA]}",
            "class 1 or 2, byte order 1 or 2",
        )
    if ident[EI_VERSION] != EV_CURRENT:
        raise InputError(Place(path, offset=EI_VERSION), f"ELF version {ident[EI_VERSION]}", "1")
    return ident, wire


def _read_sections(path: str, fd: int, size: int, wire: Wire, ehdr: Ehdr) -> list[Shdr]:
    """The section table. Entry 0 holds what does not fit into the header: the count, for one."""
    entry = wire.shdr.size
    if ehdr.shoff == 0:
        raise InputError(
            Place(path), "has no section table", "one", "It may have been stripped of it; use --detached."
        )
    if ehdr.shentsize != entry:
        raise InputError(Place(path), f"section table entries of {ehdr.shentsize} bytes", f"{entry}")
    if ehdr.shoff > size or size - ehdr.shoff < entry:
        raise InputError(
            Place(path, offset=ehdr.shoff), "no room for a section table here", f"{entry} bytes", _TRUNCATED
        )
    first = Shdr._make(wire.shdr.unpack(read_exactly(path, fd, ehdr.shoff, entry)))
    count = ehdr.shnum or first.size
    if not 0 < count <= (size - ehdr.shoff) // entry:
        raise InputError(
            Place(path, offset=ehdr.shoff),
            f"a section table of {count} entries",
            f"1 to {(size - ehdr.shoff) // entry}, which is what the file has room for",
            _TRUNCATED,
        )
    _check_count(path, ehdr.shoff, "section table", count)
    shdrs = list(wire.iter_shdrs(read_exactly(path, fd, ehdr.shoff, count * entry)))
    for index, header in enumerate(shdrs):
        if header.type in (SHT_NULL, SHT_NOBITS):
            continue
        if header.offset > size or header.size > size - header.offset:
            raise InputError(
                Place(path, f"section {index}"),
                f"{header.size} bytes at file offset {header.offset:#x}",
                f"an end within the file, which has {size:#x} bytes",
                _TRUNCATED,
            )
    return shdrs


def _check_count(path: str, offset: int, what: str, count: int) -> None:
    if count > MAX_ENTRIES:
        raise InputError(Place(path, offset=offset), f"a {what} of {count} entries", f"at most {MAX_ENTRIES}")


def _read_names(path: str, fd: int, shdrs: list[Shdr], shstrndx: int) -> bytes:
    """The section name table, after checking that all names are in it."""
    if not 0 < shstrndx < len(shdrs):
        raise InputError(
            Place(path),
            f"the section names are in section {shstrndx}",
            f"an index from 1 to {len(shdrs) - 1}",
        )
    table = shdrs[shstrndx]
    place = Place(path, f"section {shstrndx}")
    if table.type != SHT_STRTAB or table.flags & SHF_COMPRESSED:
        raise InputError(
            place, f"section names of type {table.type}, flags {table.flags:#x}", "plain SHT_STRTAB"
        )
    strings = read_exactly(path, fd, table.offset, table.size) if table.size else b""
    if not strings or strings[0] or strings[-1]:
        raise InputError(place, "the section names do not start and end with a NUL", "both")
    for index, header in enumerate(shdrs):
        if header.name >= len(strings) and header.type != SHT_NULL:
            raise InputError(
                Place(path, f"section {index}"),
                f"its name is at {header.name:#x} of the name table",
                f"an offset below {len(strings):#x}",
            )
    return strings


def _is_debug_only(shdrs: list[Shdr]) -> bool:
    """Whether all that the program headers could be about was taken out of the file."""
    allocated = [header.type for header in shdrs if header.flags & SHF_ALLOC and header.type != SHT_NULL]
    return bool(allocated) and all(kind in (SHT_NOBITS, SHT_NOTE) for kind in allocated)


def _read_segments(path: str, fd: int, size: int, wire: Wire, ehdr: Ehdr, extended: int) -> list[Phdr]:
    """The program header table; `extended` is its length where the header has no room for it."""
    count = extended if ehdr.phnum == PN_XNUM else ehdr.phnum
    if count == 0 or ehdr.phoff == 0:
        return []
    entry = wire.phdr.size
    if ehdr.phentsize != entry:
        raise InputError(Place(path), f"program header entries of {ehdr.phentsize} bytes", f"{entry}")
    if ehdr.phoff > size or count > (size - ehdr.phoff) // entry:
        raise InputError(
            Place(path, offset=ehdr.phoff),
            f"a program header table of {count} entries",
            f"an end within the file, which has {size:#x} bytes",
            _TRUNCATED,
        )
    _check_count(path, ehdr.phoff, "program header table", count)
    phdrs = list(wire.iter_phdrs(read_exactly(path, fd, ehdr.phoff, count * entry)))
    for index, header in enumerate(phdrs):
        if header.filesz and (header.offset > size or header.filesz > size - header.offset):
            raise InputError(
                Place(path, f"program header {index}"),
                f"{header.filesz} bytes at file offset {header.offset:#x}",
                f"an end within the file, which has {size:#x} bytes",
                _TRUNCATED,
            )
    return phdrs
