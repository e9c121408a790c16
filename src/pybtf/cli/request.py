"""What a run of `pybtf encode` was asked for, beyond what decides the bytes, and what all runs have in common."""

from __future__ import annotations

import os

from pybtf.cli import console
from pybtf.errors import UsageError
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybtf.elf.writer import Written
    from pybtf.report import Report

STDOUT = "-"
MAX_WARNINGS = 10
"""Without `-v`, more warnings than these are only counted."""


@record(frozen=True)
class Request:
    """The command line of one run."""

    files: tuple[str, ...]
    detached: str | None
    detached_dir: str | None
    report: str | None
    report_detail: bool
    provenance: str | None
    quiet: bool
    verbose: bool
    progress: bool
    timings: bool
    from_list: str | None = None
    """The file that names `files`, if there is one."""

    @property
    def target(self) -> str:
        """What the BTF of the first file goes to, in words."""
        if self.detached == STDOUT:
            return "standard output"
        return self.detached if self.detached is not None else self.files[0]


def write_report(name: str, text: str) -> None:
    """Write a report to the file `name`, all or nothing, or to standard output. Raises `OutputError`."""
    from pybtf.elf.atomic import write_file

    write_file(path_of(name), text.encode())


def path_of(name: str) -> str:
    """The path to write to: `-` is standard output, which the writing functions know under this name."""
    return "/dev/stdout" if name == STDOUT else name


def tell_warnings(request: Request, warnings: list[str]) -> None:
    """All warnings with `-v`, else the first ten and how many there are more."""
    if request.quiet:
        return
    shown = warnings if request.verbose else warnings[:MAX_WARNINGS]
    for text in shown:
        console.warning(text)
    if len(shown) < len(warnings):
        more = len(warnings) - len(shown)
        console.warning(f"{more:,} more warnings; -v shows them" if more > 1 else "1 more warning; -v shows it")


def tell_losses(request: Request, report: Report) -> None:
    """What an encoding that degrades has lost, a line for each sort."""
    if not request.quiet:
        for loss in report.losses:
            console.lost(loss.line)


def warn_of_links(path: str, links: int, report: Report) -> None:
    """A file was replaced that has other names: those kept the old one."""
    if links > 0:
        what = f"{path}: {links} other hard link{'s' * (links > 1)} of it"
        report.warnings.append(f"{what} kept the old contents, without this BTF")


def stale_section(path: str, name: str) -> str:
    """The warning about a section of a file that refers to BTF which is gone."""
    return (
        f"{path}: its {name} refers to the BTF that was replaced, so loaders can no longer use it. Compile the file "
        "anew, and use --detached to write the BTF to a file of its own"
    )


def void_signature(path: str) -> str:
    """The warning about a signed kernel module that was changed."""
    return (
        f"{path}: is a signed module, whose signature no longer counts: kernels that ask for one will not load it. "
        "Sign it again (scripts/sign-file of the kernel), or use --detached to write the BTF to a file of its own"
    )


def lost_owner(path: str) -> str:
    """The warning about a file that was replaced by somebody else than its owner."""
    return f"{path}: its owner or group could not be kept: this process may not give files to them"


def warn_of_written(path: str, written: Written, others: int, report: Report) -> None:
    """What a file that was replaced has left behind. `others`: of its hard links, those that are encoded later."""
    warn_of_links(path, written.other_links - others, report)
    report.warnings += [stale_section(path, name) for name in written.stale]
    report.warnings += [void_signature(path)] * written.signed
    report.warnings += [lost_owner(path)] * written.disowned


def spare_companions(outputs: Iterable[tuple[str, str | None]], files: Iterable[str], package: str | None) -> None:
    """Raise UsageError if an output, an option and a name, would replace a file that the DWARF of one of `files` is in.

    These are looked for only where an output is an ELF file already, which nearly none is.
    """
    from pybtf.elf.atomic import replaces_elf

    there = [(option, name) for option, name in outputs if name not in (None, STDOUT) and replaces_elf(str(name))]
    if not there:
        return
    from pybtf.pipeline.companions import companions

    found = {(of.st_dev, of.st_ino): (path, file) for file in files for path, of in companions(file, package)}
    for option, name in there:
        now = os.stat(str(name))  # noqa: PTH116
        path, file = found.get((now.st_dev, now.st_ino), ("", ""))
        if path:
            raise UsageError(f"{option} would replace {path}, which has DWARF of {file}")


def same(one: str, other: str) -> bool:
    """Whether two names, of which neither need exist, are those of one file."""
    if STDOUT in (one, other):
        return one == other
    try:
        return os.path.samefile(one, other)  # noqa: PTH121 - pathlib's needs the first to exist
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)
