from collections.abc import Iterable

from pybtf.core.btf.type_view import View

def dump_header(
    view: View, chosen: Iterable[int] = (), sorted: bool = True, effort: int = ..., as_is: bool = False
) -> bytes: ...
