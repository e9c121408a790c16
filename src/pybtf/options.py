"""What an encoding is asked to do, checked once and immutable from then on."""

from __future__ import annotations

import os

from pybtf.arguments import check_text, items_of, other_kind, path_of
from pybtf.errors import UsageError
from pybtf.features import Features
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import field, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pybtf.base import Base

MAX_JOBS = 1024
"""More workers than this is a mistake, not a wish."""


@record(frozen=True)
class EncodeOptions:
    """All that decides the bytes of an encoding, and how many workers make them.

    The output is a function of the input and of everything here but `jobs`.
    """

    features: Features = field(default_factory=Features.parse)
    jobs: int = 1
    lang: frozenset[int] | None = None
    """Encode only units in these languages (DW_LANG codes); None: no such limit."""
    lang_exclude: frozenset[int] | None = None
    """Leave out units in these languages, before they are decoded; None: leave out none."""
    base: str | Base | None = None
    """Build on this BTF, or that of this file: types and strings that it has are not repeated."""
    standalone: bool = False
    """Encode kernel modules without a base, too: what comes out no kernel loads."""
    force_base: bool = False
    """Go on with a base that is not that of a module's kernel."""
    degrade: bool = False
    """Replace what BTF cannot express, and leave out units that are damaged; the report says what was lost."""
    dwp: str | None = None
    """A file `.dwp` with the units of split DWARF, if it is not beside the input."""
    for_kernel: str | None = None
    """The version of the kernel for which `features` were chosen, if it was given."""
    without: tuple[str, ...] = ()
    """The features that this kernel does not know, and that were asked for."""

    def __post_init__(self) -> None:
        if not isinstance(self.jobs, int) or not 1 <= self.jobs <= MAX_JOBS:
            raise UsageError(f"the number of jobs is {self.jobs!r}; expected 1 to {MAX_JOBS}")
        if self.lang is not None and self.lang_exclude is not None:
            raise UsageError("languages to encode and to leave out do not go together: --lang and --lang-exclude")
        if self.features.distilled_base and self.base is None:
            raise UsageError("the feature distilled_base needs a base BTF: --base FILE (Python: base=...)")
        if self.standalone and self.base is not None:
            raise UsageError("--base and --standalone do not go together (Python: base=..., standalone=True)")
        if self.force_base and self.base is None:
            raise UsageError("--force-base is about a --base, and none is given (Python: force_base=True, base=...)")


def make_options(
    features: str | Sequence[str] | Features = "default",
    jobs: int | None = None,
    *,
    lang: str = "",
    lang_exclude: str = "",
    base: str | bytes | os.PathLike[str] | Base | None = None,
    standalone: bool = False,
    force_base: bool = False,
    degrade: bool = False,
    for_kernel: str | None = None,
    dwp: str | bytes | os.PathLike[str] | None = None,
) -> EncodeOptions:
    """Options from the texts that the command line and the Python API take.

    `features`: one list or several (see `pybtf.features`), or a `Features`. `jobs`: None: `available_cpus()`.
    `lang`, `lang_exclude`: comma-separated names; empty means none given. Raises `UsageError`.
    """
    if isinstance(features, str):
        features = Features.parse(features)
    elif not isinstance(features, Features):
        features = Features.parse(*items_of(features, "features", "a list of features, as text, or a pybtf.Features"))
    wanted = features
    if for_kernel is not None:
        features = wanted.for_kernel(for_kernel)
    return EncodeOptions(
        features=features,
        jobs=available_cpus() if jobs is None else jobs,
        lang=_languages(lang, "lang"),
        lang_exclude=_languages(lang_exclude, "lang_exclude"),
        base=_base(base),
        standalone=standalone,
        force_base=force_base,
        degrade=degrade,
        for_kernel=for_kernel,
        dwp=None if dwp is None else path_of(dwp, "dwp"),
        without=tuple([name for name in wanted.on if name not in features.on]),
    )


def _base(base: str | bytes | os.PathLike[str] | Base | None) -> str | Base | None:
    if base is None:
        return None
    if isinstance(base, (str, bytes, os.PathLike)):
        return path_of(base, "base")
    from pybtf.base import Base

    if not isinstance(base, Base):
        raise other_kind("base", base, "the name of a file, or a pybtf.Base")
    return base


def _languages(names: str, what: str) -> frozenset[int] | None:
    if not names:
        return None
    check_text(names, what, "a list of languages, as text: 'c,rust'")
    from pybtf.languages import parse_languages

    return parse_languages(names)


def available_cpus(cgroups: str = "/sys/fs/cgroup", proc: str = "/proc/self/cgroup") -> int:
    """How many CPUs this process may use: its affinity mask, or less where a cgroup's CPU quota says so.

    A quota of 1.5 CPUs counts as two: a worker that waits a little is better than an idle half CPU.
    """
    cpus = len(os.sched_getaffinity(0))
    return max(1, min(cpus, *(-int(-quota // 1) for quota in _quotas(cgroups, proc)), MAX_JOBS))


def _quotas(cgroups: str, proc: str) -> list[float]:
    """The CPU quotas, in CPUs, of this process's cgroups and all their parents; versions 2 and 1."""
    quotas = []
    for line in _lines(proc):
        number, controllers, path = ([*line.split(":", 2), "", ""])[:3]
        if number == "0":
            roots = [cgroups, f"{cgroups}/unified"]
        elif "cpu" in controllers.split(","):
            roots = [f"{cgroups}/{controllers}", f"{cgroups}/cpu"]
        else:
            continue
        for root in roots:
            folder = root
            for name in ["", *path.strip("/").split("/")]:
                folder = f"{folder}/{name}"
                quotas += _quota_of(folder)
    return quotas


def _quota_of(folder: str) -> list[float]:
    """The quota set at one cgroup: `cpu.max` ("max 100000", "150000 100000"), or version 1's two files."""
    words = " ".join(_lines(f"{folder}/cpu.max")).split()
    if not words:
        words = _lines(f"{folder}/cpu.cfs_quota_us") + _lines(f"{folder}/cpu.cfs_period_us")
    try:
        quota, period = (int(word) for word in words)
    except ValueError:  # absent, "max", or something this program does not know
        return []
    return [quota / period] if quota > 0 and period > 0 else []


def _lines(path: str) -> list[str]:
    try:
        with open(path) as file:
            return file.read().split("\n")[:-1]
    except (OSError, UnicodeDecodeError):
        return []
