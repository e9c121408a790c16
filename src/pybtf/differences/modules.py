"""Two folders of modules: which belong together."""

from __future__ import annotations

from pybtf.errors import InputError
from pybtf.inputs import MODULE, Input, find_inputs, plain_name


def module_pairs(old: str, new: str) -> list[tuple[str, Input | None, Input | None]]:
    """Of each module its name, its file in the folder `old` and that in `new`; None where it is not.

    The kernel takes `-` and `_` in names of modules for the same. Raises `InputError` for a folder without modules, and
    for one with two of a name.
    """
    left, right = _by_name(old), _by_name(new)
    return [(name, left.get(name), right.get(name)) for name in sorted({*left, *right})]


def path_of(module: Input) -> str:
    """Raises its problem."""
    if module.problem is not None:
        raise module.problem
    return module.path


def _by_name(folder: str) -> dict[str, Input]:
    found: dict[str, Input] = {}
    for each in find_inputs([folder]):
        name = plain_name(each.path.rpartition("/")[2]).removesuffix(MODULE).replace("-", "_")
        if name in found:
            raise InputError(each.path, f"a second module {name}", f"only {found[name].path}")
        found[name] = each
    return found
