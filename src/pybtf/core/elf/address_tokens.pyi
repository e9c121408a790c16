from _typeshed import ReadableBuffer, WriteableBuffer

from pybtf.core.elf.symbols import SymbolSource

def put_tokens(
    out: WriteableBuffer,
    relocs: ReadableBuffer,
    source: SymbolSource,
    unallocated: bytes,
    table: bytes,
    *,
    rela: bool,
    mips64: bool,
    base: int,
    gap: int,
) -> None: ...
