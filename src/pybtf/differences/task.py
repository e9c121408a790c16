"""One comparison from files to results, for the command line and for Python."""

from __future__ import annotations

import os

from pybtf.arguments import other_kind, path_of
from pybtf.btf.opening import open_view
from pybtf.differences.compare import Differences
from pybtf.differences.model import CLASSES
from pybtf.errors import UsageError
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from pybtf.btf.reader import BTF
    from pybtf.core.btf.type_view import View
    from pybtf.differences.places import Places
    from pybtf.differences.select import Selection

TEXT, MARKDOWN, JSON, STAT = range(4)
"""What `results` makes."""


def diff(
    old: str | bytes | os.PathLike[str] | BTF,
    new: str | bytes | os.PathLike[str] | BTF,
    *,
    base: str | bytes | os.PathLike[str] | None = None,
    old_base: str | bytes | os.PathLike[str] | None = None,
    new_base: str | bytes | os.PathLike[str] | None = None,
    reach: bool = True,
    names: bool = False,
) -> Differences:
    """What changed from the BTF `old` to the BTF `new`: `Differences`, whose `changes` is a list of `Change`.

    Each is a file (raw BTF, or ELF with `.BTF`, which may be compressed) or a `pybtf.BTF`. `base` is what both are
    split from, `old_base` and `new_base` what one of them is. With `reach`, types that changed or are gone say how many
    others they reach, with `names` also which. Raises `InputError` for BTF that cannot be read or is damaged, and
    `WrongBaseError`, which is one, for BTF that was not split from its base; `UsageError` for a base that is given
    twice, or with a `pybtf.BTF`.
    """
    if base is not None and (old_base is not None or new_base is not None):
        raise UsageError("base is that of both; old_base and new_base are given without it")
    views = _view(old, old_base or base), _view(new, new_base or base)
    return Differences(*views, reach=reach, names=names)


def _view(which: str | bytes | os.PathLike[str] | BTF, base: str | bytes | os.PathLike[str] | None) -> View:
    if not isinstance(which, str | bytes | os.PathLike):
        if base is not None:
            raise UsageError("a BTF knows its base; none can be given with it")
        if not hasattr(which, "view"):
            raise other_kind("what is to be compared", which, "the name of a file, or a pybtf.BTF")
        return which.view()
    return open_view(path_of(which), path_of(base, "base") if base is not None else None)


def results(
    differences: Differences, selection: Selection, form: int, names: bool = False, places: Places | None = None
) -> dict[str, Any]:
    """What is to be said of one comparison, as plain values that can go from one process to another.

    `classes` and `count`: how many changes there are of each class, and of all. `lines` or `changes`: what is printed,
    with `places` where it is declared, too. `new_functions`: names of functions that were added.
    """
    from pybtf.differences import text

    changes = selection.choose(differences.changes)
    result: dict[str, Any] = {
        "count": len(changes),
        "classes": {name: sum(name in change.classes for change in changes) for name in CLASSES},
        "summary": text.summary(changes),
        "new_functions": [each.name for each in changes if each.category == "function" and each.what == "added"],
    }
    differences.changes = changes
    if form == JSON:
        result["tallies"] = text.tallies_to_dict(differences.tallies())
        result["changes"] = [text.to_dict(change, differences.declaration, places) for change in changes]
    elif form == STAT:
        from pybtf.differences.words import table

        result["lines"] = table(differences.tallies(), result["classes"])
        result["tallies"] = text.tallies_to_dict(differences.tallies())
    elif form == MARKDOWN:
        result["lines"] = text.markdown(changes, differences.declaration, places)
    else:
        result["lines"] = text.lines(changes, differences.declaration, names, places)
    return result
