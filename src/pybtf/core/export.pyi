from typing import final

from pybtf.core.run import FaultInfo

@final
class Export:
    sections: dict[str, bytes | bytearray | memoryview]
    def __init__(
        self,
        sections: dict[str, bytes | bytearray | memoryview],
        *,
        little: bool,
        machine: int,
        options: int,
    ) -> None: ...
    def scan(self, merge: bool) -> int: ...
    def has_reference_to_other_units(self) -> bool: ...
    def fault(self) -> FaultInfo | None: ...
    def units_as_bytes(self) -> tuple[bytes, bytes, int | None]: ...
