"""Entry point of `pybtf-pahole`: what builds ask most often is answered before anything is imported.

A kernel build asks for the version each time make starts, and starts this program once for each of hundreds of modules.
tests/commands/test_imports.py lists the modules that each kind of call may import.

Exit status: 0 done, 1 nothing was written and a message says why, 64 the command line is at fault, 70 a bug of pybtf.
A signal ends the process as if it had not been caught, so that make sees what happened.
"""

from __future__ import annotations

import gc
import os
import sys

from pybtf.support import TYPE_CHECKING, process

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "pybtf-pahole"

VERSION = "v1.32"
"""The version of pahole that is claimed: of it are the bytes of the output and the meaning of the options."""

FEATURES = (
    "encode_force,var,float,decl_tag,type_tag,enum64,optimized_func,consistent_func,decl_tag_kfuncs,"
    "reproducible_build,distilled_base,global_var,attributes,true_signature,force_cu_merging"
)
"""What `--supported_btf_features` prints."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `pybtf-pahole` with `argv` (default: the process's arguments) and return the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return process.guarded(lambda: _run(arguments), PROGRAM, report)


def program() -> None:
    """The installed command: `main`, and the end of the process."""
    process.run(main, PROGRAM)


def quick_answer(arguments: list[str]) -> str | None:
    """The text to print if the only argument is a question about this program, else None."""
    if arguments == ["--version"]:
        return claimed_version() + "\n"
    if arguments == ["--numeric_version"]:
        return numeric(claimed_version()) + "\n"
    if arguments == ["--supported_btf_features"]:
        return FEATURES + "\n"
    return None


def claimed_version() -> str:
    """`v1.32`, or what the environment variable PYBTF_PAHOLE_VERSION says if it has the form of a version.

    Build scripts choose their options by this. The variable is for testing what they do with older ones.
    """
    claim = os.environ.get("PYBTF_PAHOLE_VERSION", "")
    well_formed = len(claim) == 5 and claim[0] == "v" and claim[2] == "." and (claim[1] + claim[3:]).isdecimal()
    return claim if well_formed and claim.isascii() else VERSION


def numeric(version: str) -> str:
    """`132` for `v1.32`."""
    return version[1] + version[3:]


def report(error: BaseException) -> int:
    """Print the message for `error` and return the exit status."""
    try:
        from pybtf.pahole.faults import report_fault
    except OSError as other:  # as that one, if too many files are open
        sys.stderr.write(f"{PROGRAM}: error: {process.system_reason(other)}\n")
        return 1
    return report_fault(error)


def _run(arguments: list[str]) -> int:
    answer = quick_answer(arguments)
    if answer is not None:
        process.write_stdout(answer)
        return 0
    # What is imported stays; looking through it for garbage is a tenth of the time it takes to start.
    gc.set_threshold(50_000)
    if arguments == ["--check"]:
        from pybtf.pahole.check import check

        return check()
    from pybtf.pahole.run import run

    return run(arguments)
