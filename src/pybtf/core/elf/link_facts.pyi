from array import array
from collections.abc import Callable, Iterable, Sequence

from pybtf.core.elf.function_table import FunctionTable

def link_facts(
    symbols: FunctionTable,
    addresses: Iterable[bytes | bytearray | memoryview | array[int]],
    ranges: Sequence[tuple[int, int, int, int]],
    take: Callable[[bytes], object],
) -> None: ...
