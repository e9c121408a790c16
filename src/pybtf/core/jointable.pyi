from collections.abc import Sequence

from pybtf.core.functable import FunctionTable

def join_tables(tables: Sequence[FunctionTable]) -> FunctionTable: ...
