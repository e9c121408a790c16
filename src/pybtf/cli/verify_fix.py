"""`pybtf verify --fix OUT`: BTF mended for a kernel, or moved to another base, into a new file."""

from __future__ import annotations

import os

from pybtf.btf.files import EXPECTED, check_start, read_rest
from pybtf.btf.opening import open_btf, read_standard_input
from pybtf.btf.reader import BTF
from pybtf.cli import console
from pybtf.cli.output import checked, opened, write
from pybtf.cli.request import STDOUT
from pybtf.elf.packed import is_packed, open_module, unpack
from pybtf.errors import InputError, OutputError, UsageError, printable
from pybtf.scratch import Scratch
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import replace
from pybtf.unreadable import unreadable
from pybtf.verify.judge import NEWEST
from pybtf.verify.mending import mend, mend_object
from pybtf.verify.rebasing import rebase
from pybtf.verify.sources import open_source, source_of
from pybtf.verify.task import version_of
from pybtf.verify.words import version_text

if TYPE_CHECKING:
    from collections import Counter

    from pybtf.verify.sources import Source


def verify_fix(
    files: tuple[str, ...], base: tuple[str, ...], out: str, to: str | None, versions: list[int], quiet: bool
) -> list[str]:
    """Writes OUT: raw BTF of raw BTF, of an ELF file a copy with other BTF. What was changed, in words; empty if
    nothing had to be. Raises errors of the command line.
    """
    if len(files) != 1:
        raise UsageError("--fix is about one FILE")
    if len(versions) > 1:
        raise UsageError("--fix takes one version, not all")
    if to is not None and len(base) != 1:
        raise UsageError("--rebase NEW takes one --base, the vmlinux that the module's BTF is split from")
    path = files[0]
    read = (*opened(path, base[0] if base else None, out), *base[1:], *([to] if to is not None else []))
    out = checked(out, read, "--fix")
    if path != STDOUT and (os.path.isfile(path) or not os.path.exists(path)):  # noqa: PTH110, PTH113
        said, version = _fix(path, open_source(path), base, out, to, versions)
    else:
        received = _received(path)
        name = "standard input" if path == STDOUT else path
        source = source_of(received, name)
        with Scratch("pybtf-verify-") as scratch:
            copy = str(scratch.path / "copy")
            write(copy, received)
            try:
                said, version = _fix(copy, source, base, out, to, versions)
            except InputError as error:
                raise _renamed(error, copy, name) from error
            except OutputError as error:
                raise OutputError(str(error).replace(copy, name)) from error
    if not quiet:
        what = "; ".join(said) or "nothing had to be changed"
        console.say(f"{printable(out)}: for kernel {version_text(version)}; {what}")
    return said


def _received(path: str) -> bytes:
    """What comes from a pipe or standard input. Both can be read only once, a file is needed more often."""
    if path == STDOUT:
        return read_standard_input()
    try:
        with open(path, "rb") as stream:
            start = stream.read(64)
            if start:
                check_start(start, path)
            return read_rest(stream, start, path)
    except OSError as error:
        raise unreadable(path, error, EXPECTED) from error


def _renamed(error: InputError, copy: str, name: str) -> InputError:
    """The error, as about what was copied: nobody knows the file `copy`."""
    place = replace(error.place, file=name) if error.place.file == copy else error.place
    return InputError(place, error.found.replace(copy, name), error.expected.replace(copy, name), error.hint)


def _fix(
    path: str, source: Source, base: tuple[str, ...], out: str, to: str | None, versions: list[int]
) -> tuple[list[str], int]:
    """Writes OUT. `source` is what is in the file `path`. What was done, in words, and for which version."""
    btf = open_btf(path, base[0] if base else None)
    version = versions[0] if versions else version_of(source.release or "") or NEWEST
    said = []
    if to is not None:
        below = open_btf(to)
        data, count = rebase(btf, below)
        words = f"types of {base[0]} are now those" if count != 1 else f"type of {base[0]} is now that"
        said.append(f"{count:,} {words} of {to}")
        btf = BTF.from_bytes(data, below, name=path)
    sections: dict[str, bytes] = {}
    if source.completed is None or base:
        data, changes = mend(btf, version)
    elif out == STDOUT:  # nobody completes raw BTF
        data, changes = mend(BTF.from_bytes(source.completed.data, name=path), version)
        said += [f"completed as by a loader: {', '.join(source.completed.said)}"] if source.completed.said else []
    else:
        data, changes, sections = _object(btf, path, version)
    said += [f"{number:,} time{'s' * (number != 1)}: {what}" for what, number in changes.items()]
    if _is_elf(path) and out != STDOUT:
        said += ["the module's signature no longer counts"] * _write_elf(path, out, {".BTF": data, **sections})
    else:
        write(out, data)
    return said, version


def _is_elf(path: str) -> bool:
    with open(path, "rb") as stream:
        start = stream.read(64)
        packed = unpack(start + stream.read(), path) if is_packed(start) else None
    return (packed or start).startswith(b"\x7fELF")


def _object(btf: BTF, path: str, version: int) -> tuple[bytes, Counter[str], dict[str, bytes]]:
    """A BPF object's BTF, to be completed by its loader, and what belongs to it: other sections of the file."""
    from pybtf.btf.ext import SECTION, BtfExt

    with open_module(path) as image:
        section = image.section(SECTION)
        ext = bytes(image.data(section)) if section is not None else None
    data, changes, ids = mend_object(btf, version)
    if ext is None:
        return data, changes, {}
    return data, changes, {SECTION: BtfExt.from_bytes(ext, btf, name=path).renumbered(ids)}


def _write_elf(path: str, out: str, sections: dict[str, bytes]) -> bool:
    """A copy of the file, unpacked, with these sections; there all at once. Whether it was a signed module."""
    from pybtf.elf.writer import put_sections

    with Scratch("pybtf-verify-") as scratch:
        stage = str(scratch.path / "copy")
        with open_module(path) as image:
            write(stage, bytes(image.span(0, image.size)))
        try:
            written = put_sections(stage, sections, durable=False)
        except OutputError as error:
            raise OutputError(str(error).replace(stage, path)) from error
        with open(stage, "rb") as stream:
            made = stream.read()
    write(out, made)  # also to a device, or through a link
    return written.signed
