"""From whatever went wrong to one message, in this program's name, and the exit status a build expects."""

from __future__ import annotations

import os
import sys

from pybtf.cli import console
from pybtf.cli.faults import BUG, FAILED, TRACEBACK_VARIABLE, explain, is_of_stdout
from pybtf.pahole.main import PROGRAM
from pybtf.support.process import forget_stdout

USAGE = 64
"""What pahole ends with if it does not understand its command line."""


class Terminated(BaseException):
    """A signal asked this process to end; `number` is the signal. Raised so that everything is put in order first."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def report_fault(error: BaseException) -> int:
    """Print the message for `error` and return the exit status; end the process if a signal is behind it."""
    from pybtf.errors import UsageError

    if isinstance(error, KeyboardInterrupt):
        import signal

        error = Terminated(signal.SIGINT)
    if isinstance(error, Terminated):
        _end_by(error.number)
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if os.environ.get(TRACEBACK_VARIABLE):
        import traceback

        traceback.print_exception(error)
    if is_of_stdout(error):
        forget_stdout()
    if isinstance(error, UsageError):
        console.error(f"{error}; see {PROGRAM} --help", PROGRAM)
        return USAGE
    text, status = explain(error)
    console.error(respelt(text), PROGRAM)
    return BUG if status == BUG else FAILED


SPELLINGS = (
    ("Use --detached to write the BTF to a file of its own.", "Use --btf_encode_detached=OUT to write it to a file."),
    ("or use --detached.", "or use --btf_encode_detached=OUT."),
    ("of it; use --detached.", "of it; use --btf_encode_detached=OUT."),
    ("see --lang and --lang-exclude.", "see --lang and --lang_exclude."),
    ("do not go together: --lang and --lang-exclude", "do not go together: --lang and --lang_exclude"),
    ("Name the base with --base FILE; for a module, that is its kernel's BTF.",
     "Name the base with --btf_base=FILE; for a module, that is its kernel's BTF."),
    ("the right one with --base FILE (of a module, the BTF of its own kernel).",
     "the right one with --btf_base=FILE (of a module, the BTF of its own kernel)."),
    ("name the right one with --objects LIST; or build with --store DIR or --inline, which need no objects.",
     "name the right one in $PYBTF_OBJECTS; or build with pybtf cc --store DIR or --inline, which need no objects."),
    ("as without --expand-types and --expand-pointers", "as without --expand_types and --expand_pointers"),
)
"""How messages end that advise an option of `pybtf encode`, and how here."""


def respelt(text: str) -> str:
    """A message with the options that this program has."""
    for theirs, ours in SPELLINGS:
        if text.endswith(theirs):
            return text.removesuffix(theirs) + ours
    return text


def _end_by(number: int) -> None:
    """End as this signal ends a process that does not catch it, for make to see."""
    import signal

    sys.stdout.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
