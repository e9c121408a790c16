"""The result of an encoding: the BTF and the report of how it came about."""

from __future__ import annotations

import os

from pybtf.arguments import path_of
from pybtf.elf.atomic import write_file
from pybtf.report import Report
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from typing import Final

    from pybtf.base import Base
    from pybtf.btf import BTF
    from pybtf.elf.writer import Written


_UNFIT: Final = {
    ".BTF.base": "has a .BTF.base, on which the new BTF is not built. Encode with --features +distilled_base, or "
    "remove the section first: objcopy --remove-section .BTF.base FILE",
}
_TIED: Final = (".BTF.ext",)


@record(frozen=True)
class Encoded:
    """Raw BTF, complete with header, in the byte order of the input, and the facts about it.

    Of an encoding on a base it is split BTF: it holds what the base does not.
    """

    data: bytes | bytearray | memoryview
    report: Report
    base: Base | None = None
    """What `data` is built on, if not on `base_data`."""
    base_data: bytes | None = None
    """With the feature distilled_base: the distilled base, on which `data` is built."""
    source: os.stat_result | None = None
    """The stat of the input file while it was read, if known: `embed` refuses to change another file."""
    real: str | None = None
    """The path of the input file without symbolic links, as it was then."""

    def __repr__(self) -> str:
        return f"<Encoded {self.report.path}: {self.report.total_types} types, {len(self.data)} bytes>"

    @property
    def btf(self) -> BTF:
        """The same BTF, opened for reading."""
        from pybtf.btf import BTF

        if self.base_data is not None:
            return BTF.from_bytes(bytes(self.data), BTF.from_bytes(self.base_data))
        return BTF.from_bytes(bytes(self.data), self.base.btf if self.base is not None else None)

    def write(self, path: str | bytes | os.PathLike[str], *, durable: bool = True) -> None:
        """Write the raw BTF to `path`: the file appears complete or not at all. Raises `OutputError`.

        `durable=False` does not wait until the disk has it.
        """
        write_file(path_of(path), self.data, durable=durable)

    def embed(self, path: str | bytes | os.PathLike[str], *, durable: bool = True) -> Written:
        """Put the BTF into the ELF file `path` as section `.BTF`, replacing one that is there.

        A distilled base becomes `.BTF.base`. A file that has one although there is none now is refused: its `.BTF`
        would be read as built on it. A `.BTF.ext` stays, refers to BTF that is gone, and is reported in the result.

        The file is replaced as a whole, at once; `durable` as for `write`. Raises `InputError` if it is not an ELF
        that can take it, `OutputError` if it cannot be written, or if it is the input and has changed since it
        was encoded.
        """
        from pybtf.elf.writer import put_sections

        target = path_of(path)
        expect = self.source if self._is_input(target) else None
        sections = {".BTF": self.data}
        if self.base_data is not None:
            sections[".BTF.base"] = self.base_data
        return put_sections(target, sections, expect=expect, durable=durable, unfit=_UNFIT, tied=_TIED)

    def _is_input(self, path: str) -> bool:
        """Whether this is the file that was encoded, whatever it is called, or has taken its place."""
        if self.source is None:
            return False
        try:
            if path == self.report.path or os.path.realpath(path) == self.real:
                return True
            return os.path.samestat(os.stat(path), self.source)  # noqa: PTH116
        except (OSError, ValueError):
            return False
