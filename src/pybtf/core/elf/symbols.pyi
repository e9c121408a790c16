from _typeshed import ReadableBuffer

class SymbolError(ValueError):
    symbol: int
    found: str
    expected: str

class SymbolSource:
    def __init__(
        self,
        symtab: ReadableBuffer,
        strtab: ReadableBuffer,
        *,
        is64: bool,
        little: bool,
        shndx: ReadableBuffer | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    def file_names(self) -> list[str]: ...
    def function_names(self) -> list[tuple[str, int]]: ...
    def in_section(self, section: int, prefix: bytes) -> list[tuple[bytes, int, int]]: ...
