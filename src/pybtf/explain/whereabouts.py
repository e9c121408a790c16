"""Unit, file and line of DIEs, as the core reads them: for very many, and for units that pyelftools cannot read."""

from __future__ import annotations

from array import array
from functools import cached_property
from typing import NamedTuple

from pybtf.core.run import Run
from pybtf.dwarf.line_files import LineFiles
from pybtf.dwarf.lines import alternate_files, own_files
from pybtf.dwarf.sections import DebugSections
from pybtf.elf.image import ElfImage
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_NOWHERE = 0xFFFFFFFF


class Where(NamedTuple):
    """The number of a DIE's unit, and where it is declared: "" and 0 if that is not known."""

    unit: int | None
    file: str
    line: int


class Whereabouts:
    """Of a run that is no longer at work, while its file is open."""

    def __init__(self, run: Run, image: ElfImage, sections: DebugSections) -> None:
        self.origins = run.origins()
        self._image = image
        self._sections = sections

    @cached_property
    def units(self) -> list[tuple[int, str, int | None, int]]:
        """Where each unit begins, its name, the offset of its line table, and the number of its language."""
        return self.origins.units()

    @cached_property
    def _files(self) -> LineFiles:
        return own_files(self._image, self._sections)

    @cached_property
    def _shared_files(self) -> LineFiles:
        return alternate_files(self._image, self._sections)

    def of(self, dies: Iterable[int]) -> dict[int, Where]:
        """By DIE."""
        wanted = array("I", sorted(dies))
        found = memoryview(self.origins.places(wanted)).cast("I")
        return {die: self._where(*found[4 * at : 4 * at + 4]) for at, die in enumerate(wanted)}

    def _where(self, unit: int, number: int, line: int, of: int) -> Where:
        start, _, table, _ = (0, "", None, 0) if of == _NOWHERE else self.units[of]
        shared = self._sections.alternate is not None and start >= self._sections.alternate.info_at
        file = "" if table is None else (self._shared_files if shared else self._files).name(table, number)
        return Where(None if unit == _NOWHERE else unit, file, line if file else 0)
