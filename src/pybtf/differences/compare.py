"""From two BTFs to the list of changes."""

from __future__ import annotations

from pybtf.arguments import other_kind
from pybtf.btf.kind_numbers import ENUM, ENUM64, FUNC_PROTO, FWD, INT, STRUCT, UNION
from pybtf.core.diff.diff_compare import CATEGORIES as NUMBERED
from pybtf.core.diff.diff_compare import Comparison
from pybtf.core.diff.diff_reach import Reach as Reached
from pybtf.differences.fields import composite_details, enum_details
from pybtf.differences.model import CATEGORIES, Change, Detail, Reach, Tally, classes_of
from pybtf.differences.naming import Names, text_of, too_much
from pybtf.differences.parts import parts_of
from pybtf.errors import counted
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from pybtf.core.btf.type_view import View

KFUNC = b"bpf_kfunc"
MAX_PAIRS = 256
"""Definitions of one name that are compared with each other to find which became which."""
FREE_DETAILS = 1 << 18
BYTES_PER_DETAIL = 8
"""Things that may differ, for both files and by their length: a member or parameter has no fewer bytes. But one
nameless type may be that of very many others.
"""
REACHING = ("struct", "union", "enum", "typedef", "forward")
_COMPOSITE = (STRUCT, UNION)


class Differences:
    """The changes from one BTF to another, in the order of their categories and names.

    With `reach`, each type that changed or is gone says how far it reaches, and with `names` what that is.
    """

    def __init__(self, old: View, new: View, *, reach: bool = True, names: bool = False) -> None:
        self.comparison = Comparison(old, new)
        self.names = Names(self.comparison)
        self._kfuncs = tuple(frozenset(self.comparison.tagged(side, KFUNC)) for side in (0, 1))
        self._reach: tuple[Reached | None, ...] = (Reached(old), Reached(new)) if reach else (None, None)
        self._with_names = names
        # Of very many changes most belong to the same classes, and reach as far. Each of these is there once.
        self._classes: dict[frozenset[str], frozenset[str]] = {}
        self._sums: dict[tuple[int, int, int], Reach] = {}
        self._room = FREE_DETAILS + (len(old.data) + len(new.data)) // BYTES_PER_DETAIL
        found: list[Change] = []
        for number, name, left, right in self.comparison.leftovers():
            found += self._changes(NUMBERED[number], text_of(name), left, right)
        found = _joined(found)
        order = {category: at for at, category in enumerate(CATEGORIES)}
        self.changes: list[Change] = sorted(found, key=lambda each: (order[each.category], each.name, each.title))

    def tallies(self) -> dict[str, Tally]:
        """By category."""
        old, new = self.comparison.counts(0), self.comparison.counts(1)
        counted = {category: {"added": 0, "removed": 0, "changed": 0} for category in CATEGORIES}
        for change in self.changes:
            counted[change.category][change.what] += 1
        return {
            category: Tally(old[at], new[at], **counted[category]) for at, category in enumerate(NUMBERED)
        }  # fmt: skip

    def declaration(self, change: Change) -> str:
        """What was added or removed, in a few words: the declaration of a function, size and members of a struct."""
        if not isinstance(change, Change):
            raise other_kind("change", change, "a pybtf.Change")
        side = 0 if change.new_id is None else 1
        id = change.new_id if side else change.old_id
        assert id is not None
        _, _, third, count, _ = self.comparison.head(side, id)
        match change.category:
            case "function":
                return self.names.prototype(side, third, change.name)
            case "variable":
                return self.names.declared(side, third, change.name)
            case "typedef":
                return self.names.declared(side, third, change.name)
            case "struct" | "union":
                return f"{counted(third, 'byte')}, {counted(count, 'member')}"
            case "enum":
                return counted(count, "enumerator")
            case "forward":
                return "a declaration only"
            case _:
                return counted(third, "byte")

    # -- one name --------------------------------------------------------------------------------------------

    def _changes(self, category: str, name: str, left: list[int], right: list[int]) -> list[Change]:
        if category == "enum" and not name:
            pairs = self._nameless(left, right)
        elif left and right and (len(left) > 1 or len(right) > 1):
            pairs = self._paired(left, right)
        else:
            pairs = list(zip(left, right, strict=False))
        was, now = {old for old, _ in pairs}, {new for _, new in pairs}
        found = [self._changed(category, name, old, new) for old, new in pairs]
        found += [self._lone(category, name, 0, old) for old in left if old not in was]
        found += [self._lone(category, name, 1, new) for new in right if new not in now]
        return found

    def _lone(self, category: str, name: str, side: int, id: int) -> Change:
        kfunc = id in self._kfuncs[side]
        classes = set()
        if side == 0 and category not in ("forward", "section"):
            classes = {"removed", "kfunc"} if kfunc else {"removed"}
        old, new = (None, id) if side else (id, None)
        what = "added" if side else "removed"
        reach = self._reached(category, 0, id) if side == 0 else None
        title = self._title(category, name, side, id)
        return Change(what, category, name, old, new, (), self._known(classes), kfunc, title, reach)

    def _changed(self, category: str, name: str, old: int, new: int) -> Change:
        kfunc = old in self._kfuncs[0], new in self._kfuncs[1]
        details = self._details(category, old, new)
        details += self._tags(category, old, new)
        self._room -= sum(len(each.new["members"]) if each.what == "shifted" and each.new else 1 for each in details)
        if self._room < 0:
            raise too_much(self.comparison, 1, new)
        if not details:
            details.append(Detail("regrouped", "", None, None))
        classes = {each for detail in details for each in classes_of(category, detail)}
        if kfunc[0] and ("signature" in classes or any(each.what == "tag removed" for each in details)):
            classes.add("kfunc")
        reach = self._reached(category, 0, old)
        title = self._title(category, name, 1, new)
        return Change(
            "changed", category, name, old, new, tuple(details), self._known(classes), any(kfunc), title, reach
        )

    def _known(self, classes: set[str]) -> frozenset[str]:
        found = frozenset(classes)
        return self._classes.setdefault(found, found)

    def _title(self, category: str, name: str, side: int, id: int) -> str:
        if name or category != "enum":
            return name
        values = self.comparison.values(side, id)
        return f"{{{text_of(values[0][0])}{', ...' if len(values) > 1 else ''}}}" if values else "{}"

    def _reached(self, category: str, side: int, id: int) -> Reach | None:
        reach = self._reach[side]
        if reach is None or category not in REACHING:
            return None
        if not self._with_names:
            sums = reach.sums(id)
            if sums is None:
                return None
            if sums not in self._sums:
                self._sums[sums] = Reach(*sums)
            return self._sums[sums]
        ids = reach.of(id)
        if ids is None:
            return None
        types, variables, functions = (tuple(sorted({self._name(side, each) for each in row})) for row in ids)
        return Reach(len(ids[0]), len(ids[1]), len(ids[2]), (types, variables, functions))

    def _name(self, side: int, id: int) -> str:
        return text_of(self.comparison.head(side, id)[1])

    # -- several of one name ---------------------------------------------------------------------------------

    def _paired(self, left: list[int], right: list[int]) -> list[tuple[int, int]]:
        """Which of several definitions became which: those that have most in common."""
        if len(left) * len(right) > MAX_PAIRS:
            return list(zip(left, right, strict=False))
        parts = [{id: parts_of(self.comparison, side, id) for id in ids} for side, ids in enumerate((left, right))]
        scored = sorted(
            (-len(parts[0][old] & parts[1][new]), abs(i - k), i, k)
            for i, old in enumerate(left)
            for k, new in enumerate(right)
        )
        pairs: dict[int, int] = {}
        taken: set[int] = set()
        for _, _, i, k in scored:
            if i not in pairs and k not in taken:
                pairs[i] = k
                taken.add(k)
        return [(left[i], right[k]) for i, k in pairs.items()]

    def _nameless(self, left: list[int], right: list[int]) -> list[tuple[int, int]]:
        """Enums without a name are the same if they share enumerators: each goes with that it shares most with."""
        owners: dict[bytes, int] = {}
        for new in right:
            for name, _ in self.comparison.values(1, new):
                owners.setdefault(name, new)
        votes = []
        for old in left:
            count: dict[int, int] = {}
            for name, _ in self.comparison.values(0, old):
                if name in owners:
                    count[owners[name]] = count.get(owners[name], 0) + 1
            votes += [(-shared, old, new) for new, shared in count.items()]
        pairs: dict[int, int] = {}
        taken: set[int] = set()
        for _, old, new in sorted(votes):
            if old not in pairs and new not in taken:
                pairs[old] = new
                taken.add(new)
        return list(pairs.items())

    # -- what differs ----------------------------------------------------------------------------------------

    def _details(self, category: str, old: int, new: int) -> list[Detail]:
        match category:
            case "struct" | "union":
                return composite_details(self.comparison, self.names, old, new)
            case "enum":
                return enum_details(self.comparison, old, new)
            case "typedef":
                return self._typedef(old, new)
            case "function":
                return self._function(old, new)
            case "variable":
                return self._variable(old, new)
            case _:
                return self._number(old, new)

    def _typedef(self, old: int, new: int) -> list[Detail]:
        left, right = self.comparison.head(0, old)[2], self.comparison.head(1, new)[2]
        before, after = self.comparison.head(0, left), self.comparison.head(1, right)
        if before[0] == after[0] and not before[1] and not after[1]:
            if before[0] in _COMPOSITE:
                return composite_details(self.comparison, self.names, left, right)
            if before[0] in (ENUM, ENUM64):
                return enum_details(self.comparison, left, right)
        return self._type("type", left, right)

    def _type(self, what: str, left: int, right: int, path: str = "", **more: int) -> list[Detail]:
        if self.comparison.reference(0, left) == self.comparison.reference(1, right):
            return []
        sides = [{**more, "type": self.names.type(side, id)} for side, id in ((0, left), (1, right))]
        return [Detail(what, path, *sides)]

    def _function(self, old: int, new: int) -> list[Detail]:
        _, _, left, old_linkage, _ = self.comparison.head(0, old)
        _, _, right, new_linkage, _ = self.comparison.head(1, new)
        details = []
        if self.comparison.head(0, left)[0] != FUNC_PROTO or self.comparison.head(1, right)[0] != FUNC_PROTO:
            details += self._type("return", left, right)
        else:
            (returned, before), (returns, after) = (
                self.comparison.prototype(0, left),
                self.comparison.prototype(1, right),
            )
            details += self._type("return", returned, returns)
            details += self._parameters(before, after)
        if old_linkage != new_linkage:
            details.append(Detail("linkage", "", {"value": _linkage(old_linkage)}, {"value": _linkage(new_linkage)}))
        return details

    def _parameters(self, before: list[tuple[bytes, int]], after: list[tuple[bytes, int]]) -> list[Detail]:
        """What differs is in the middle: parameters that are equal at the beginning and at the end are left out."""
        old = [(name, self.comparison.reference(0, type)) for name, type in before]
        new = [(name, self.comparison.reference(1, type)) for name, type in after]
        shorter = min(len(old), len(new))
        start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
        end = next((at for at in range(shorter - start) if old[-1 - at] != new[-1 - at]), shorter - start)
        details = []
        left, right = list(range(start, len(old) - end)), list(range(start, len(new) - end))
        pairs = list(zip(left, right, strict=False))
        if len(left) != len(right):
            # Of some that came or went, those with a name of the other side are the same.
            places = {new[at][0]: at for at in reversed(right) if new[at][0]}
            pairs, after_that = [], -1
            for at in left:
                match = places.get(old[at][0], -1)
                if match > after_that:
                    pairs.append((at, match))
                    after_that = match
        was, now = {i for i, _ in pairs}, {k for _, k in pairs}
        for i, k in pairs:
            name, other = text_of(before[i][0]), text_of(after[k][0])
            sides = [{"number": i + 1}, {"number": k + 1}]
            if old[i][1] != new[k][1]:
                types = self.names.type(0, before[i][1]), self.names.type(1, after[k][1])
                sides = [{**side, "type": type} for side, type in zip(sides, types, strict=True)]  # type: ignore[dict-item]
                if name != other:
                    sides[1] |= {"name": other}  # type: ignore[dict-item]
                details.append(Detail("changed", name or other, *sides))
            elif name != other:
                details.append(Detail("renamed", name, sides[0], {**sides[1], "name": other}))
        for side, row, rows, taken in ((0, left, before, was), (1, right, after, now)):
            for at in row:
                if at not in taken:
                    raw, type = rows[at]
                    value = {"number": at + 1, "type": self.names.type(side, type) if raw or type else "..."}
                    what = "added" if side else "removed"
                    details.append(Detail(what, text_of(raw), *((None, value) if side else (value, None))))
        return details

    def _variable(self, old: int, new: int) -> list[Detail]:
        comparison = self.comparison
        details = self._type("type", comparison.head(0, old)[2], comparison.head(1, new)[2])
        (old_section, old_size), (new_section, new_size) = comparison.section(0, old), comparison.section(1, new)
        sizes = old_size or comparison.size(0, old), new_size or comparison.size(1, new)
        if sizes[0] != sizes[1]:
            details.append(Detail("size", "", {"size": sizes[0]}, {"size": sizes[1]}))
        if old_section != new_section:
            details.append(Detail("section", "", {"name": text_of(old_section)}, {"name": text_of(new_section)}))
        linkages = comparison.fourth(0, old), comparison.fourth(1, new)
        if linkages[0] != linkages[1]:
            details.append(Detail("linkage", "", {"value": _linkage(linkages[0])}, {"value": _linkage(linkages[1])}))
        return details

    def _number(self, old: int, new: int) -> list[Detail]:
        """An int, a float, a section or a declaration."""
        before, after = self.comparison.head(0, old), self.comparison.head(1, new)
        details = []
        if before[0] == FWD:
            if before[4] != after[4]:
                details.append(Detail("type", "", {"type": self.names.type(0, old)}, {"type": self.names.type(1, new)}))
        elif before[2] != after[2]:
            details.append(Detail("size", "", {"size": before[2]}, {"size": after[2]}))
        if before[0] == after[0] == INT:
            words = self.comparison.fourth(0, old), self.comparison.fourth(1, new)
            for what, shift in (("encoding", 24), ("bits", 0)):
                values = [(word >> shift) & 0xFF for word in words]
                if values[0] != values[1]:
                    details.append(Detail(what, "", {"value": values[0]}, {"value": values[1]}))
        return details

    def _tags(self, category: str, old: int, new: int) -> list[Detail]:
        before, after = self.comparison.tags(0, old), self.comparison.tags(1, new)
        details = []
        for what, one, others in (("tag removed", before, set(after)), ("tag added", after, set(before))):
            for component, name in one:
                if (component, name) not in others:
                    value = {"name": text_of(name)} | ({"number": component} if component >= 0 else {})
                    details.append(Detail(what, "", *((None, value) if what == "tag added" else (value, None))))
        return details


def _linkage(number: int) -> str:
    return ("static", "global", "extern")[number] if number < 3 else str(number)


def _joined(changes: list[Change]) -> list[Change]:
    """A definition in place of a declaration, or the other way round, is one change."""
    keywords = ("struct", "union")
    lone: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        if change.category == "forward":
            lone.setdefault((change.what, change.name), []).append(change)
    found, gone = [], set()
    for change in changes:
        if change.category in keywords and change.what in ("added", "removed"):
            other = lone.get(("removed" if change.what == "added" else "added", change.name))
            if other:
                twin = other.pop()
                gone.add(id(twin))
                found.append(_defined(change, twin))
                continue
        found.append(change)
    return [change for change in found if id(change) not in gone]


def _defined(change: Change, twin: Change) -> Change:
    defined = change.what == "added"
    detail = Detail("defined" if defined else "declared", "", None, None)
    ids = (twin.old_id, change.new_id) if defined else (change.old_id, twin.new_id)
    classes = frozenset[str]() if defined else frozenset({"removed"})
    reach = twin.reach if defined else change.reach
    return Change("changed", change.category, change.name, *ids, (detail,), classes, False, change.title, reach)
