from collections.abc import Callable, Iterable, Sequence
from typing import Any, NotRequired, Protocol, TypedDict

from pybtf.core.dedup.base import Base
from pybtf.core.elf.function_table import FunctionTable
from pybtf.core.fates import Fates
from pybtf.core.origins import Origins
from pybtf.core.search import Search

Buffer = bytes | bytearray | memoryview

class GivenPiece(Protocol):
    @property
    def addresses(self) -> Buffer: ...
    @property
    def values(self) -> Buffer | None: ...
    @property
    def digest(self) -> bytes | None: ...
    @property
    def path(self) -> bytes | None: ...
    @property
    def size(self) -> int: ...
    @property
    def at(self) -> int: ...

class FaultInfo(TypedDict):
    code: str
    section: int
    offset: int
    die: int
    value: int
    unit: int
    unit_name: str
    name: str
    piece: NotRequired[int]

class LossInfo(FaultInfo):
    whole_unit: bool

class Run:
    sections: dict[str, bytes | bytearray | memoryview]
    def __init__(
        self,
        sections: dict[str, bytes | bytearray | memoryview],
        symbols: FunctionTable,
        *,
        little: bool,
        machine: int,
        options: int,
        force: bool,
        ranges: Sequence[tuple[int, int, int, int, bool]],
        names: Sequence[bytes],
        languages: Sequence[int],
        only_languages: bool,
        jobs: int,
        info_file: tuple[int, int] | None = None,
        keep_all: bool = False,
        decode_again: bool = False,
        base: Base | None = None,
        functions: FunctionTable | None = None,
        tracing: bool = False,
        given_bytes: int = 0,
        placing: bool = False,
        later: bool = False,
    ) -> None: ...
    def start(self) -> None: ...
    def next_file(
        self,
        sections: dict[str, bytes | bytearray | memoryview],
        symbols: FunctionTable,
        *,
        machine: int,
        info_file: tuple[int, int] | None = None,
    ) -> None: ...
    def scan(self, merge: bool) -> int: ...
    def give(
        self,
        pieces: Iterable[GivenPiece],
        digest: Callable[[Buffer], bytes] | None = None,
        find: Callable[[int], Buffer] | None = None,
    ) -> tuple[int, int] | None: ...
    def merge(self) -> None: ...
    def has_reference_to_other_units(self) -> bool: ...
    def work(self, on_slice: Callable[[int, int], None] | None = None) -> None: ...
    def stop(self) -> None: ...
    def fault(self) -> FaultInfo | None: ...
    def take_losses(self) -> tuple[list[LossInfo], dict[str, int]]: ...
    def renamed_names(self) -> list[str]: ...
    def error(self) -> tuple[str, str] | None: ...
    def certify(self) -> int: ...
    def finish(self) -> int: ...
    def deduplicate(self) -> tuple[str, int]: ...
    def data(self) -> bytes: ...
    def other_sizes(self) -> list[tuple[str, int, int]]: ...
    def distill(self, data: bytes) -> tuple[bytes, bytes] | int: ...
    def fates(self) -> Fates: ...
    def origins(self) -> Origins: ...
    def search(self) -> Search: ...
    def close(self) -> None: ...
    def facts(self) -> dict[str, Any]: ...
