"""What types that only lead to another one come to: where typedefs, qualifiers and tags end, and the size at the end.

Such a chain can be as long as the BTF, and everything else may refer to where it begins. So each is followed once: what
it came to is remembered with the BTF, as numbers, of damaged chains as well. For the same reason what is at an end, a
struct with many members maybe, is made only if the answer is not known yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pybtf.btf.kinds import Kind
from pybtf.btf.types import Array, Composite, Datasec, Enumeration, Float, Int, Ptr, Ref
from pybtf.errors import InputError, PybtfError

if TYPE_CHECKING:
    from pybtf.btf.reader import BTF

WRAPPERS = frozenset((Kind.TYPEDEF, Kind.VOLATILE, Kind.CONST, Kind.RESTRICT, Kind.TYPE_TAG))
_SIZED_LIKE_ANOTHER = WRAPPERS | {Kind.ARRAY, Kind.VAR}
_ENDLESS = -1
_MOST = 1 << 64
"""From this number of elements on, they are not counted; it is an error."""

_Span = tuple[int, int, int]
"""From a type to the end of its chain: the most elements up to any array on the way, all elements, and the end."""


class Chains:
    """What is remembered of one BTF, by id. Types at ends may be damaged."""

    __slots__ = ("alignments", "ends", "sizes", "spans")

    def __init__(self) -> None:
        self.ends: dict[int, int] = {}
        """What typedefs, qualifiers and tags end at."""
        self.spans: dict[int, _Span] = {}
        """Of these, arrays and variables."""
        self.sizes: dict[int, int | None] = {}
        """Of types at ends."""
        self.alignments: dict[int, int] = {}
        """Of types at ends, arrays and variables."""


def end_of(btf: BTF, id: int) -> int:
    """The type that typedefs, qualifiers and tags end at, or one on the way that is damaged. Raises InputError if they
    do not end, NoSuchTypeError if there is no such type.
    """
    known = btf.chains.ends
    chain: dict[int, None] = {}
    while id not in known and btf.kind_of(id) in WRAPPERS:
        try:
            type = btf.type(id)
        except PybtfError:
            break  # raised again where the end is asked for
        assert isinstance(type, Ref)
        chain[id] = None
        id = type.type
        if id in chain:
            known[id] = _ENDLESS
    end = known.get(id, id)
    for each in chain:
        known[each] = end
    if end == _ENDLESS:
        raise InputError(btf.place, f"type {id} refers to itself", "a type that qualifiers and typedefs end at")
    return end


def size_of(btf: BTF, id: int) -> int | None:
    """See `BTF.size_of`."""
    largest, count, end = _span(btf, id)
    if largest >= _MOST:
        raise InputError(btf.place, f"type {id} has more than 2^64 elements", "a size of 64 bits")
    if end == _ENDLESS:
        raise InputError(btf.place, f"type {id} refers to itself", "a type with a size")
    sizes = btf.chains.sizes
    if end not in sizes:
        sizes[end] = _own_size(btf, end)
    size = sizes[end]
    return None if size is None else count * size


def _span(btf: BTF, id: int) -> _Span:
    known = btf.chains.spans
    chain: dict[int, int] = {}
    while id not in known and btf.kind_of(id) in _SIZED_LIKE_ANOTHER:
        try:
            type = btf.type(id)
        except PybtfError:
            break  # raised again for the size of the end
        assert isinstance(type, Ref | Array)
        chain[id] = type.nelems if isinstance(type, Array) else 1
        id = type.type
        if id in chain:
            # Elements of elements without end, unless there is but one of each.
            known[id] = _MOST if max(chain.values()) > 1 else 1, 1, _ENDLESS
    span = known.get(id, (1, 1, id))
    for each, count in reversed(chain.items()):
        span = min(count * max(span[0], 1), _MOST), min(count * span[1], _MOST), span[2]
        known[each] = span
    return span


def _own_size(btf: BTF, id: int) -> int | None:
    """Of a type that a chain ends at."""
    match type := btf.type(id):
        case Int() | Float() | Composite() | Enumeration() | Datasec():
            return type.size
        case Ptr():
            return btf.pointer_size
        case _:
            return None
