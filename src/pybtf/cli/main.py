"""Entry point of `pybtf`: quick answers, and one place where errors become messages and exit statuses.

A build starts this program hundreds of times, often just to ask for its version. click takes several times
as long to import as the bare interpreter to start, so `--version` and `--help` are answered from plain texts
before anything is imported, and commands with plainly spelt options do without it (arguments.py).
tests/commands/test_imports.py keeps it so.

Exit status: 0 done, 1 the input or the machine is at fault, 2 usage, 3 done with losses (`--degrade`), 70 a bug in
pybtf, 130 interrupted.
"""

from __future__ import annotations

import gc
import os
import sys

from pybtf import __version__
from pybtf.support import TYPE_CHECKING, process

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

PROGRAM = "pybtf"

COMMANDS = {
    "encode": "FILE...",
    "dump": "FILE",
    "show": "[NAME]... FILE",
    "size": "FILE",
    "duplicates": "FILE",
    "object": "FILE...",
    "merge": "FILE",
    "cc": "-- COMMAND...",
    "why": "[NAME...] FILE",
    "min-core": "BTF OBJECT...",
    "dedup": "FILE...",
    "decode": "TYPE FILE",
    "verify": "FILE...",
    "diff": "OLD NEW",
    "reproduce": "FILE...",
    "completion": "",
}
"""All commands, and what their arguments are called; what follows `--` is another program's. The module of a command,
beside this one, has the table of its options, `OPTIONS`, and the function of its name, which gets them and the
arguments, `files`. Where nothing is said of arguments, the module has a click command instead, `command`.
"""

COMPLETE_VARIABLE = "_PYBTF_COMPLETE"
"""Set by the scripts of `pybtf completion` when a shell asks for completions."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `pybtf` with `argv` (default: the process's arguments) and return the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    return process.guarded(lambda: _run(arguments), PROGRAM, report)


def program() -> None:
    """The installed command: `main`, and the end of the process."""
    process.run(main, PROGRAM)


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


def report(error: BaseException) -> int:
    """Print the message for `error` and return the exit status."""
    from pybtf.cli.faults import report_fault

    return report_fault(error)


def _run(arguments: list[str]) -> int:
    answer = quick_answer(arguments)
    if answer is not None:
        process.write_stdout(answer)
        return 0
    # What is imported stays; looking through it for garbage is a tenth of the time it takes to start.
    gc.set_threshold(50_000)
    if arguments and COMMANDS.get(arguments[0]) and COMPLETE_VARIABLE not in os.environ:
        from pybtf.cli.arguments import read

        module, function = home(arguments[0])
        given = read(arguments[1:], module.OPTIONS, COMMANDS[arguments[0]])
        if given is not None:
            status: int = getattr(module, function)(**given)
            return status
    from pybtf.cli.app import run

    return run(arguments)


def home(command: str) -> tuple[ModuleType, str]:
    """The module of a command, and the name of the function there. `importlib` would take longer to import."""
    name = command.replace("-", "_")
    return __import__(f"pybtf.cli.{name}", fromlist=[name]), name
