from typing import Final, final

from _typeshed import ReadableBuffer

class SectionNameError(ValueError):
    index: int
    offset: int
    endless: bool

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

def read_sections(
    table: ReadableBuffer, names: bytes | None = None, *, is64: bool, little: bool
) -> tuple[list[Section], dict[str, Section], dict[int, list[Section]], list[Section]]: ...
