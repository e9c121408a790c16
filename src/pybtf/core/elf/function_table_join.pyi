from collections.abc import Sequence

from pybtf.core.elf.function_table import FunctionTable

def join_tables(tables: Sequence[FunctionTable]) -> FunctionTable: ...
