"""The result of an encoding: the BTF and the report of how it came about."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .report import Report

if TYPE_CHECKING:
    from .btf import BTF
    from .elf.writer import Written


@dataclass(frozen=True)
class Encoded:
    """Raw BTF, complete with header, in the byte order of the input, and the facts about it."""

    data: bytes | bytearray | memoryview
    report: Report
    source: os.stat_result | None = None
    """The stat of the input file while it was read, if known: `embed` refuses to change another file."""

    @property
    def btf(self) -> BTF:
        """The same BTF, opened for reading."""
        from .btf import BTF

        return BTF.from_bytes(bytes(self.data))

    def write(self, path: str | os.PathLike[str], *, durable: bool = True) -> None:
        """Write the raw BTF to `path`: the file appears complete or not at all. Raises `OutputError`.

        `durable=False` does not wait until the disk has it.
        """
        from .elf.atomic import write_file

        write_file(os.fspath(path), self.data, durable=durable)

    def embed(self, path: str | os.PathLike[str], *, durable: bool = True) -> Written:
        """Put the BTF into the ELF file `path` as section `.BTF`, replacing one that is there.

        The file is replaced as a whole, at once; `durable` as for `write`. Raises `InputError` if it is no ELF
        that can take it, `OutputError` if it cannot be written, or if it is the input and has changed since it
        was encoded.
        """
        from .elf.writer import put_sections

        target = os.fspath(path)
        expect = self.source if target == self.report.path else None
        return put_sections(target, {".BTF": self.data}, expect=expect, durable=durable)
