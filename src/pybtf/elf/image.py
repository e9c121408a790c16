"""An ELF file, mapped: header, section table, data of sections.

Why a reader of its own, when pyelftools is at hand: importing pyelftools takes longer (45 ms) than encoding
a small kernel module may take in all, and its messages do not know file offsets. The header is a dozen
numbers in two classes and two byte orders; the section table is read by the compiled core. pyelftools still
supplies what is not worth repeating, the names of machines and section types, and is imported only once a
message needs one.

The file is mapped: `data` hands out slices of the map, and a page of a section that nobody looks at is never
loaded. Only compressed sections are copied (see `compressed.py`), and units are read (see core/worker.py).

What is checked when: the header and the section table at `open`, for without them nothing has a meaning. The
extent of a section's data is checked when the data is asked for, so damage in a section that plays no role
does no harm, as in pahole. Every number in the file is taken as hostile: counts and sizes are compared
with the size of the file before anything is allocated for them.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat

from pybtf.core.elf.section_table import Section as Section
from pybtf.core.elf.section_table import SectionNameError, SectionTable, read_section, read_sections
from pybtf.core.elf.symbols import SymbolSource
from pybtf.core.support.mapped_file import OwnDescriptor
from pybtf.elf.constants import SHF_COMPRESSED, SHN_UNDEF, SHN_XINDEX, SHT_NOBITS, SHT_NULL
from pybtf.errors import InputError, Place
from pybtf.support import TYPE_CHECKING

_MAGIC = b"\x7fELF"
_EXPECTED = "an ELF file"

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Final

    from pybtf.elf.compressed import Budget

# Far above any real file (a kernel linked with `ld -r` and a section per function has some 100,000), far
# below what would hurt: a `Section` with its name is some two hundred bytes.
MAX_SECTIONS: Final = 1 << 20

_IDENT_SIZE: Final = 16
_LARGE: Final = 1 << 18


class ElfImage:
    """An open ELF file. Usable as a context manager; views handed out stay valid after `close`."""

    __slots__ = (
        "_budget",
        "_cache",
        "_stored",
        "_view",
        "dwarf",
        "etype",
        "flags",
        "is64",
        "little",
        "machine",
        "mapping",
        "path",
        "relocation_bytes",
        "relocation_sections",
        "source",
        "status",
        "symbol_bytes",
        "symbol_sources",
        "table",
    )

    path: str
    is64: bool
    little: bool
    machine: int
    etype: int
    flags: int
    table: SectionTable
    """The sections, each of which is made when it is asked for."""
    dwarf: dict[str, Section]
    """The sections that supply DWARF, see `debug_section`."""
    symbol_sources: dict[int, SymbolSource]
    """By index of the section: for symbols.py to keep what it has made."""
    symbol_bytes: int
    """What these have copied."""
    relocation_sections: set[int]
    """Those that relocation.py has applied."""
    relocation_bytes: int
    """Their sizes together."""
    mapping: mmap.mmap | None
    source: Source | None
    """The file that is mapped."""
    status: os.stat_result | None
    """Of the file that was opened; None if only its contents were given."""

    def __init__(
        self,
        path: str,
        content: bytes | bytearray | memoryview | mmap.mmap,
        status: os.stat_result | None = None,
        stored: int | None = None,
    ) -> None:
        """Read header and section table of `content`; `path` serves messages only. Raises `InputError`.

        `stored`: the size on the disk, of a file that is compressed as a whole.
        """
        self.path = path
        self.status = status
        self.source = None
        self.mapping = content if isinstance(content, mmap.mmap) else None
        self._view = memoryview(content)
        self._cache: dict[int, memoryview] = {}
        self._budget: Budget | None = None
        self._stored = stored
        self.symbol_sources = {}
        self.symbol_bytes = 0
        self.relocation_sections = set()
        self.relocation_bytes = 0
        shoff, shnum, shstrndx = self._read_header()
        self._read_sections(shoff, shnum, shstrndx)
        self.dwarf = self.table.dwarf()

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> ElfImage:
        """Map the file at `path`, following symbolic links. Raises `InputError` if it is not a usable ELF."""
        source = Source(os.fspath(path))
        mapping = source.map()
        try:
            image = cls(source.path, mapping, source.status)
        except BaseException:
            _close_map(mapping)
            raise
        image.source = source
        return image

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return len(self._view)

    def span(self, start: int, end: int) -> memoryview:
        """Bytes of the file itself."""
        return self._view[start:end]

    def close(self) -> None:
        """Drop the map. The memory goes when the last view of it does."""
        self._cache.clear()
        self.symbol_sources.clear()
        self._view.release()
        self.source = None
        if self.mapping is not None:
            _close_map(self.mapping)
            self.mapping = None

    def __enter__(self) -> ElfImage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def place(self, section: Section | None = None, offset: int | None = None) -> Place:
        """A place in this file, for messages. `offset` counts from the start of `section`, or of the file."""
        return Place(self.path, section.name or f"section {section.index}" if section else None, offset)

    @property
    def sections(self) -> list[Section]:
        """All sections, in the order of the table."""
        return self.table.all()

    def names(self) -> list[bytes]:
        """The names of all sections, as they are in the file. Many may share a long one, and then share its bytes."""
        known: dict[str, bytes] = {}
        for section in self.sections:
            if section.name not in known:
                known[section.name] = section.name.encode("utf-8", "surrogateescape")
        return [known[section.name] for section in self.sections]

    def section(self, name: str) -> Section | None:
        """The first section with this name."""
        return self.table.first(name)

    def of_type(self, kind: int) -> Sequence[Section]:
        """The sections of this type, in the order of the table."""
        return self.table.of_type(kind)

    def relocations_of(self, section: Section) -> Sequence[Section]:
        """The sections of relocations, of both kinds, whose `sh_info` names this section."""
        return self.table.relocations(section.index)

    def debug_section(self, name: str) -> Section | None:
        """The section that supplies the DWARF of this name (`.debug_info`), be it stored as `.zdebug_info`.

        Members of COMDAT groups and sections without data do not count; of several, the first does. If no
        name starts with `.debug_` or `.zdebug_`, those that gcc writes for LTO count
        (`.gnu.debuglto_.debug_info`).
        """
        return self.dwarf.get(name)

    def linked(self, section: Section, kind: int, what: str) -> Section:
        """The section that `sh_link` of `section` names. Raises `InputError` if its type is not `kind`."""
        if 0 < section.link < len(self.table):
            linked = self.table.at(section.link)
            if linked.type == kind:
                return linked
        raise InputError(self.place(section), f"sh_link is {section.link}", f"the index of its {what}")

    def raw(self, section: Section) -> memoryview:
        """The section's bytes in the file, whatever its type. Raises `InputError` if they pass the end."""
        end = section.offset + section.size
        if end > len(self._view):
            raise self._outside(section, section.name)
        return self._view[section.offset : end]

    def _outside(self, section: Section, name: str) -> InputError:
        return InputError(
            Place(self.path, name or f"section {section.index}"),
            f"data of {section.size} bytes at file offset {section.offset:#x} ends at"
            f" {section.offset + section.size:#x}",
            f"an end within the file, which has {len(self._view):#x} bytes",
            "The file is truncated, or its section table is damaged.",
        )

    def data(self, section: Section) -> memoryview:
        """The section's contents, decompressed if need be; empty if it has none in the file.

        Raises `InputError` if they pass the end of the file or do not decompress to the declared size.
        """
        if section.plain:
            return self.raw(section)
        if section.type in (SHT_NOBITS, SHT_NULL):
            return memoryview(b"")
        found = self._cache.get(section.index)
        if found is None:
            from pybtf.elf import compressed  # few files have such sections

            if self._budget is None:
                self._budget = compressed.Budget(self.size if self._stored is None else self._stored)
                if self._stored is not None:
                    self._budget.left -= self.size
                    self._budget.dies -= self.plain_dies()
            raw, place = self.raw(section), self.place(section)
            found = compressed.decompress(raw, place, self._budget, self._layout(section))
            self._cache[section.index] = found
        return found

    def plain_dies(self) -> int:
        """Bytes of DIEs in sections that are not compressed themselves."""
        from pybtf.elf.compressed import has_dies

        return sum(section.size for section in self.sections if section.plain and has_dies(section.name))

    def free_taken(self) -> int:
        """How many bytes were unpacked beyond what the size of the file allows (`FREE_SIZE` in compressed.py)."""
        return self._budget.free_taken() if self._budget is not None else 0

    def copy(self, section: Section) -> memoryview | bytes:
        """The section's contents in memory of its own, whatever becomes of the file."""
        data = self.data(section)
        if self.mapping is None or data.obj is not self.mapping:
            return data
        kept = bytes(data)
        if len(kept) >= _LARGE:  # those pages are not needed twice
            self.give_back(section, 0, len(kept))
        return kept

    def give_back(self, section: Section, start: int, end: int) -> None:
        """Count these bytes of a section no longer as memory of this process, until they are looked at again."""
        if self.mapping is not None and section.plain:
            first = (section.offset + start + mmap.PAGESIZE - 1) & -mmap.PAGESIZE
            if first < section.offset + end:
                self.mapping.madvise(mmap.MADV_DONTNEED, first, section.offset + end - first)

    def head(self, section: Section, size: int) -> bytes:
        """How the section's contents begin: `size` bytes or fewer. Of a compressed one no more is unpacked."""
        if section.plain or section.index in self._cache or section.type in (SHT_NOBITS, SHT_NULL):
            return bytes(self.data(section)[:size])
        from pybtf.elf import compressed

        return compressed.beginning(self.raw(section), self.place(section), size, self._layout(section))

    def declared_size(self, section: Section) -> int:
        """Of a compressed section the size that it has once unpacked, as it says itself."""
        if section.plain or section.type in (SHT_NOBITS, SHT_NULL):
            return section.size
        from pybtf.elf import compressed

        return compressed.declared_size(self.raw(section), self.place(section), self._layout(section))

    def _layout(self, section: Section) -> str | None:
        """That of the header of a compressed section; None for `.zdebug_*`."""
        if not section.flags & SHF_COMPRESSED:
            return None
        from pybtf.elf.compressed import chdr_layout

        return chdr_layout(is64=self.is64, little=self.little)

    def _read_header(self) -> tuple[int, int, int]:
        """Check the file header; give offset, count and string section of the section table, as stored."""
        view = self._view
        magic = bytes(view[:4])
        if magic != b"\x7fELF":
            if len(view) < 4 and b"\x7fELF".startswith(magic):
                raise InputError(self.place(), f"only {len(view)} bytes", "an ELF file")
            from pybtf.elf.unlike import unlike

            raise unlike(self.path, bytes(view[:1024]), _EXPECTED, advise=True)
        if len(view) < _IDENT_SIZE:
            raise InputError(self.place(), f"only {len(view)} bytes", "the ELF identification, 16 bytes")
        eclass, order, version = view[4], view[5], view[6]
        if eclass not in (1, 2):
            raise InputError(self.place(offset=4), f"ELF class {eclass}", "1 (32 bits) or 2 (64 bits)")
        if order not in (1, 2):
            raise InputError(self.place(offset=5), f"byte order {order}", "1 (little) or 2 (big)")
        if version != 1:
            raise InputError(self.place(offset=6), f"ELF version {version}", "1")
        self.is64, self.little = eclass == 2, order == 1
        size = 64 if self.is64 else 52
        if len(view) < size:
            raise InputError(self.place(), f"only {len(view)} bytes", f"the ELF header, {size} bytes")
        self.etype, self.machine = self._number(16, 2), self._number(18, 2)
        shoff = self._number(40, 8) if self.is64 else self._number(32, 4)
        self.flags = self._number(size - 16, 4)
        entsize, shnum, shstrndx = (self._number(at, 2) for at in (size - 6, size - 4, size - 2))
        if shoff and entsize != (64 if self.is64 else 40):
            raise InputError(
                self.place(offset=size - 6),
                f"section table entries of {entsize} bytes",
                f"{64 if self.is64 else 40}",
            )
        return shoff, shnum, shstrndx

    def _number(self, at: int, size: int) -> int:
        """A number of the header. (`struct` is a library of its own, and would be mapped for these few.)"""
        return int.from_bytes(self._view[at : at + size], "little" if self.little else "big")

    @property
    def order(self) -> str:
        """The byte order as a `struct` prefix."""
        return "<" if self.little else ">"

    def _read_sections(self, shoff: int, shnum: int, shstrndx: int) -> None:
        """Read the section table. Entry 0 carries the counts that do not fit the header."""
        view, size = self._view, 64 if self.is64 else 40
        if shoff == 0:
            self.table = read_sections(b"", is64=self.is64, little=self.little)
            return
        if shoff > len(view) or len(view) - shoff < size:
            raise InputError(
                self.place(offset=shoff),
                "the section table starts past the end of the file"
                if shoff >= len(view)
                else "the file ends inside the section table",
                f"at least one entry within {len(view):#x} bytes",
                "The file is truncated.",
            )
        if shnum == 0 or shstrndx == SHN_XINDEX:
            first = self._section(view[shoff : shoff + size])
            shnum = shnum or first.size
            if shstrndx == SHN_XINDEX:
                shstrndx = first.link
        if shnum > MAX_SECTIONS:
            raise InputError(self.place(offset=shoff), f"{shnum} sections", f"at most {MAX_SECTIONS}")
        if shnum * size > len(view) - shoff:
            raise InputError(
                self.place(offset=shoff),
                f"a section table of {shnum} entries, {shnum * size} bytes",
                f"at most {len(view) - shoff} bytes up to the end of the file",
                "The file is truncated.",
            )
        if shnum and shstrndx >= shnum:
            raise InputError(
                self.place(), f"the section names are in section {shstrndx}", f"an index below {shnum}"
            )
        table = view[shoff : shoff + shnum * size]
        names = None
        if shstrndx != SHN_UNDEF and shnum:
            names = self._names(self._section(table[shstrndx * size : (shstrndx + 1) * size]), shstrndx)
        try:
            self.table = read_sections(table, names, is64=self.is64, little=self.little)
        except SectionNameError as error:
            assert names is not None
            raise InputError(
                self.place(offset=shoff + error.index * size),
                f"the name of section {error.index} is at {error.offset:#x} of the section names",
                f"a string that ends within its {len(names):#x} bytes"
                if error.endless
                else "names that do not overlap",
            ) from None

    def _section(self, entry: memoryview) -> Section:
        """An entry of the section table alone, without its name."""
        return read_section(entry, is64=self.is64, little=self.little)

    def _names(self, section: Section, index: int) -> bytes:
        """The contents of the section of names, whose own name is not known yet."""
        if section.type == SHT_NOBITS:
            raise InputError(self.place(), f"the section of names, {index}, has no data", "a string table")
        end = section.offset + section.size
        if end > len(self._view):
            raise self._outside(section, ".shstrtab")
        return bytes(self._view[section.offset : end])


def machine_name(machine: int) -> str:
    """What ELF calls this machine, for messages: `EM_X86_64 (62)`. Imports pyelftools."""
    from elftools.elf.enums import ENUM_E_MACHINE

    return _named(ENUM_E_MACHINE, machine)


def section_type_name(kind: int) -> str:
    """What ELF calls this section type, for messages: `SHT_NOTE (7)`. Imports pyelftools."""
    from elftools.elf.enums import ENUM_SH_TYPE_BASE

    return _named(ENUM_SH_TYPE_BASE, kind)


def _named(names: Mapping[str, int], value: int) -> str:
    return next((f"{name} ({value})" for name, number in names.items() if number == value), str(value))


class Source:
    """A regular file that is open for reading, and what it was at first: somebody may write to it while it is read.

    Raises `InputError` for everything that can be wrong with a path. The file is closed when nobody holds this.
    """

    __slots__ = ("_fd", "_own", "path", "status")

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            # O_NONBLOCK: opening a FIFO must not wait for a writer.
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError) as error:
            from pybtf.unreadable import unreadable

            raise unreadable(path, error, _EXPECTED) from None
        self._own = OwnDescriptor(self._fd)
        self.status = os.fstat(self._fd)
        if not stat.S_ISREG(self.status.st_mode):
            if stat.S_ISDIR(self.status.st_mode):
                raise InputError(path, "is a folder", _EXPECTED)
            from pybtf.unreadable import not_regular

            raise not_regular(path, _EXPECTED, pipe=stat.S_ISFIFO(self.status.st_mode))
        if self.status.st_size == 0:
            raise InputError(path, "is empty", _EXPECTED)

    def fileno(self) -> int:
        """The descriptor of the file, which is open as long as this object is there."""
        return self._fd

    def map(self) -> mmap.mmap:
        """The file, mapped for reading."""
        try:
            return mmap.mmap(self._fd, self.status.st_size, access=mmap.ACCESS_READ)
        except (OSError, ValueError, OverflowError) as error:
            number = error.errno if isinstance(error, OSError) else errno.EINVAL
            if number in (errno.EMFILE, errno.ENFILE):
                raise
            if number == errno.ENOMEM:
                size = f"{self.status.st_size:,}"
                raise MemoryError(f"{self.path}: not enough memory to map its {size} bytes; see `ulimit -v`") from None
            try:
                start = os.pread(self._fd, 1024, 0)
            except OSError:
                start = _MAGIC  # it is not known to be anything else
            if start.startswith(_MAGIC):
                reason = error.strerror if isinstance(error, OSError) else str(error)
                raise InputError(self.path, f"cannot be mapped: {reason}", "a file that can be") from None
            from pybtf.elf.unlike import unlike

            raise unlike(self.path, start, _EXPECTED, advise=True) from None

    def head(self, size: int) -> bytes:
        """So many bytes at the start, if there are as many. Raises `InputError`."""
        try:
            return os.pread(self._fd, size, 0)
        except OSError as error:
            raise self._unreadable(error) from None

    def read(self) -> bytes:
        """All of the file. Raises `InputError`."""
        try:
            with open(self._fd, "rb", closefd=False) as stream:
                return stream.read()
        except OSError as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: OSError) -> InputError:
        from pybtf.unreadable import unreadable

        return unreadable(self.path, error, _EXPECTED)

    def change(self) -> InputError | None:
        """The error if somebody has written to the file since it was opened."""
        now = os.fstat(self._fd)
        if (now.st_size, now.st_mtime_ns) == (self.status.st_size, self.status.st_mtime_ns):
            return None
        size = f" ({self.status.st_size} bytes before, {now.st_size} now)" if now.st_size != self.status.st_size else ""
        return InputError(self.path, f"was changed while it was read{size}", "a file that nobody writes to")


def _close_map(mapping: mmap.mmap) -> None:
    """Close the map, unless somebody still holds a view; then it closes with the last of these."""
    try:
        mapping.close()
    except BufferError:
        return
