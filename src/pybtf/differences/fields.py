"""Structs, unions and enums member by member: what came, went and changed, and what only shifted.

Members are matched by their paths, into nameless structs and unions inside (`x.a` of `struct { int a; } x`). A member
that disappeared and one that appeared at the same place with the same type count as a rename, if there is no other such
pair. Members that differ only in offset, by the same distance, are listed together: usually something before them grew.
"""

from __future__ import annotations

from pybtf.differences.model import Detail
from pybtf.differences.naming import text_of
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence
    from typing import Any

    from pybtf.core.diff.diff_compare import Comparison
    from pybtf.differences.model import Value
    from pybtf.differences.naming import Names

    Row = tuple[Any, ...]
    Key = tuple[bytes, int]

PATH, OFFSET, BITS, SIZE, MEANING, TYPE = range(6)
"""Of a row of `Comparison.fields`; an enumerator has name and value."""


def keyed(rows: Iterable[Any]) -> dict[Key, Any]:
    """Rows by path, and by how many had the same before: what compilers make has none twice."""
    found: dict[Key, Any] = {}
    seen: dict[bytes, int] = {}
    for row in rows:
        number = seen.get(row[0], 0)
        seen[row[0]] = number + 1
        found[row[0], number] = row
    return found


def composite_details(comparison: Comparison, names: Names, old: int, new: int) -> list[Detail]:
    """What differs in two structs or unions. Empty if that is only how members are nested, or their order."""
    details = []
    sizes = comparison.head(0, old)[2], comparison.head(1, new)[2]
    if sizes[0] != sizes[1]:
        details.append(Detail("size", "", {"size": sizes[0]}, {"size": sizes[1]}))
    before, after = keyed(comparison.fields(0, old)), keyed(comparison.fields(1, new))
    gone = [key for key in before if key not in after]
    come = [key for key in after if key not in before]
    renamed = _renamed(
        [(key, (before[key][OFFSET], before[key][BITS], before[key][SIZE], before[key][MEANING])) for key in gone],
        [(key, (after[key][OFFSET], after[key][BITS], after[key][SIZE], after[key][MEANING])) for key in come],
    )
    taken = set(renamed.values())
    for key in _outermost([key for key in gone if key not in renamed]):
        details.append(Detail("removed", text_of(key[0]), _place(names, 0, before[key]), None))
    for left, right in renamed.items():
        old_value, new_value = _place(names, 0, before[left]), _place(names, 1, after[right])
        details.append(Detail("renamed", text_of(left[0]), old_value, {"name": text_of(right[0]), **new_value}))
    for key in _outermost([key for key in come if key not in taken]):
        details.append(Detail("added", text_of(key[0]), None, _place(names, 1, after[key])))
    moved: list[tuple[Key | None, Key | None, int]] = []
    last: Key | None = None
    carrier, carried = b"", 0  # the nameless type whose members are at hand, and how far it moved
    for key, row in after.items():
        was = before.get(key)
        if was is None:
            last = key
            continue
        same = _same_type(names, was, row) and was[BITS] == row[BITS] and was[SIZE] == row[SIZE]
        if carrier and _is_within(key[0], carrier) and same and row[OFFSET] - was[OFFSET] == carried:
            continue
        if row[MEANING] == 0:
            carrier, carried = key[0], row[OFFSET] - was[OFFSET]
        if not same:
            details.append(_changed(names, was, row))
        elif was[OFFSET] != row[OFFSET]:
            moved.append((last, key, row[OFFSET] - was[OFFSET]))
            last = key
            continue
        moved.append((last, None, 0))
        last = key
    details += _shifts(names, moved, before, after)
    return details


def _same_type(names: Names, was: Row, row: Row) -> bool:
    if was[MEANING] or row[MEANING]:
        return bool(was[MEANING] == row[MEANING])
    # Types without a name, which are looked into: what differs in them is reported for their members.
    return names.type(0, was[TYPE]) == names.type(1, row[TYPE])


def _place(names: Names, side: int, row: Row) -> Value:
    """Where a member is and what it is, for programs."""
    value: Value = {"offset": row[OFFSET] // 8, "type": names.type(side, row[TYPE]), "size": row[SIZE]}
    if row[BITS]:
        value |= {"bit": row[OFFSET] % 8, "bits": row[BITS]}
    return value


def _changed(names: Names, was: Row, row: Row) -> Detail:
    return Detail("changed", text_of(row[PATH]), _place(names, 0, was), _place(names, 1, row))


def _renamed(gone: Sequence[tuple[Key, Hashable]], come: Sequence[tuple[Key, Hashable]]) -> dict[Key, Key]:
    """Of what went, what it is called now: where one went and one came with all else equal."""
    places: dict[Hashable, list[Key]] = {}
    for key, place in gone:
        places.setdefault(place, []).append(key)
    others: dict[Hashable, list[Key]] = {}
    for key, place in come:
        others.setdefault(place, []).append(key)
    found = {}
    for place, keys in places.items():
        match = others.get(place, [])
        if len(keys) == len(match) == 1 and keys[0][0].rpartition(b".")[0] == match[0][0].rpartition(b".")[0]:
            found[keys[0]] = match[0]
    return found


def _outermost(keys: list[Key]) -> list[Key]:
    """Without those within one that is in the list itself. Members come after what they are in."""
    found = []
    within: bytes | None = None
    for key in keys:
        path = key[0]
        if within is not None and _is_within(path, within):
            continue
        within = path
        found.append(key)
    return found


def _is_within(path: bytes, outer: bytes) -> bool:
    return path.startswith(outer) and path[len(outer) : len(outer) + 1] in (b".", b"[")


def _shifts(
    names: Names, moved: list[tuple[Key | None, Key | None, int]], before: dict[Key, Row], after: dict[Key, Row]
) -> list[Detail]:
    """What moved, those by one distance together. Rows in between, that did not move, end a group."""
    details: list[Detail] = []
    group: list[Key] = []
    distance = 0
    first: Key | None = None

    def finish() -> None:
        if len(group) == 1:
            key = group[0]
            details.append(
                Detail("moved", text_of(key[0]), _place(names, 0, before[key]), _place(names, 1, after[key]))
            )
        elif group:
            value: Value = {"by": distance // 8} if distance % 8 == 0 else {"bits": distance}
            value |= {"after": text_of(first[0]) if first else "", "members": [text_of(key[0]) for key in group]}
            details.append(Detail("shifted", "", None, value))

    for last, key, by in moved:
        if key is None or by != distance:
            finish()
            group = []
            distance = by
            if key is None:
                distance = 0
                continue
            first = last
        assert key is not None
        group.append(key)
    finish()
    return details


def enum_details(comparison: Comparison, old: int, new: int) -> list[Detail]:
    """What differs in two enums."""
    details = []
    _, _, old_size, _, old_signed = comparison.head(0, old)
    _, _, new_size, _, new_signed = comparison.head(1, new)
    if old_size != new_size:
        details.append(Detail("size", "", {"size": old_size}, {"size": new_size}))
    if old_signed != new_signed:
        details.append(Detail("signed", "", {"value": old_signed}, {"value": new_signed}))
    before, after = keyed(comparison.values(0, old)), keyed(comparison.values(1, new))
    gone = [(key, (row[1], at)) for at, (key, row) in enumerate(before.items()) if key not in after]
    come = [(key, (row[1], at)) for at, (key, row) in enumerate(after.items()) if key not in before]
    renamed = _renamed(gone, come)  # of the same value, and the same place in the list
    taken = set(renamed.values())
    for key, (value, _) in gone:
        if key in renamed:
            other = text_of(renamed[key][0])
            details.append(Detail("renamed", text_of(key[0]), {"value": value}, {"name": other, "value": value}))
        else:
            details.append(Detail("removed", text_of(key[0]), {"value": value}, None))
    for key, (value, _) in come:
        if key not in taken:
            details.append(Detail("added", text_of(key[0]), None, {"value": value}))
    details += _new_values(before, after)
    return details


def _new_values(before: dict[Key, Any], after: dict[Key, Any]) -> list[Detail]:
    """Enumerators whose values changed, those by one difference together."""
    details: list[Detail] = []
    group: list[Key] = []
    distance = 0
    first = last = ""

    def finish() -> None:
        if len(group) == 1:
            key = group[0]
            values = {"value": before[key][1]}, {"value": after[key][1]}
            details.append(Detail("changed", text_of(key[0]), *values))
        elif group:
            names = [text_of(key[0]) for key in group]
            value = {"by": distance, "after": first, "members": names, "of": "enumerators"}
            details.append(Detail("shifted", "", None, value))

    for key, row in after.items():
        was = before.get(key)
        by = row[1] - was[1] if was is not None else 0
        if was is not None:
            if by != distance:
                finish()
                group, distance, first = [], by, last
            if by:
                group.append(key)
        last = text_of(key[0])
    finish()
    return details
