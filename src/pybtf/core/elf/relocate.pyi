from typing import Final

from _typeshed import ReadableBuffer, WriteableBuffer

from pybtf.core.elf.symbols import SymbolSource

OPERATIONS: Final[dict[str, int]]

class RelocationError(ValueError):
    index: int
    found: str
    expected: str
    type: int | None
    def __init__(self, index: int, found: str, expected: str, type: int | None = None) -> None: ...

def apply_relocations(
    out: WriteableBuffer,
    relocs: ReadableBuffer,
    source: SymbolSource,
    addresses: ReadableBuffer,
    table: bytes,
    *,
    rela: bool,
    mips64: bool,
) -> None: ...
