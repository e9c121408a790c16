"""BTF as data: reading it (`BTF`), its model (`types`), writing it (`BtfBuilder`), describing it.

Importing this package costs next to nothing: a name is loaded when it is first used. (The function
`describe` has the name of its module and is imported from there.)
"""

from __future__ import annotations

from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from pybtf.btf.builder import Builder
    from pybtf.btf.describe import Difference, first_difference
    from pybtf.btf.kinds import IntEncoding, Kind, Linkage
    from pybtf.btf.reader import BTF
    from pybtf.btf.writer import BtfBuilder

__all__ = [
    "BTF",
    "BtfBuilder",
    "Builder",
    "Difference",
    "IntEncoding",
    "Kind",
    "Linkage",
    "first_difference",
]

_HOME = {
    "BTF": "reader",
    "BtfBuilder": "writer",
    "Builder": "builder",
    "Difference": "describe",
    "IntEncoding": "kinds",
    "Kind": "kinds",
    "Linkage": "kinds",
    "first_difference": "describe",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOME[name]}", __name__), name)
