from typing import Any, TypeVar

BAD_START: int
BAD_VERSION: int
BAD_HEAD: int
BAD_SIZE: int
BAD_PADDING: int
BAD_NAMES: int
BLOCK: int
STORED_HEAD: int

T = TypeVar("T", bound=tuple[Any, ...])

def index_pieces(
    data: bytes | bytearray | memoryview, little: bool, kind: type[T]
) -> tuple[list[T], tuple[int, int, int, int] | None]: ...
