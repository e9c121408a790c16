"""Which of several structs and unions of one name pahole prints: it takes some for the same, though they differ in what
their members are. With `--sort` it looks at more of them, and keeps an order.
"""

from __future__ import annotations

from itertools import islice

from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from pybtf.core.btf.type_view import View
    from pybtf.core.show.show_types import Shower

MOST_ALIKE = 100
END = None


def different(view: View, shower: Shower, ids: list[int]) -> list[int]:
    """Without those that are like one before, struct or union."""
    return [id for id, first in firsts(view, shower, ids).items() if id == first]


def firsts(view: View, shower: Shower, ids: list[int]) -> dict[int, int]:
    """For each struct or union, the first that it is like, which may be itself: the same name and size, and members in
    the same places, with the same names, if both have one. Those without a name are never alike.
    """
    found = {id: id for id in ids}
    for name, group in _by_name(view, ids).items():
        kept: dict[tuple[object, ...], _Names] = {}
        for id in group if name and len(group) > 1 else ():
            members = shower.members(id)
            places = [(offset, bit, bits) for _, _, offset, bit, bits, *_ in members]
            same = kept.setdefault((shower.sums(id)["size"], *places), _Names())
            found[id] = same.first(tuple(member[0] for member in members), id)
    return found


class _Names:
    """Names of members, of those structs of one name that differ in nothing else."""

    def __init__(self) -> None:
        self._all: dict[tuple[bytes, ...], int] = {}
        self._partial: dict[tuple[bytes, ...], int] = {}
        """Those in which a name is missing."""

    def first(self, names: tuple[bytes, ...], id: int) -> int:
        """The first whose names these are, or may be. Where names are missing, no more than `MOST_ALIKE` are compared:
        so many there are only in a file that was made to take long.
        """
        if names in self._all:
            return self._all[names]
        whole = all(names)
        others = self._partial if whole else self._all
        for other in islice(others, MOST_ALIKE):
            if _alike(names, other):
                return others[other]
        self._all[names] = id
        if not whole:
            self._partial[names] = id
        return id


def _alike(names: tuple[bytes, ...], others: tuple[bytes, ...]) -> bool:
    return all(a == b or not a or not b for a, b in zip(names, others, strict=True))


def in_order(view: View, shower: Shower, ids: list[int]) -> list[int]:
    """By name, and those of one name by their members. One that begins with all members of another before it is left
    out.
    """
    groups = _by_name(view, ids)
    ordered: list[int] = []
    for name in sorted(groups):
        ordered += groups[name] if len(groups[name]) == 1 else _by_members(shower, groups[name])
    return ordered


def _by_name(view: View, ids: list[int]) -> dict[bytes, list[int]]:
    groups: dict[bytes, list[int]] = {}
    for id in ids:
        groups.setdefault(view.name_of(id), []).append(id)
    return groups


def _by_members(shower: Shower, ids: list[int]) -> list[int]:
    kept: list[tuple[list[tuple[object, ...]], int]] = []
    begun: dict[object, Any] = {}
    """The members that may follow each other; END where all of a struct have been met."""
    for id in ids:
        members: list[tuple[object, ...]] = [
            (not name, name, 8 * offset + bit, shower.type_name(type), bits)
            for name, type, offset, bit, bits, *_ in shower.members(id)
        ]
        node = begun
        for member in members:
            if END in node:
                break
            node = node.setdefault(member, {})
        if END not in node:
            node[END] = {}
            kept.append((members, id))
    return [id for _, id in sorted(kept)]
