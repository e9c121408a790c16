"""From a file to the bytes of its BTF: raw BTF, told by its magic, or a section of an ELF file, or one of them
compressed as a whole.

Only what is needed is read: the ELF header, the section headers, their names and the section itself. A kernel
with DWARF has half a gigabyte, its BTF five megabytes.
"""

from __future__ import annotations

import os

from pybtf.arguments import path_of
from pybtf.btf.kind_numbers import MAGICS
from pybtf.core.btf.type_section import header_words
from pybtf.core.support.whole_file import WholeFile
from pybtf.errors import InputError, Place, WrongBaseError
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BufferedReader
    from typing import BinaryIO, TypeVar

    from pybtf.btf.elf_sections import ElfSections

    T = TypeVar("T")

EXPECTED = "raw BTF, or an ELF file with BTF, or one of them compressed"
LIMIT = 1 << 30
"""Bytes of a file that is read from a pipe."""
_PIECE = 1 << 20
_HEADER, _LONG = 24, 32
_ELF = b"\x7fELF"
RUNNING = "/sys/kernel/btf/vmlinux"
"""The BTF of the running kernel."""
OWN_BASE = ".BTF.base"
"""The section in which a module has a base of its own."""
RIGHT_BASE = "the right one with --base FILE (of a module, the BTF of its own kernel)."
"""What to name. `pybtf-pahole` spells the option in another way."""


def read_btf(path: str | bytes | os.PathLike[str], section: str = ".BTF") -> tuple[bytes, Place]:
    """Bytes of the BTF in a file, and their place. `section` is the one to take from an ELF file.

    Raises InputError as `open_file`, and for an ELF file without such a section, or with one that cannot be used.
    """
    file = path_of(path)

    def of_elf(sections: ElfSections) -> tuple[bytes, Place]:
        return sections.contents(section), Place(file, section)

    return open_file(file, lambda data: (bytes(data), Place(file)), of_elf)


def read_base(path: str | bytes | os.PathLike[str]) -> tuple[bytes | WholeFile, Place]:
    """As `read_btf`, of BTF that stays in memory: in pages that are soon there."""
    file = path_of(path)

    def of_elf(sections: ElfSections) -> tuple[bytes | WholeFile, Place]:
        place = Place(file, ".BTF")
        if sections.packed:
            return sections.contents(".BTF"), place
        return WholeFile(sections.stream.fileno(), *sections.place_of(".BTF")), place

    return open_file(file, lambda data: (data, Place(file)), of_elf, large=True)


def open_file(
    file: str,
    of_raw: Callable[[bytes | WholeFile], T],
    of_elf: Callable[[ElfSections], T],
    *,
    large: bool = False,
    expected: str = EXPECTED,
) -> T:
    """What one of the two makes of a file with BTF: `of_raw` of raw BTF, `of_elf` of an ELF file. The file may be
    compressed as a whole, and may be a pipe. `large`: raw BTF is a `WholeFile` where it can be. `expected`: what
    messages say that the file was to be.

    Raises InputError if the file cannot be read, is nothing of that, is compressed and damaged, or unpacks to too much.
    """
    check_name(file)
    try:
        with open(file, "rb") as stream:
            start = stream.read(1024)
            if stream.seekable():
                if start[:2] in MAGICS:
                    return of_raw(_raw(stream, large))
                if start[:4] == _ELF:
                    from pybtf.btf.elf_sections import ElfSections

                    return of_elf(ElfSections(stream, file, start))
            check_start(start, file, expected)
            data = read_rest(stream, start, file)
    except OSError as error:
        from pybtf.unreadable import unreadable

        raise unreadable(file, error, expected) from error
    return from_bytes(data, file, of_raw, of_elf, expected)


def _raw(stream: BufferedReader, large: bool) -> bytes | WholeFile:
    size = os.fstat(stream.fileno()).st_size
    if large and size:
        return WholeFile(stream.fileno(), 0, size)
    # Megabytes: they are read to where they stay, without a buffer in between.
    with open(stream.fileno(), "rb", buffering=0, closefd=False) as whole:
        whole.seek(0)
        return whole.readall()


def from_bytes(
    data: bytes,
    file: str,
    of_raw: Callable[[bytes | WholeFile], T],
    of_elf: Callable[[ElfSections], T],
    expected: str = EXPECTED,
) -> T:
    """As `open_file`, of what has been read already."""
    packed = not data.startswith((*MAGICS, _ELF))
    if packed:
        from pybtf.elf.packed import unpack

        data = bytes(unpack(data, file) or data)
    if data[:2] in MAGICS:
        return of_raw(data)
    if data.startswith(_ELF):
        from io import BytesIO

        from pybtf.btf.elf_sections import ElfSections

        return of_elf(ElfSections(BytesIO(data), file, data[:64], packed))
    from pybtf.elf.unlike import unlike

    raise unlike(file, data, expected)


def check_start(start: bytes, file: str, expected: str = EXPECTED) -> None:
    """Raise `InputError` for what begins as no file with BTF does: it may be a device that never ends."""
    if start.startswith((*MAGICS, _ELF)):
        return
    from pybtf.elf.packed import is_packed

    if not is_packed(start):
        from pybtf.elf.unlike import unlike

        raise unlike(file, start, expected)


def check_name(file: str) -> None:
    """Raise InputError for what is not the name of a file."""
    if "\0" in file:
        from pybtf.unreadable import unreadable

        raise unreadable(file, ValueError(), EXPECTED)


def read_rest(stream: BinaryIO, start: bytes, file: str) -> bytes:
    """`start` and what comes after it, of what may have no end. Raises InputError for more than `LIMIT` bytes, or, of
    raw BTF, for more than its header speaks of.
    """
    limit = min(_length(start), LIMIT) if start[:2] in MAGICS else LIMIT
    found = bytearray(start)
    while len(found) <= limit and (piece := stream.read(_PIECE)):
        found += piece
    if len(found) > limit:
        raise InputError(file, "goes on where its BTF ends" if limit < LIMIT else f"more than {LIMIT >> 20} MiB", "BTF")
    return bytes(found)


def _length(start: bytes) -> int:
    """Bytes of raw BTF that begins so; a header that is damaged ends somewhere, too."""
    if len(start) < _HEADER:
        return len(start)
    header, types, types_size, strings, strings_size, layout, layout_size = header_words(start, start[:2] == MAGICS[0])
    return header + max(types + types_size, strings + strings_size, layout + layout_size if header >= _LONG else 0)


def wrong_base(place: Place, name: int, base: str) -> WrongBaseError:
    """The error of split BTF of which a name, an offset in the strings, shows that it was not split from `base`."""
    found = f"split from another BTF than {base}: a name begins at {name:#x}, in the middle of one of its strings"
    hint = "" if base.endswith(OWN_BASE) else f"Name {RIGHT_BASE}"
    return WrongBaseError(place, found, "the BTF it was split from", hint)


def doubt_base(error: InputError, name: str, base: str) -> InputError:
    """The same error. Of a name or a reference of the split BTF `name` that leads nowhere, it says that `base` may be
    another one.
    """
    if error.place.file != name or error.expected not in ("an offset into the string section", "the id of a type"):
        return error
    hint = f"Or {base} is not the BTF it was split from"
    hint += "." if base.endswith(OWN_BASE) else f"; name {RIGHT_BASE}"
    return InputError(error.place, error.found, error.expected, hint)


def read_release(path: str) -> str | None:
    """The release of the kernel that a file is from, None if it does not say, or is none that can be read.

    vmlinux has it in its banner, which is in `.rodata`; of /sys/kernel/btf/vmlinux it is that of the running kernel.
    """
    if os.path.realpath(path) == RUNNING:
        return os.uname().release
    try:
        with open(path, "rb") as stream:
            start = stream.read(64)
            if start[:2] in MAGICS or not stream.seekable():
                return None
        return open_file(path, lambda data: None, lambda sections: sections.release())
    except (OSError, InputError):
        return None
