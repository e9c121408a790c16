"""The Python API's one verb. `pybtf.encode` is this `encode`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from .encoded import Encoded
from .features import Features
from .options import make_options

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from .base import Base


def encode(
    path: str | bytes | os.PathLike[str],
    *,
    features: str | Sequence[str] | Features = "default",
    jobs: int | None = None,
    lang: str = "",
    lang_exclude: str = "",
    base: str | bytes | os.PathLike[str] | Base | None = None,
    standalone: bool = False,
    force_base: bool = False,
    degrade: bool = False,
    for_kernel: str | None = None,
    dwp: str | bytes | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Encoded:
    """Encode BTF from the DWARF of the ELF file `path`, which is only read.

    `features`, `lang` and `lang_exclude` are what the options of `pybtf encode` take: lists separated by
    commas (several feature lists may be given as a sequence). The environment is not looked at. `jobs` is the
    number of workers, None for one on each CPU this process may use; the result does not depend on it.
    With `base` the result is split BTF, which holds what that BTF does not have: a file with the BTF of a kernel, or,
    if there are several modules, a `Base`, which is read only once. `standalone` encodes a kernel module without a
    base, `force_base` with one of another kernel. `degrade` replaces what BTF cannot express and leaves out units
    that are damaged; `report.losses` says what was lost. `for_kernel` is a version, `5.15`, whose kernel is to load the
    BTF: features that it does not know are left out (`report.without`). `dwp` is a package of split DWARF, if it is not
    called as the file with `.dwp` added. `progress` is called in this thread with the
    number of units done and of all units. See `encode_many` for many files.

    Raises `UsageError` for an unknown feature or language, and `ModuleWithoutBaseError`, which is one, for a kernel
    module without a base; `InputError` for a file that cannot be read or encoded, with the place where it is at fault,
    and `WrongBaseError`, which is one.
    """
    from .pipeline import encode_file

    options = make_options(features, jobs, lang, lang_exclude, base, standalone, force_base, degrade, for_kernel, dwp)
    return encode_file(os.fsdecode(path), options, progress)
