from collections.abc import Callable, Iterable

from pybtf.core.btf.type_view import View

def dump_types(
    view: View,
    write: Callable[[bytes], object],
    chosen: Iterable[int] = (),
    json: bool = False,
    pretty: bool = False,
) -> None: ...
