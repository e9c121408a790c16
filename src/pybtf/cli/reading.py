"""BTF for the commands that look at it: that of a file, or what its DWARF gives if it has no BTF.

Whoever wants to see a struct of an object that has just been compiled need not encode it first. What BTF cannot express
is replaced, if there is something, and a module is encoded by itself if no base is named: this BTF is looked at, no
kernel loads it.
"""

from __future__ import annotations

import os

from pybtf.btf import opening
from pybtf.cli import console
from pybtf.errors import counted, printable
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from pybtf.btf.reader import BTF
    from pybtf.core.btf.type_view import View


def open_view(path: str, base: str | None = None) -> View:
    """The BTF of the file `path`, `-` for standard input, split from that of `base` if it is given.

    Raises `InputError` as `btf.opening.open_view`, and as `pybtf.encode` for DWARF.
    """
    return opening.open_view(path, base, encode)


def open_btf(path: str, base: str | None = None) -> BTF:
    """As `open_view`, for those who want the types as objects."""
    return opening.open_btf(path, base, encode)


class Views:
    """As `open_view`, for several files, of which two may be on one base."""

    def __init__(self) -> None:
        self._made: dict[str, bytes] = {}

    def open(self, path: str, base: str | None) -> View:
        return opening.open_view(path, base, self._encode)

    def _encode(self, path: str, base: tuple[bytes, str] | None) -> bytes:
        if base is not None:
            return encode(path, base)
        if path not in self._made:
            self._made[path] = encode(path, None)
        return self._made[path]


def encode(path: str, base: tuple[bytes, str] | None) -> bytes:
    """Raw BTF of the DWARF in a file, split from BTF that is given with its name. A note says so."""
    from pybtf.base import Base
    from pybtf.cli.interrupt import PromptInterrupt
    from pybtf.cli.progress import Progress
    from pybtf.elf.mapped import mapped
    from pybtf.errors import EncodeError
    from pybtf.options import make_options
    from pybtf.pipeline.passes import encode_file

    below = Base.from_bytes(*base) if base is not None else None
    how, lost = "pybtf encode", ""
    options = make_options(base=below, standalone=below is None)
    terminal = console.is_terminal()
    label = printable(os.path.basename(path))  # noqa: PTH119 - a text, not a path
    with mapped(path, bar=terminal), PromptInterrupt(), Progress(label, terminal, shown=terminal) as progress:
        try:
            encoded = encode_file(path, options, progress)
        except EncodeError:
            options = make_options(base=below, standalone=below is None, degrade=True)
            encoded = encode_file(path, options, progress)
            losses = sum(loss.count for loss in encoded.report.losses)
            how, lost = "pybtf encode --degrade", f", which loses something in {counted(losses, 'place')}"
    console.note(f"{path} has no BTF; this is what `{how}` makes of its DWARF{lost}")
    return bytes(encoded.data)
