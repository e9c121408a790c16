"""The line tables of a file, and of its alternate file: opened when somebody asks for the name of a source file."""

from __future__ import annotations

from pybtf.dwarf.line_files import LineFiles
from pybtf.dwarf.sections import DebugSections, another_section, read_section
from pybtf.elf.image import ElfImage
from pybtf.errors import PybtfError
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pybtf.dwarf.sections import Buffer


def own_files(image: ElfImage, sections: DebugSections) -> LineFiles:
    """Names of source files in the units of the file that has these sections. A table that cannot be read has none."""
    try:
        line = another_section(image, sections, ".debug_line")
    except PybtfError:
        line = None
    return _files(sections, line, image.little)


def alternate_files(image: ElfImage, sections: DebugSections) -> LineFiles:
    """Those in the units of its alternate file, which dwz gives a line table of its own."""
    alternate = sections.alternate
    if alternate is None:
        return _files({}, None, image.little)
    contents = {**alternate, "str": memoryview(sections.get("str", b""))[alternate.str_at :]}
    try:
        with ElfImage.open(alternate.path) as other:
            line = read_section(other, ".debug_line")
            line = None if line is None else bytes(line)
    except (PybtfError, OSError):  # it was there when the sections were read
        line = None
    return _files(contents, line, image.little)


def _files(sections: Mapping[str, Buffer], line: Buffer | None, little: bool) -> LineFiles:
    contents = dict(sections)
    if line is not None:
        contents["line"] = line
    return LineFiles(contents, little=little)
