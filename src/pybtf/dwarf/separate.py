"""Where the DWARF is that a file was stripped of.

`strip -g` leaves two traces of it: the build id, which both files have, and `.gnu_debuglink`, with the name of the
debug file and a checksum of it. The search is pahole's (libdwfl's), found by watching which files it opens:

1. by build id, in /usr/lib/debug/.build-id, where the path is the id;
2. by name, beside the file, in its folder `.debug`, and under /usr/lib/debug at the path of the file, then at this path
   without its first folder, and so on. The name is that of the link. Without a link, it is that of the file with
   `.debug` added, and in other folders than that of the file also the file's own name.

A file that is found by name must be the right one: it has the same build id, if the stripped file has one, or else the
checksum of the link. If the stripped file has neither, nothing can be compared; pahole takes the file, and so does
pybtf, with a warning.

Symbols, sections and kfuncs are always those of the stripped file, and into it `.BTF` is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from struct import unpack

from pybtf.elf.image import ElfImage
from pybtf.elf.notes import build_id
from pybtf.errors import InputError, NothingToEncode, counted, shortened
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

    from pybtf.errors import Place

DEBUG_ROOT = "/usr/lib/debug"

_CHUNK: Final = 1 << 24
LONGEST: Final = 4096
"""Bytes of the name of a file: PATH_MAX. The same of an identity, although most have 20 bytes."""


@contextmanager
def find_debug_file(image: ElfImage) -> Iterator[tuple[ElfImage, str]]:
    """The file with the DWARF of `image`, open, and a warning about it, or "".

    Raises `NothingToEncode` if there is none, and says where it was looked for and why what was found is not it.
    """
    identity = build_id(image)
    link = debug_link(image)
    places = _places(image.path, identity, link, DEBUG_ROOT)
    found, tried, refused = first_fitting(places, lambda candidate: _difference(image, candidate, identity, link))
    if found is None:
        raise _nothing(image, identity, link, tried, refused)
    unsure = identity is None and link is None
    with found:
        path = found.path
        yield found, f"{path}: taken for the debug file of {image.path} because of its name only" if unsure else ""


def first_fitting(
    places: Iterable[str], difference: Callable[[ElfImage], str]
) -> tuple[ElfImage | None, list[str], list[str]]:
    """The first of the files at `places` of which `difference` says nothing, open. Then which paths were tried, and of
    those that exist, what was wrong.
    """
    tried: list[str] = []
    refused: list[str] = []
    for path in places:
        if path in tried:
            continue
        tried.append(path)
        try:
            found = ElfImage.open(path)
        except InputError as error:
            if os.path.lexists(path):
                refused.append(str(error))
            continue
        try:
            wrong = difference(found)
        except BaseException:
            found.close()
            raise
        if not wrong:
            return found, tried, refused
        found.close()
        refused.append(f"{path} {wrong}")
    return None, tried, refused


def debug_link(image: ElfImage) -> tuple[str, int] | None:
    """Name and checksum of the debug file, from `.gnu_debuglink`. Raises `InputError` if it is damaged."""
    section = image.section(".gnu_debuglink")
    if section is None:
        return None
    data = image.head(section, LONGEST + 8)  # a name that is not longer, its NUL, up to three more, and the checksum
    name = data.partition(b"\0")[0]
    if len(name) > LONGEST:
        raise long_name(image.place(section))
    at = len(name) + 4 & ~3  # after the NUL, rounded up
    if not name or len(name) == len(data) or len(data) < at + 4:
        raise InputError(image.place(section), f"{len(data)} bytes", "a file name and a checksum of 4 bytes")
    (checksum,) = unpack(f"{image.order}I", data[at : at + 4])
    return os.fsdecode(name), checksum


def long_name(place: Place) -> InputError:
    """The error for what no file can be called."""
    return InputError(place, f"a file name of more than {LONGEST} bytes", f"at most {LONGEST}")


def _places(path: str, identity: bytes | None, link: tuple[str, int] | None, root: str) -> Iterator[str]:
    """Where the debug file may be, in the order of the search."""
    if identity is not None and 2 < len(identity) <= LONGEST:
        digits = identity.hex()
        yield f"{root}/.build-id/{digits[:2]}/{digits[2:]}.debug"
    folder, own = os.path.split(path)
    names = [link[0]] if link is not None else [f"{own}.debug", own]
    real = os.path.dirname(os.path.realpath(path))  # noqa: PTH120
    same = os.path.realpath(folder or ".") == real
    for place in (folder,) if same else (folder, real):
        for under in ("", ".debug"):
            for name in names:
                if under or name != own:
                    yield os.path.join(place, under, name)  # noqa: PTH118
    parts = real.strip("/").split("/")
    for first in range(len(parts) + 1):
        for name in names:
            yield "/".join([root, *(part for part in parts[first:] if part), name])


def _difference(image: ElfImage, found: ElfImage, identity: bytes | None, link: tuple[str, int] | None) -> str:
    """Why `found` is not the debug file of `image`; "" if it is."""
    if found.debug_section(".debug_info") is None:
        return "has no DWARF either"
    if (found.is64, found.little, found.machine) != (image.is64, image.little, image.machine):
        return "is for another kind of machine"
    if identity is not None:
        theirs = build_id(found)
        if theirs == identity:
            return ""
        has = f"the build id {shortened(theirs.hex())}" if theirs else "no build id"
        return f"has {has}, not {shortened(identity.hex())}"
    if link is not None:
        checksum = _checksum(found)
        if checksum != link[1]:
            return f"has the checksum {checksum:08x}, not {link[1]:08x}"
    return ""


def _checksum(image: ElfImage) -> int:
    """CRC-32 of the whole file."""
    import zlib

    value = 0
    for at in range(0, image.size, _CHUNK):
        value = zlib.crc32(image.span(at, at + _CHUNK), value)
    return value


def _nothing(
    image: ElfImage, identity: bytes | None, link: tuple[str, int] | None, tried: list[str], refused: list[str]
) -> NothingToEncode:
    if image.section(".debug_info.dwo") is not None:
        return NothingToEncode(
            image.place(),
            "is one half of split DWARF (.debug_info.dwo)",
            "the program it belongs to",
            "Name the program that was linked: its .dwo files are found.",
        )
    found = "has no DWARF (.debug_info)"
    if refused:
        found += f", and no other file has it: {'; '.join(refused)}"
    hint = "Build with -g, name the file that was not stripped, or install its debug package."
    traces = [f"build id {shortened(identity.hex())}"] if identity else []
    if link is not None:
        traces.append(f"debug link to {shortened(link[0])}")
    if traces:
        more = f" and in {counted(len(tried) - 1, 'other place')}" if len(tried) > 1 else ""
        hint += f" Looked for its debug file ({', '.join(traces)}) as {shortened(tried[0])}{more}."
    return NothingToEncode(image.place(), found, "debug information", hint)
