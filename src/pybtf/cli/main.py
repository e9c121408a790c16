"""Entry point of `pybtf`: quick answers, and one place where errors become messages and exit statuses.

A build starts this program hundreds of times, often just to ask for its version. click takes several times
as long to import as the bare interpreter to start, so `--version` and `--help` are answered from plain texts
before anything is imported, and `encode` and those of PLAIN with plainly spelt options do without it (arguments.py).
tests/commands/test_imports.py keeps it so.

Exit status: 0 done, 1 the input or the machine is at fault, 2 usage, 3 done with losses (`--degrade`), 70 a bug in
pybtf, 130 interrupted.
"""

from __future__ import annotations

import gc
import os
import sys

from pybtf import __version__

# Known to type checkers under this name; importing `typing` would cost more than answering `--version`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from pybtf.cli.arguments import Option


PLAIN = (
    "dump", "show", "size", "duplicates", "object", "merge", "cc", "why", "min-core", "dedup", "decode", "verify",
    "diff",
)  # fmt: skip
"""Commands whose module has their options in a table, and a function of their name."""

COMPLETE_VARIABLE = "_PYBTF_COMPLETE"
"""Set by the scripts of `pybtf completion` when a shell asks for completions."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `pybtf` with `argv` (default: the process's arguments) and return the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    answer = quick_answer(arguments)
    if answer is not None:
        return guarded(lambda: _print(answer))
    # What is imported stays; looking through it for garbage is a tenth of the time it takes to start.
    gc.set_threshold(50_000)
    return guarded(lambda: _run(arguments))


def program() -> None:
    """The installed command: `main`, and the end of the process."""
    if "PYTHONHOME" in os.environ or "PYTHONPATH" in os.environ:
        from pybtf.support.isolation import isolate

        isolate()
    from pybtf.support.process import run

    run(main, "pybtf")


def quick_answer(arguments: Sequence[str]) -> str | None:
    """The text to print for `--version` and `--help`, or None if there is more to do."""
    if list(arguments) == ["--version"]:
        return f"pybtf {__version__}\n"
    if arguments and arguments[-1] in ("--help", "-h") and len(arguments) <= 2:
        from pybtf.cli import manual

        if len(arguments) == 1:
            return manual.PYBTF
        return manual.COMMANDS.get(arguments[0])
    return None


def guarded(work: Callable[[], int]) -> int:
    """Run `work`; whatever goes wrong becomes one message on standard error and a status. Never raises."""
    try:
        status = work()
        from pybtf.support.process import write_stdout

        write_stdout("")
        return status
    except BaseException as error:
        try:
            from pybtf.cli.faults import report_fault

            return report_fault(error)
        except (MemoryError, SystemError):
            from pybtf.support.process import without_memory

            return without_memory(error, "pybtf")


def _print(text: str) -> int:
    from pybtf.support.process import write_stdout

    write_stdout(text)
    return 0


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["encode"] and COMPLETE_VARIABLE not in os.environ:
        from pybtf.cli.arguments import read

        given = read(arguments[1:])
        if given is not None:
            from pybtf.cli.encode import encode

            return encode(**given)
    if arguments and arguments[0] in PLAIN and COMPLETE_VARIABLE not in os.environ:
        from importlib import import_module

        from pybtf.cli.arguments import read

        name = arguments[0].replace("-", "_")
        module = import_module(f".{name}", __package__)
        given = _read_wrapped(arguments[1:], module.OPTIONS) if name == "cc" else read(arguments[1:], module.OPTIONS)
        if given is not None:
            status: int = getattr(module, name)(**given)
            return status
    from pybtf.cli.app import run

    return run(arguments)


def _read_wrapped(arguments: list[str], options: tuple[Option, ...]) -> dict[str, Any] | None:
    """As `read`, where all that follows `--` is another program's."""
    from pybtf.cli.arguments import read

    if "--" not in arguments:
        return None
    end = arguments.index("--")
    given = read(arguments[:end], options)
    if given is None or given["files"]:
        return None
    return {**given, "files": tuple(arguments[end + 1 :])}
