"""What a comparison finds: changes, each of one type, function or variable, and in them what differs and where."""

from __future__ import annotations

from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from typing import Any

    Value = dict[str, Any]

CLASSES = ("layout", "size", "signature", "value", "removed", "kfunc")
"""What `--fail-on` knows besides `any`."""
CATEGORIES = (
    "struct", "union", "enum", "typedef", "function", "variable", "forward", "number", "section",
)  # fmt: skip


@record(frozen=True)
class Detail:
    """One thing that differs.

    `what` is `size`, `added`, `removed`, `moved`, `shifted`, `changed`, `renamed`, `return`, `linkage`, `tag added`,
    `tag removed`, `section`, `type`, `signed`, `encoding`, `bits`, `defined`, `declared` or `regrouped`. `path` is the
    member, enumerator or parameter that it is about, empty for the whole. `old` and `new` are what it was and is:
    `offset` and `size` in bytes, `bit` and `bits` of a bit-field, `type`, `value`, `name`, `number` (of a parameter).
    Of `shifted`, several neighbours that are as they were but for one distance, `new` has `by` (bytes, or `bits`, or
    the difference of enumerators' values, `of` then being `enumerators`), `after` and `members`.
    """

    what: str
    path: str
    old: Value | None
    new: Value | None


@record(frozen=True)
class Reach:
    """How many structs and unions, variables and functions a type reaches: it is in them, or they take or return it.

    `names` has them in this order, if that was asked for.
    """

    types: int
    variables: int
    functions: int
    names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]] | None = None


@record(frozen=True)
class Change:
    """A type, function or variable that was `added`, `removed` or `changed` (`what`).

    `category` is one of CATEGORIES. `name` is without keyword; of an enum without a name it is empty, and `title` has
    an enumerator. `kfunc`: it has the tag `bpf_kfunc`, in the old BTF or in the new one. `old_id` and `new_id` are type
    ids, None where it is not there. `classes` are those of CLASSES that the change belongs to.
    """

    what: str
    category: str
    name: str
    old_id: int | None
    new_id: int | None
    details: tuple[Detail, ...]
    classes: frozenset[str]
    kfunc: bool
    title: str
    reach: Reach | None


@record(frozen=True)
class Tally:
    """How many of a category there are in the old BTF and in the new one, and what happened to them."""

    old: int
    new: int
    added: int
    removed: int
    changed: int


def classes_of(category: str, detail: Detail) -> tuple[str, ...]:
    """Which of the classes one detail belongs to."""
    what = detail.what
    if category == "function":
        return ("signature",) if what in ("return", "changed", "added", "removed") else ()
    if category == "variable":
        return {"type": ("signature",), "size": ("size",)}.get(what, ())
    if category == "section":
        return ()
    if what == "size":
        return ("size", "layout")
    if what == "removed":
        return ("removed",) if detail.old is not None and "value" in detail.old else ("removed", "layout")
    if what == "renamed":
        return ("removed",)
    if what in ("changed", "shifted", "moved"):
        value = detail.new or {}
        enumerators = "value" in value or value.get("of") == "enumerators"
        return ("value",) if enumerators else ("layout",)
    if what in ("type", "encoding", "bits", "signed", "defined", "declared"):
        return () if what == "defined" else ("removed",) if what == "declared" else ("layout",)
    return ()
