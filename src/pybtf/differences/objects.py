"""What two kernels make of the CO-RE relocations of a BPF object: which find nothing, which come to something else.

A program is made to cope with members that move, so most of what changes is in order: the loader puts another number
in. Two things are not: a relocation that finds nothing, if the program gets there, and a member of another size, of
which a program may read too much or too little.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from typing import TYPE_CHECKING

from pybtf.btf.core_relocation import ENUMERATORS, FIELDS, MAX_ACCESS, Result, Target, way_of
from pybtf.btf.ext import Relocation, RelocationKind, read_object
from pybtf.btf.fields import resolve
from pybtf.btf.kernel_target import Kernel, KernelRelocator
from pybtf.btf.types import Array, Composite, Enumeration, Type
from pybtf.errors import InputError, PybtfError, shortened
from pybtf.support.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from pybtf.btf.ext import BtfExt
    from pybtf.btf.reader import BTF

BROKEN, CHANGED, FOUND, UNCLEAR = "broken", "changed", "found", "unclear"
"""What became of a relocation: finds nothing now, comes to something else, found nothing before, is not clear."""
SIGNS = {BROKEN: "-", CHANGED: "~", FOUND: "+", UNCLEAR: "?"}
WORDS = {
    RelocationKind.FIELD_BYTE_OFFSET: "offset", RelocationKind.FIELD_BYTE_SIZE: "size",
    RelocationKind.FIELD_EXISTS: "exists", RelocationKind.FIELD_SIGNED: "signed",
    RelocationKind.FIELD_LSHIFT_U64: "left shift", RelocationKind.FIELD_RSHIFT_U64: "right shift",
    RelocationKind.TYPE_ID_LOCAL: "local type id", RelocationKind.TYPE_ID_TARGET: "type id",
    RelocationKind.TYPE_EXISTS: "exists", RelocationKind.TYPE_SIZE: "size",
    RelocationKind.TYPE_MATCHES: "matches", RelocationKind.ENUMVAL_EXISTS: "exists",
    RelocationKind.ENUMVAL_VALUE: "value",
}  # fmt: skip


@record(frozen=True)
class Spot:
    """Where a relocation is: the section and offset of the instruction; function, file, line and its text, if known."""

    section: str
    offset: int
    function: str
    file: str
    line: int
    source: str


@record(frozen=True)
class Outcome:
    """What became of one or more relocations about the same thing. Values are None where nothing is found.

    `old_size` and `new_size` are those of the member, where it is one that is there on both sides.
    """

    what: str
    kind: str
    field: str
    old: int | None
    new: int | None
    old_size: int | None
    new_size: int | None
    note: str
    spots: tuple[Spot, ...]


@record(frozen=True)
class ObjectDifferences:
    """An object, how many relocations it has that depend on the kernel, and those that do not come to the same."""

    file: str
    relocations: int
    outcomes: tuple[Outcome, ...]

    def count(self, what: str) -> int:
        return sum(len(each.spots) for each in self.outcomes if each.what == what)


def diff_objects(
    paths: Iterable[str | os.PathLike[str]],
    old: BTF,
    new: BTF,
    old_modules: Sequence[str] = (),
    new_modules: Sequence[str] = (),
) -> list[ObjectDifferences]:
    """What the kernels `old` and `new`, with these modules (files), make of these objects.

    Raises `InputError` for an object or a module that cannot be read.
    """
    kernels = Kernel(old, old_modules), Kernel(new, new_modules)
    return [_diff_object(os.fspath(path), kernels) for path in paths]


def _diff_object(path: str, kernels: tuple[Kernel, Kernel]) -> ObjectDifferences:
    local, ext = read_object(path)
    if ext is None:
        return ObjectDifferences(path, 0, ())
    texts = Texts()
    places = _Places(local, ext, texts)
    relocators = KernelRelocator(local, kernels[0]), KernelRelocator(local, kernels[1])
    spelling = Spelling(local, texts)
    known: dict[tuple[int, str, int], Outcome | None] = {}
    spots: dict[tuple[int, str, int], list[Spot]] = {}
    count = 0
    for relocation in ext.relocations():
        if relocation.kind is RelocationKind.TYPE_ID_LOCAL:
            continue
        count += 1
        key = relocation.type, relocation.access, int(relocation.kind)
        if key not in known:
            known[key] = _outcome(spelling, relocation, relocators)
        if known[key] is not None:
            spots.setdefault(key, []).append(places.of(relocation))
    outcomes = []
    for key, rows in spots.items():
        outcome = known[key]
        assert outcome is not None
        values = {name: getattr(outcome, name) for name in Outcome.__match_args__}
        outcomes.append(Outcome(**{**values, "spots": tuple(rows)}))
    order = list(SIGNS)
    return ObjectDifferences(path, count, tuple(sorted(outcomes, key=lambda each: order.index(each.what))))


def _outcome(
    spelling: Spelling, relocation: Relocation, relocators: tuple[KernelRelocator, KernelRelocator]
) -> Outcome | None:
    """What became of it, None if nothing did."""
    kind = relocation.kind
    results: list[tuple[Result, Target] | None] = []
    notes = []
    for relocator in relocators:
        try:
            results.append(relocator.resolve(relocation))
        except InputError as error:
            results.append(None)
            notes.append(error.found)
    old, new = results
    name = WORDS[kind]
    if old is None or new is None:
        field = spelling.of(relocation)
        values = [each[0].value if each is not None else None for each in results]
        note = spelling.texts.cut("; ".join(dict.fromkeys(notes)))
        return Outcome(UNCLEAR, name, field, values[0], values[1], None, None, note, ())
    was, now = old[0].found is not None, new[0].found is not None
    value = old[0].value, new[0].value
    sizes = (_size(*old), _size(*new)) if kind in FIELDS and was and now else (None, None)
    if was == now:
        same = value[0] == value[1] or kind is RelocationKind.TYPE_ID_TARGET
        if same and (sizes[0] == sizes[1] or kind is not RelocationKind.FIELD_BYTE_OFFSET):
            return None
        return Outcome(CHANGED, name, spelling.of(relocation), *value, *sizes, "", ())
    field = spelling.of(relocation)
    what = CHANGED if name in ("exists", "matches") else FOUND if now else BROKEN
    return Outcome(what, name, field, *value, *sizes, "", ())


def _size(result: Result, target: Target) -> int | None:
    """Of what was found."""
    assert result.found is not None
    return target.btf.size_of(result.found.type)


class _Places:
    """From instructions to functions and lines."""

    def __init__(self, local: BTF, ext: BtfExt, texts: Texts) -> None:
        self._texts = texts
        self._files: dict[str, str] = {}
        self._functions: dict[str, list[tuple[int, str]]] = {}
        self._lines: dict[str, list[tuple[int, str, int, str]]] = {}
        names: dict[int, str] = {}  # any type may be named, also one with very many members, very often
        for function in ext.functions():
            if function.type not in names:
                names[function.type] = local.type(function.type).name
            self._functions.setdefault(function.section, []).append((function.offset, names[function.type]))
        for line in ext.lines():
            self._lines.setdefault(line.section, []).append((line.offset, line.file, line.line, line.source))
        for rows in (*self._functions.values(), *self._lines.values()):
            rows.sort(key=lambda row: row[0])  # type: ignore[attr-defined]
        self._starts = {
            (table, section): [row[0] for row in rows]
            for table, sections in enumerate((self._functions, self._lines))
            for section, rows in sections.items()  # type: ignore[attr-defined]
        }

    def of(self, relocation: Relocation) -> Spot:
        section, offset = relocation.section, relocation.offset
        function, file, line, source = "", "", 0, ""
        at = bisect_right(self._starts.get((0, section), []), offset) - 1
        if at >= 0:
            function = self._functions[section][at][1]
        at = bisect_right(self._starts.get((1, section), []), offset) - 1
        if at >= 0:
            _, file, line, source = self._lines[section][at]
        if file not in self._files:  # a long one is not copied for each
            self._files[file] = cut(file.rpartition("/")[2])
        source = cut(source).strip()
        said = self._texts.cut
        return Spot(said(section), offset, said(function), said(self._files[file]), line, said(source))


MAX_TEXT = 4096
"""Characters of a line of source, or of what a relocation is about."""
MAX_TEXTS = 1 << 24
"""Characters of all that is said of one object before it gets short: its relocations may share a few long strings."""
BRIEF = 80
"""Characters of a text from there on."""


def cut(text: str) -> str:
    """The text for an outcome, without its middle if it is very long: one string may be that of very many."""
    return text if len(text) <= MAX_TEXT else shortened(text)


class Texts:
    """The texts for the outcomes of one object."""

    def __init__(self) -> None:
        self._left = MAX_TEXTS

    def cut(self, text: str) -> str:
        """As the function; once very much has been said, also without the middle of a text that is only long."""
        if len(text) > BRIEF:
            text = cut(text)
            self._left -= len(text)
            if self._left < 0:
                return f"{text[: BRIEF // 2]}...{text[-BRIEF // 2 :]}"
        return text


class Spelling:
    """What relocations of one object are about: `struct task_struct.se.avg.load_sum`, `enum e.BPF_MAP_TYPE_HASH`.

    Very many may be about one type with very many members, which is made once.
    """

    def __init__(self, local: BTF, texts: Texts) -> None:
        self.texts = texts
        self._local = local
        self._names: dict[int, str] = {}
        self._types: dict[int, Type] = {}

    def of(self, relocation: Relocation) -> str:
        id = relocation.type
        if id not in self._names:
            self._names[id] = cut(self._local.c_name(id))
        root = self._names[id]
        try:
            text = self._way(root, relocation)
        except (ValueError, IndexError, PybtfError):
            text = f"{root}, {relocation.access[:MAX_ACCESS]!r}"
        return self.texts.cut(text)

    def _way(self, root: str, relocation: Relocation) -> str:
        steps = way_of(relocation.access)
        type = self._resolved(relocation.type)
        if relocation.kind in ENUMERATORS and isinstance(type, Enumeration):
            return f"{root}.{cut(type.values[steps[0]].name)}"
        if relocation.kind not in FIELDS:
            return root
        text = f"{root}[{steps[0]}]" if steps[0] else root
        for index in steps[1:]:
            if isinstance(type, Composite):
                member = type.members[index]
                text += f".{cut(member.name)}" if member.name else ""
                type = self._resolved(member.type)
            elif isinstance(type, Array):
                text += f"[{index}]"
                type = self._resolved(type.type)
            else:
                break
        return text

    def _resolved(self, id: int) -> Type:
        if id not in self._types:
            self._types[id] = resolve(self._local, id)
        return self._types[id]


# -- in words --------------------------------------------------------------------------------------------


def lines(found: ObjectDifferences) -> list[str]:
    """A line for the object, one for each thing that differs, and one for each place in the source."""
    counts = [(found.count(BROKEN), "broken"), (found.count(CHANGED), "changed"), (found.count(FOUND), "newly found")]
    counts.append((found.count(UNCLEAR), "unclear"))
    told = ", ".join(f"{count:,} {word}" for count, word in counts if count) or "all as before"
    rows = [f"{found.file}: {found.relocations:,} relocation{'' if found.relocations == 1 else 's'}, {told}"]
    for outcome in found.outcomes:
        rows.append(f"{SIGNS[outcome.what]} {outcome.field}: {_told(outcome)}")
        for spot in outcome.spots:
            place = f"{spot.file}:{spot.line}" if spot.line else f"{spot.section}+{spot.offset:#x}"
            function = f"{spot.function}, " if spot.function else ""
            rows.append(f"      {function}{place}{': ' + spot.source if spot.source else ''}")
    return rows


def _told(outcome: Outcome) -> str:
    if outcome.what == UNCLEAR:
        return outcome.note
    parts = []
    values = ["nothing" if value is None else str(value) for value in (outcome.old, outcome.new)]
    if values[0] != values[1]:
        parts.append(f"{outcome.kind} {values[0]} -> {values[1]}")
    if outcome.old_size != outcome.new_size and outcome.kind != "size":
        parts.append(f"size of the member {outcome.old_size} -> {outcome.new_size}")
    return ", ".join(parts)


def to_dict(found: ObjectDifferences) -> dict[str, Any]:
    """For JSON."""
    results = []
    for outcome in found.outcomes:
        row: dict[str, Any] = {
            "what": outcome.what, "field": outcome.field, "kind": outcome.kind, "old": outcome.old, "new": outcome.new
        }  # fmt: skip
        if outcome.old_size is not None or outcome.new_size is not None:
            row |= {"old_size": outcome.old_size, "new_size": outcome.new_size}
        if outcome.note:
            row["note"] = outcome.note
        row["places"] = [{name: getattr(spot, name) for name in Spot.__match_args__} for spot in outcome.spots]
        results.append(row)
    counts = {what: found.count(what) for what in SIGNS}
    return {"file": found.file, "relocations": found.relocations, **counts, "results": results}
