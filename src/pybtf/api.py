"""`pybtf.encode`: from one ELF file to BTF. Many files are in batch.py, the passes in pipeline/passes.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pybtf.arguments import check_progress, path_of
from pybtf.encoded import Encoded
from pybtf.features import Features
from pybtf.options import make_options
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from pybtf.base import Base


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
    """Encode BTF from the DWARF of the ELF file `path`, which is only read. For many files, see `encode_many`.

    - `features`, `lang`, `lang_exclude`: what the options of `pybtf encode` take, lists separated by commas. Several
      lists of features may be given as a sequence. The environment is not looked at.
    - `jobs`: the number of workers; None: one for each CPU that this process may use. The result does not depend on it.
    - `base`: makes the result split BTF, which holds only what this BTF does not have. A file with the BTF of a kernel
      or, for several modules, a `Base`, which is read only once.
    - `standalone`: encode a kernel module without a base. `force_base`: accept a base of another kernel.
    - `degrade`: replace what BTF cannot express, and leave out damaged units; `report.losses` says what was lost.
    - `for_kernel`: the version of the kernel that is to load the BTF, `5.15`. Features that it does not know are left
      out, and named in `report.without`.
    - `dwp`: the package of split DWARF, if it is not named like the file with `.dwp` added.
    - `progress`: called in this thread with the number of units done and the number of all units.

    Raises `UsageError` for an unknown feature or language, arguments that do not go together, and (as
    `ModuleWithoutBaseError`) for a kernel module without a base; `InputError`, with the place of the fault, for a file
    that cannot be read or encoded, and (as `WrongBaseError`) for a base of another kernel.
    """
    from pybtf.pipeline.passes import encode_file

    file = path_of(path)
    check_progress(progress)
    options = make_options(
        features, jobs, lang=lang, lang_exclude=lang_exclude, base=base, standalone=standalone,
        force_base=force_base, degrade=degrade, for_kernel=for_kernel, dwp=dwp,
    )  # fmt: skip
    return encode_file(file, options, progress)
