"""From what a user names to BTF that can be judged: its bytes, byte order and size of pointers, and who would load it.

That follows from the file. A kernel module is loaded by the kernel, on top of the BTF of vmlinux; an image of a kernel
has the BTF of vmlinux. Any other BTF is loaded by a program, that of a BPF object after it has completed it.
"""

from __future__ import annotations

import os

from pybtf.btf.elf_sections import ElfSections, dwarf_hint
from pybtf.btf.files import EXPECTED, RUNNING, check_start, read_release, read_rest
from pybtf.btf.kind_numbers import MAGICS
from pybtf.btf.opening import STANDARD_INPUT, is_split, read_standard_input
from pybtf.elf.constants import EM_BPF, ET_REL
from pybtf.elf.image import ElfImage
from pybtf.elf.modules import is_module, release_of_module
from pybtf.elf.packed import open_module, unpack
from pybtf.errors import InputError, Place
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record
from pybtf.verify.judge import MODULE, USER, VMLINUX

if TYPE_CHECKING:
    from io import BufferedReader

    from pybtf.verify.completion import Completed

_ELF = b"\x7fELF"
_RUNNING_FOLDER = RUNNING.rpartition("/")[0]


@record()
class Source:
    """`data` is None if the file has no BTF, as modules may have none. `base`: its `.BTF.base`. `pointer` is 0 if it is
    not known. `release`: of the kernel that it is, or is for, if the file says so. `completed`: of a BPF object, what a
    loader makes of its BTF.
    """

    path: str
    data: bytes | None
    loader: str
    little: bool
    pointer: int = 0
    base: bytes | None = None
    release: str | None = None
    completed: Completed | None = None

    @property
    def continues(self) -> bool:
        """Whether the strings do not begin with the empty one: they continue those of a base."""
        return self.data is not None and is_split(self.data, self.little)


def open_source(path: str) -> Source:
    """The BTF in a file, `-` for standard input. Raises `InputError` if it cannot be read, or is nothing with BTF."""
    if path == STANDARD_INPUT:
        return source_of(read_standard_input(), "standard input")
    try:
        with open(path, "rb") as stream:
            start = stream.read(64)
            if start.startswith(_ELF) and stream.seekable() and start[16:18] not in (b"\1\0", b"\0\1"):
                return _of_executable(stream, path, start)
            if start[:2] in MAGICS:
                data = start + stream.read()
                return _raw(data, path)
            if not start.startswith(_ELF):
                check_start(start, path)
                return source_of(read_rest(stream, start, path), path)
    except OSError as error:
        from pybtf.unreadable import unreadable

        raise unreadable(path, error, EXPECTED) from error
    with open_module(path) as image:
        return _of_image(image, path)


def _raw(data: bytes, path: str) -> Source:
    loader = USER
    release = None
    if os.path.dirname(os.path.realpath(path)) == _RUNNING_FOLDER:  # noqa: PTH120
        loader = VMLINUX if os.path.realpath(path) == RUNNING else MODULE
        release = os.uname().release
    return Source(path, data, loader, data[:2] != MAGICS[1], release=release)


def source_of(data: bytes, name: str) -> Source:
    """As `open_source`, of what has been read already."""
    stored = len(data)
    unpacked = unpack(data, name)
    packed = unpacked is not None
    data = bytes(unpacked or data)
    if data.startswith(_ELF):
        return _of_image(ElfImage(name, data, stored=stored), name, packed=packed)
    if data[:2] not in MAGICS:
        from pybtf.elf.unlike import unlike

        raise unlike(name, data, EXPECTED)
    return _raw(data, name)


def _of_executable(stream: BufferedReader, path: str, start: bytes) -> Source:
    """A kernel with DWARF has half a gigabyte; no more than its BTF is read."""
    elf = ElfSections(stream, path, start)
    data = elf.contents(".BTF")
    if not data:
        raise _without_btf(path, empty=True, hint=elf.hint())
    base = elf.contents(".BTF.base") if elf.find(".BTF.base") is not None else None
    release = read_release(path)
    kernel = release is not None or elf.find("__ksymtab") is not None or elf.find(".init.text") is not None
    loader = MODULE if base is not None else VMLINUX if kernel else USER
    return Source(path, data, loader, start[5] == 1, elf.pointer, base, release)


def _without_btf(path: str, *, empty: bool, hint: str) -> InputError:
    found = "an empty .BTF section" if empty else "no .BTF section"
    return InputError(Place(path), found, "an ELF file with BTF", hint)


def _of_image(image: ElfImage, path: str, *, packed: bool = False) -> Source:
    module = is_module(image)
    section = image.section(".BTF")
    empty = section is not None and section.size == 0
    if empty:  # kernels take a module for one without BTF, and clang's link of a kernel leaves one
        section = None
    below = image.section(".BTF.base")
    if section is None and not module:
        hint = dwarf_hint(path, packed=packed) if image.debug_section(".debug_info") is not None else ""
        raise _without_btf(path, empty=empty, hint=hint)
    data = bytes(image.data(section)) if section is not None else None
    completed = None
    if data is not None and (image.etype, image.machine) == (ET_REL, EM_BPF):
        from pybtf.verify.completion import complete

        completed = complete(data, image)
    return Source(
        path,
        data,
        MODULE if module or below is not None else USER,
        image.little,
        8 if image.is64 else 4,
        bytes(image.data(below)) if below is not None else None,
        release_of_module(image) if module else None,
        completed,
    )
