from typing import final

from pybtf.core.btf.type_view import View
from pybtf.core.elf.function_table import FunctionTable

class UnitError(ValueError):
    problem: str
    id: int
    def __init__(self, problem: str, id: int) -> None: ...

@final
class BtfUnits:
    old: bool
    nested: int
    ambiguous: set[bytes]
    def __init__(
        self,
        functions: FunctionTable,
        objects: dict[bytes, list[int]] | None,
        *,
        swap: bool,
        options: int,
    ) -> None: ...
    def unit(self, view: View, name: bytes, defined: FunctionTable | None = None) -> tuple[bytes, bytes]: ...
