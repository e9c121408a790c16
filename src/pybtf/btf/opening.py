"""From what a user names to BTF that can be printed: a file or standard input, raw, in ELF, compressed, with its base.

Split BTF continues the types and strings of a base, and does not say which that is. It is recognized by its strings,
which do not begin with an empty one.

A file may have only the DWARF of which BTF is made. Who can make it hands over an `Encode`, and gets that BTF.
"""

from __future__ import annotations

import os

from pybtf.btf.files import EXPECTED, check_start, doubt_base, from_bytes, open_file, read_rest, wrong_base
from pybtf.btf.kind_numbers import MAGICS
from pybtf.core.btf.type_section import header_words
from pybtf.core.btf.type_view import View
from pybtf.errors import InputError, NothingToEncode, Place, WrongBaseError
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybtf.btf.elf_sections import ElfSections
    from pybtf.btf.reader import BTF
    from pybtf.core.support.whole_file import WholeFile

    Encode = Callable[[str, "tuple[bytes, str] | None"], bytes]
    """Makes raw BTF of the DWARF in a file, split from BTF that is given with its name."""

STANDARD_INPUT = "-"


class _Source:
    """The BTF of one file: its bytes, where they are, those of its `.BTF.base`, the size of pointers if it is known."""

    def __init__(self, data: bytes, place: Place, base: bytes | None = None, pointer: int = 0) -> None:
        self.data = data
        self.place = place
        self.base = base
        self.pointer = pointer


class _NoBtf(InputError):
    """An ELF file without BTF. `pointer`: the size of its addresses."""

    pointer = 0


def open_view(path: str, base: str | None = None, encode: Encode | None = None) -> View:
    """The BTF in the file `path`, `-` for standard input, split from that in `base` if it is given.

    Raises `InputError` if one of them cannot be read or is damaged, if the base is missing or another one.
    """
    try:
        return _view(*_sources(path, base, encode))
    except MemoryError:
        raise MemoryError(f"{_place(path)}: not enough memory") from None


def _place(path: str) -> str:
    return "standard input" if path == STANDARD_INPUT else path


def _view(source: _Source, below: _Source | None) -> View:
    if below is None:
        return View(source.data, str(source.place), pointer=source.pointer)
    name = str(below.place) if below.place.section == ".BTF.base" else below.place.file
    return _on(source, below.data, str(below.place), below.pointer or source.pointer, name)


def _on(source: _Source, below: bytes | View, below_place: str, pointer: int, base: str) -> View:
    """BTF with what it is split from; messages call that `base`. Raises `WrongBaseError` for another base."""
    name = str(source.place)
    try:
        view = View(source.data, name, below, below_place, pointer)
    except InputError as error:
        doubted = doubt_base(error, name, base)
        if doubted is not error:
            _refuse_base(source, below if isinstance(below, bytes) else below.data, base)
        raise doubted from None
    stray = view.stray_name()
    if stray:
        raise wrong_base(source.place, stray, base)
    return view


def _refuse_base(source: _Source, below: bytes, base: str) -> None:
    """Raise `WrongBaseError` if a name tells that the base is another one, whatever else is out of range."""
    from pybtf.btf.reader import BTF

    try:
        BTF.from_bytes(source.data, BTF.from_bytes(below, name=base), name=str(source.place))
    except WrongBaseError:
        raise
    except InputError:
        return


class Bases:
    """Bases of many files, each read and checked once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[View, int]] = {}

    def get(self, path: str) -> tuple[View, int]:
        """The BTF in the file `path`, and the size of pointers if that is known. Raises as `open_view`."""
        if path not in self._known:
            source = _read(path)
            self._known[path] = View(source.data, str(source.place), pointer=source.pointer), source.pointer
        return self._known[path]

    def open_view(self, path: str, base: str | None = None) -> View:
        """As `open_view`."""
        source, named, own = _split(path, base)
        if named is None:
            return _view(source, own)
        below, pointer = self.get(named)
        return _on(source, below, below.name, pointer or source.pointer, named)


def open_btf(path: str, base: str | None = None, encode: Encode | None = None) -> BTF:
    """As the function `open_view`, for those who want the types as objects."""
    from pybtf.btf.reader import BTF

    source, below = _sources(path, base, encode)
    under = BTF.from_bytes(below.data, name=str(below.place)) if below is not None else None
    return BTF.from_bytes(source.data, under, name=str(source.place))


_NAME_THE_BASE = "Name the base with --base FILE; for a module, that is its kernel's BTF."


def open_on(path: str, base: BTF | None, hint: str = _NAME_THE_BASE) -> BTF:
    """The BTF in the file `path`: on `base` if it is split, by itself if it is not. `hint`: what to do without one.

    Raises `InputError` if it is split and there is no base, or if it has one of its own, and as `BTF.from_bytes`.
    """
    from pybtf.btf.reader import BTF

    source = _read(path)
    if source.base is not None:
        raise InputError(source.place.file, "a base of its own, .BTF.base", "BTF without one")
    split = is_split(source.data, source.data[:2] == MAGICS[0])
    if split and base is None:
        raise InputError(source.place, "BTF that is split from a base", "to be told the base", hint)
    return BTF.from_bytes(source.data, base if split else None, name=str(source.place))


def open_module(path: str, base: BTF) -> BTF | None:
    """The BTF of the module in `path`, split from `base` or from a `.BTF.base` of its own; None if it has no BTF."""
    from pybtf.btf.reader import BTF

    try:
        source = _read(path)
    except _NoBtf:
        return None
    if source.base is not None:
        base = BTF.from_bytes(source.base, name=str(Place(path, ".BTF.base")))
    return BTF.from_bytes(source.data, base, name=str(source.place))


def _sources(path: str, base: str | None, encode: Encode | None) -> tuple[_Source, _Source | None]:
    """The BTF of the file, and what it is split from."""
    try:
        source, named, own = _split(path, base)
    except _NoBtf as error:
        if encode is None:
            raise
        below = _read_or_make(base, encode) if base is not None else None
        return _make(path, error, encode, below), below
    return source, _read_or_make(named, encode) if named is not None else own


def _read_or_make(path: str, encode: Encode | None) -> _Source:
    try:
        return _read(path)
    except _NoBtf as error:
        if encode is None:
            raise
        return _make(path, error, encode, None)


def _make(path: str, error: _NoBtf, encode: Encode, below: _Source | None) -> _Source:
    """The BTF of the DWARF in a file, or in another that is found with it. `error` says that it has no BTF. Raises
    `InputError` if there is no DWARF either.
    """
    if path == STANDARD_INPUT:
        raise error
    try:
        data = encode(path, (below.data, str(below.place)) if below is not None else None)
    except NothingToEncode as nothing:
        found = f"{error.found}; {nothing.found}"
        raise InputError(path, found, f"{error.expected} or DWARF", nothing.hint) from None
    return _Source(data, Place(path), pointer=error.pointer)


def _split(path: str, base: str | None) -> tuple[_Source, str | None, _Source | None]:
    """The BTF of the file, and of what it is split from the path, or, of a base of its own, the BTF."""
    source = _read(path)
    if base is not None:
        if source.base is not None:
            raise InputError(source.place.file, "a base of its own, .BTF.base", "to be read without another base")
        return source, base, None
    if source.base is not None:
        own = _Source(source.base, Place(source.place.file, ".BTF.base"), pointer=source.pointer)
        return source, None, own
    if not is_split(source.data, source.data[:2] == MAGICS[0]):
        return source, None, None
    return source, base_beside(path, source.place), None


def base_of(path: str) -> str | None:
    """The file beside `path` that its BTF is split from when no base is named, if any. Raises `InputError`."""
    try:
        return _split(path, None)[1]
    except _NoBtf:
        return None


def base_beside(path: str, place: Place) -> str:
    """The base of split BTF in the file `path`: `vmlinux` in the same folder. Raises `InputError` if there is none."""
    beside = os.path.join(os.path.dirname(path), "vmlinux")  # noqa: PTH118, PTH120 - pathlib takes long to import
    if path == STANDARD_INPUT or not os.path.exists(beside):  # noqa: PTH110
        raise InputError(place, "BTF that is split from a base", "to be told the base", _NAME_THE_BASE)
    return beside


def _read(path: str) -> _Source:
    file = "standard input" if path == STANDARD_INPUT else path

    def of_raw(data: bytes | WholeFile) -> _Source:
        return _Source(bytes(data), Place(file))

    if path == STANDARD_INPUT:
        return from_bytes(read_standard_input(), file, of_raw, _from_elf)
    return open_file(file, of_raw, _from_elf)


def read_standard_input() -> bytes:
    """All of it, if it begins as it should. Raises `InputError`."""
    import sys

    try:
        start = sys.stdin.buffer.read(64)
        if start:
            check_start(start, "standard input")
        return read_rest(sys.stdin.buffer, start, "standard input")
    except OSError as error:
        from pybtf.unreadable import unreadable

        raise unreadable("standard input", error, EXPECTED) from None


def _from_elf(elf: ElfSections) -> _Source:
    data = elf.contents(".BTF") if elf.find(".BTF") is not None else None
    if not data:
        # lld keeps an empty section in the first link of a kernel.
        found = "no .BTF section" if data is None else "an empty .BTF section"
        error = _NoBtf(elf.file, found, "an ELF file with BTF", elf.hint())
        error.pointer = elf.pointer
        raise error
    base = elf.contents(".BTF.base") if elf.find(".BTF.base") is not None else None
    return _Source(data, Place(elf.file, ".BTF"), base, elf.pointer)


def is_split(data: bytes, little: bool) -> bool:
    """Whether there are types, and strings that are not the first; what is damaged is left to others."""
    header, _, types, strings, size, *_ = header_words(data, little)
    at = header + strings
    return types > 0 and (at <= len(data) if size == 0 else at < len(data) and data[at] != 0)
