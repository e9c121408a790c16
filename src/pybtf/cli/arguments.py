"""What the options of a command are, as a table, and a reader for plainly spelt command lines.

Importing click takes two to three times as long as encoding a kernel module does without it, and a build may start this
program for each of a thousand modules. So the options of a command are a table. The click command is made of it
(click_command.py), and `read` takes a command line apart by it if that is spelt plainly: exact long names with their
value in the next argument or after `=`, single letters, `-jN`. For anything else, above all a mistake, it returns None,
and click reads the command line and reports what is wrong. What it returns is what click would have passed on;
test_arguments.py compares the two on random command lines.
"""

from __future__ import annotations

from pybtf.errors import UsageError, quoted
from pybtf.options import MAX_JOBS
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

MOST_DIGITS = 20
_DIGITS = {10: "0123456789", 16: "0123456789abcdefABCDEF"}

FLAG, SWITCH, TEXT, TEXTS, CHOICE, PATH, PATHS, JOBS = range(8)
"""What follows an option: nothing; nothing, and `--no-` reverses it; a text, once or each time; one of the words that
the manual gives, `c|raw|json`; a path, once or each time; the number of workers.
"""


@record(frozen=True)
class Option:
    """One option: its long name without dashes, what follows it, what the manual calls that, and its letter; words that
    shells offer for a list of them.
    """

    name: str
    kind: int
    metavar: str = ""
    letter: str = ""
    words: Callable[[], Iterable[str]] | None = None

    @property
    def parameter(self) -> str:
        """The name of the parameter that gets the value."""
        return self.name.replace("-", "_")


_ABSENT = {FLAG: False, TEXTS: (), PATHS: ()}
"""What an option is that is not given; others are None."""


class _Unclear(Exception):
    """Not a plain command line."""


def read(arguments: Sequence[str], options: tuple[Option, ...], metavar: str = "") -> dict[str, Any] | None:
    """The parameters of a command with these options, or None if click has to look at the arguments. If the arguments
    are called `-- SOMETHING`, all that follows `--` is another program's.
    """
    if metavar.startswith("--"):
        return _read_wrapped(arguments, options)
    given: dict[str, Any] = {option.parameter: _ABSENT.get(option.kind) for option in options}
    known = {f"--{option.name}": option for option in options}
    known |= {f"-{option.letter}": option for option in options if option.letter}
    files = []
    rest = iter(arguments)
    try:
        for argument in rest:
            if not argument.startswith("-"):
                files.append(_path(argument))
            elif argument == "--no-progress" and "progress" in given:
                given["progress"] = False
            else:
                _take(argument, rest, known, given)
    except _Unclear:
        return None
    return {"files": tuple(files), **given}


def _read_wrapped(arguments: Sequence[str], options: tuple[Option, ...]) -> dict[str, Any] | None:
    if "--" not in arguments:
        return None
    end = arguments.index("--")
    given = read(arguments[:end], options)
    if given is None or given["files"]:
        return None
    return {**given, "files": tuple(arguments[end + 1 :])}


def _take(argument: str, rest: Iterator[str], known: dict[str, Option], given: dict[str, Any]) -> None:
    """Put what an option says into `given`. `known` has the options by their spelling."""
    name, equals, attached = argument, "", ""
    if argument.startswith("--"):
        name, equals, attached = argument.partition("=")
    elif argument.startswith("-j") and argument != "-j":
        name, equals, attached = "-j", "=", argument[2:]
    option = known.get(name)
    if option is None or (equals and option.kind in (FLAG, SWITCH)):
        raise _Unclear
    if option.kind in (FLAG, SWITCH):
        given[option.parameter] = True
        return
    value = _value(option, attached if equals else next(rest, ""))
    given[option.parameter] = (*given[option.parameter], value) if option.kind in (TEXTS, PATHS) else value


def _value(option: Option, text: str) -> str | int:
    if option.kind == JOBS:
        number = number_of_jobs(text)
        if number is None:
            raise _Unclear
        return number
    if option.kind in (PATH, PATHS):
        return _path(text)
    if not text or text.startswith("-"):
        raise _Unclear
    return text


def stdin_once(names: Iterable[str | None]) -> None:
    """Raise `UsageError` if more than one of these names of files is that of standard input."""
    if list(names).count("-") > 1:
        raise UsageError("standard input can be read only once")


def number_of_jobs(text: str) -> int | None:
    """What follows `-j`, or None if that is not a number of workers."""
    found = _digits(text, 10)
    return found if found is not None and 1 <= found <= MAX_JOBS else None


def number_of(name: str, text: str, most: int, *, least: int = 0, hexadecimal: bool = False) -> int:
    """What follows an option: decimal digits, or, where a place is meant, hexadecimal ones after `0x`. Raises
    `UsageError` for anything else, and for what is less than `least` or more than `most`.
    """
    found = _number(text, hexadecimal=hexadecimal)
    if found is None and _number(text.removeprefix("-"), hexadecimal=hexadecimal) is None:
        raise UsageError(f"--{name} expects a number, not {quoted(text)}")
    if found is None or found < least:
        raise UsageError(f"--{name} expects a number of at least {least}, not {quoted(text)}")
    if found > most:
        raise UsageError(f"--{name} expects a number of at most {f'{most:#x}' if hexadecimal else f'{most:,}'}")
    return found


def _number(text: str, *, hexadecimal: bool) -> int | None:
    return _digits(text[2:], 16) if hexadecimal and text[:2] in ("0x", "0X") else _digits(text, 10)


def _digits(text: str, base: int) -> int | None:
    """The number that these digits are, None for anything else. One that is too large for all uses is at least 2^64."""
    if not text or not all(sign in _DIGITS[base] for sign in text):
        return None
    return int(text, base) if len(text.lstrip("0")) <= MOST_DIGITS else 1 << 64


def _path(text: str) -> str:
    """Whether a file may be read, or written to, shows when it is opened."""
    if not text or "\0" in text or (text.startswith("-") and text != "-"):
        raise _Unclear
    return text
