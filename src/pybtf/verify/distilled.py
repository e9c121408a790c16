"""A module that brings a base of its own, `.BTF.base`: a few types that the kernel looks for in vmlinux, since 6.11.

Each has to match exactly one type of its name there, used or not; then the module's ids are rewritten. Older kernels
ignore the section, and take the module's BTF for split from vmlinux: they load it, with wrong types.
"""

from __future__ import annotations

import errno

from pybtf.btf.kind_numbers import (
    ARRAY,
    CONST,
    ENUM,
    ENUM64,
    FLOAT,
    FWD,
    INT,
    KIND_NAMES,
    RESTRICT,
    STRUCT,
    TYPE_TAG,
    TYPEDEF,
    UNION,
    VOLATILE,
)
from pybtf.core.accept.accept_layer import Layer
from pybtf.support import TYPE_CHECKING
from pybtf.verify import words
from pybtf.verify.judge import MODULE, READ_SINCE, VMLINUX, judge

if TYPE_CHECKING:
    from typing import Any

    from pybtf.verify.sources import Source
    from pybtf.verify.task import Base, Settings

_WRAPPERS = (ARRAY, TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG)
"""What may stand between a member and the struct that it embeds."""
_SIZED = (INT, FLOAT, ENUM, ENUM64)
_NAMED = (INT, STRUCT, UNION, ENUM, FWD, FLOAT, ENUM64)
_SHOWN = 10
"""Of what is wrong; the reasons of others, which take some time, are not looked for."""

Target = tuple[int, int, int, int, int]
"""A type of vmlinux: its id, kind, flag, size, and of an INT its encoding."""


class Targets:
    """The types of a vmlinux that a distilled base may mean, by name."""

    def __init__(self, layer: Layer) -> None:
        self.by_name: dict[bytes, list[Target]] = {}
        for id in layer.of_kinds(_NAMED):
            self.by_name.setdefault(layer.name(id), []).append(target(layer, id))


class Namesakes:
    """The types of one name, counted by all that matters but their ids: damaged BTF may have any number of one name."""

    def __init__(self, there: list[Target]) -> None:
        self.several = sum(each[1] in (STRUCT, UNION) for each in there) > 1
        self._by_size: dict[int, dict[Target, int]] = {}
        self._any_size: dict[Target, int] = {}
        for _, kind, flag, size, encoding in there:
            if kind == FWD:
                size = 0  # a declaration has none
            key = 0, kind, flag, size, encoding
            rows = [self._by_size.setdefault(size, {})]
            if kind == FWD or (kind in (STRUCT, UNION) and not self.several):
                rows.append(self._any_size)
            for row in rows:
                row[key] = row.get(key, 0) + 1

    def matching(self, mine: Target, embedded: bool) -> int:
        """How many match."""
        asked = self._any_size | self._by_size.get(mine[3], {})
        return sum(count for its, count in asked.items() if matches(mine, its, embedded, self.several))


def target(layer: Layer, id: int) -> Target:
    info, size, encoding = layer.head(id)
    kind = layer.kind(id)
    return id, kind, info >> 31, size, encoding >> 24 & 0xF if kind == INT else 0


def run_distilled(source: Source, settings: Settings) -> dict[str, Any]:
    """What is to be said of a module with a base of its own, on each vmlinux that is given."""
    from pybtf.verify.task import (
        ACCEPTED,
        DISTILLED_SINCE,
        NOT_READ,
        REJECTED,
        WRONG,
        on_bases,
        refusal,
        result_of,
        versions_for,
    )

    assert source.data is not None
    assert source.base is not None
    version = versions_for(source, settings, settings.bases[0] if settings.bases else None)[-1]
    if version < READ_SINCE[MODULE]:
        return result_of(source, MODULE, settings, NOT_READ)
    if version < DISTILLED_SINCE:
        note = "before 6.11 a kernel ignores .BTF.base, and reads .BTF as if it were split from vmlinux"
        if settings.bases:
            result = on_bases(source, settings, settings.bases)
        else:
            result = result_of(source, MODULE, settings, WRONG)
        result["notes"].append(note)
        return result
    below = judge(source.base, VMLINUX, version, little=source.little, pointer=source.pointer)
    if below.errno or below.layer is None:
        result = result_of(source, MODULE, settings, REJECTED, [below])
        result["notes"].append(".BTF.base itself is damaged")
        return result
    judged = judge(source.data, MODULE, version, base=below.layer, little=source.little, pointer=source.pointer)
    result = result_of(source, MODULE, settings, REJECTED if judged.errno else ACCEPTED, [judged])
    if judged.errno or judged.layer is None:
        return result
    tried = [(base, relocate(below.layer, judged.layer, _targets(base))) for base in settings.bases]
    if not tried:
        result["fits"] = "it has a base of its own; --base VMLINUX says whether that matches a vmlinux"
        return result
    base, wrong = min(tried, key=lambda each: len(each[1]))
    result["base"] = base.path
    good = [each.path for each, defects in tried if not defects]
    if good and len(tried) > 1:
        result["fits"] = f"fits {', '.join(good)}"
    refused = base.answer(version)
    if refused:
        judged.refused = refused
        name = words.errno_name(refused)
        result |= {"verdict": REJECTED, "errno": name, "consequence": words.consequence(judged)}
        result["notes"].append(refusal(base.path, refused))
    if wrong:
        code = refused or wrong[0][0]
        result |= {"verdict": WRONG, "errno": words.errno_name(code), "consequence": words.consequence(judged)}
        result["notes"] += [text for _, text in wrong[:_SHOWN]]
        if len(wrong) > _SHOWN:
            result["notes"].append(f"and {len(wrong) - _SHOWN} more")
    return result


def _targets(base: Base) -> Targets:
    if base.targets is None:
        base.targets = Targets(base.layer)
    return base.targets


def relocate(below: Layer, split: Layer, targets: Targets) -> list[tuple[int, str]]:
    """What a kernel cannot bring together: errno and reason, in the order in which it looks. The first ones have all of
    the reason.
    """
    wrong: list[tuple[int, str]] = []
    embedded = embedded_in(below, split)
    namesakes: dict[bytes, Namesakes] = {}
    for id in range(1, len(below)):
        name = below.name(id)
        kind = below.kind(id)
        shown = f".BTF.base: [{id}] {KIND_NAMES[kind]} '{name[: words.LONGEST].decode('utf-8', 'backslashreplace')}'"
        if kind not in _NAMED or kind == ENUM64:
            wrong.append((errno.EINVAL, f"{shown}: a kind that a base of its own cannot have"))
            continue
        if not name:
            wrong.append((errno.EINVAL, f"{shown}: no name"))
            continue
        mine = target(below, id)
        there = targets.by_name.get(name, [])
        if name not in namesakes:
            namesakes[name] = Namesakes(there)
        count = namesakes[name].matching(mine, id in embedded)
        if count > 1:
            wrong.append((errno.EINVAL, f"{shown}: vmlinux has {count} that match"))
        elif not count:
            why = _why_not(mine, there) if len(wrong) < _SHOWN else "no match"
            wrong.append((errno.EINVAL, f"{shown}: {why}"))
    if not wrong:
        for offset in split.names_below():
            if offset and split.text(offset) not in namesakes:
                text = split.text(offset)[: words.LONGEST].decode("utf-8", "backslashreplace")
                wrong.append((errno.ENOENT, f"the name '{text}' of the base is not that of one of its types"))
                break
    return wrong


def _why_not(mine: Target, there: list[Target]) -> str:
    if not there:
        return "vmlinux has no type of this name"
    sizes = sorted({each[3] for each in there if each[1] == mine[1]})
    if sizes and mine[3] not in sizes:
        return f"{mine[3]} bytes, in vmlinux {' or '.join(map(str, sizes))}"
    kinds = sorted({KIND_NAMES[each[1]] for each in there})
    matching = "which does not match" if len(kinds) == 1 else "none of which matches"
    return f"vmlinux has {' and '.join(kinds)} of this name, {matching}"


def matches(mine: Target, its: Target, embedded: bool, several: bool) -> bool:
    """As the kernel compares. `embedded`: the module has a member of the struct. `several`: vmlinux has more structs
    and unions of the name.
    """
    _, kind, flag, size, encoding = mine
    _, its_kind, its_flag, its_size, its_encoding = its
    if kind == INT:
        return its_kind == INT and size == its_size and encoding == its_encoding
    if kind == FLOAT:
        return its_kind == FLOAT and size == its_size
    if kind == ENUM:
        return its_kind in (ENUM, ENUM64) and size == its_size
    if kind == FWD:
        if its_kind == FWD:
            return flag == its_flag
        # The kernel compares with the flag of the struct, which says whether it has bit-fields.
        return not several and its_kind in (STRUCT, UNION) and flag == its_flag == (its_kind == UNION)
    if its_kind in (STRUCT, UNION):
        return size == its_size or not (embedded or several)
    return its_kind == FWD or (its_kind in _SIZED and size == its_size)


def embedded_in(below: Layer, split: Layer) -> set[int]:
    """The structs and unions of the base that are in a struct or union of the module, not behind a pointer."""
    found: set[int] = set()
    for id in split.of_kinds((STRUCT, UNION)):
        if id < split.first:
            continue
        members = split.record(id)[3:]
        for of in members[1::3]:
            for _ in range(64):
                kind = split.kind(of)
                if kind not in _WRAPPERS:
                    break
                of = split.record(of)[3 if kind == ARRAY else 2]
            if 0 < of < len(below):
                found.add(of)
    return found
