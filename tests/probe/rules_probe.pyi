from collections.abc import Mapping, Sequence
from typing import Literal

from pybtf.core.run import Run

def probe_record(kind: int, vlen: int) -> dict[str, object]: ...
def probe_abbrevs(section: bytes, tables: Sequence[tuple[int, int, int, int]]) -> list[tuple[object, ...]]: ...
def probe_location(
    kind: Literal["block", "list", "listx"] | str,
    value: bytes | int,
    *,
    size: int = 8,
    version: int = 5,
    address_size: int = 8,
    offset_size: int = 4,
    one_word: bool = False,
    big_endian: bool = False,
    info: bytes = b"",
    loc: bytes = b"",
    loclists: bytes = b"",
    loclists_base: int = 0,
    addr: bytes = b"",
    addr_base: int = 0,
) -> tuple[int | None, bool, bool, int, int]: ...
def probe_address(
    expr: bytes, *, address_size: int = 8, addr: bytes = b"", addr_base: int = 0, big_endian: bool = False
) -> int | None: ...

class ProbeUnit:
    def __init__(
        self,
        types: Sequence[tuple[int, int, int, int, int, int]],
        members: Sequence[tuple[int, int, int, int, int, int, int]] = (),
        params: Sequence[Mapping[str, object]] = (),
        *,
        address_size: int = 8,
        clang: bool = False,
    ) -> None: ...
    def packed(self, small_id: int) -> bool: ...
    def size(self, small_id: int) -> int: ...
    def analyse(
        self, e_machine: int, *, changed: bool = False, true_signature: bool = False
    ) -> tuple[bool, bool, bool, list[str]]: ...
    def ref(self, index: int) -> int: ...

class ProbeClasses:
    def __init__(self, records: Sequence[Sequence[int]]) -> None: ...
    def match(self, a: int, b: int) -> bool: ...

def probe_combine(
    entries: Sequence[
        tuple[str, Sequence[tuple[str, int]]] | tuple[str, Sequence[tuple[str, int]], Mapping[str, object]]
    ],
    states: Sequence[tuple[int, int, int, int]],
    classes: ProbeClasses,
    *,
    consistent: bool = True,
    true_signature: bool = False,
) -> tuple[list[tuple[str, int, bool, bool, int]], list[int]]: ...
def probe_kept(run: Run) -> tuple[list[tuple[bool, list[tuple[str, bool, bool, int]]]], list[tuple[int, int]]]: ...
