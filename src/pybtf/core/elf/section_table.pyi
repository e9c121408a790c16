from typing import Final, final

from _typeshed import ReadableBuffer

class SectionNameError(ValueError):
    index: int
    offset: int
    endless: bool
    def __init__(self, index: int, offset: int, endless: bool) -> None: ...

@final
class Section:
    index: Final[int]
    name: Final[str]
    type: Final[int]
    flags: Final[int]
    addr: Final[int]
    offset: Final[int]
    size: Final[int]
    link: Final[int]
    info: Final[int]
    addralign: Final[int]
    entsize: Final[int]
    plain: Final[bool]

@final
class SectionTable:
    def __len__(self) -> int: ...
    def at(self, index: int) -> Section: ...
    def all(self) -> list[Section]: ...
    def first(self, name: str) -> Section | None: ...
    def of_type(self, kind: int) -> list[Section]: ...
    def relocations(self, index: int) -> list[Section]: ...
    def of_units(self) -> list[Section]: ...
    def dwarf(self) -> dict[str, Section]: ...

def read_sections(
    table: ReadableBuffer, names: bytes | None = None, *, is64: bool, little: bool
) -> SectionTable: ...
def read_section(entry: ReadableBuffer, *, is64: bool, little: bool) -> Section: ...
def place_sections(table: SectionTable, start: int, room: bytearray) -> None: ...
