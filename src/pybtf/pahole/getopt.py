"""Taking a command line apart the way GNU getopt_long and argp do, which is the way pahole does.

Options and files may be mixed (unless POSIXLY_CORRECT is set); `--` ends the options. A long option may be abbreviated
as long as only one fits, and has its value after `=` or in the next argument. Letters may be put together; a value
follows its letter directly or is the next argument. An *optional* value must be attached: in `-j 2` the 2 is a file.
"""

from __future__ import annotations

import os

from pybtf.errors import UsageError
from pybtf.pahole.table import BY_LETTER, BY_NAME, NONE, REQUIRED
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybtf.pahole.table import Option


def split(arguments: list[str]) -> Iterator[tuple[Option | None, str | None, str]]:
    """Each option with its value (None: none was given) and its spelling; (None, None, FILE) for each file.

    Lazy: what comes before a mistake is acted on before the mistake is found, as in pahole, where `--version`
    answers although an option after it is wrong. Raises `UsageError`.
    """
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            break
        if argument.startswith("--"):
            yield _long(argument[2:], rest)
        elif argument.startswith("-") and argument != "-":
            yield from _letters(argument[1:], rest)
        else:
            yield None, None, argument
            if "POSIXLY_CORRECT" in os.environ:
                break
    for argument in rest:
        yield None, None, argument


def _long(text: str, rest: Iterator[str]) -> tuple[Option, str | None, str]:
    name, equals, attached = text.partition("=")
    option = BY_NAME.get(name) or _abbreviated(name)
    value = attached if equals else None
    if value is not None and option.value == NONE:
        raise UsageError(f"option --{option.name} takes no value")
    if value is None and option.value == REQUIRED:
        value = _next(rest, f"--{option.name}")
    return option, value, f"--{option.name}"


def _abbreviated(name: str) -> Option:
    fitting = [option for option in BY_NAME.values() if option.name.startswith(name)]
    if name == "check":  # main.py answers it where it is alone
        raise UsageError("--check takes no value and no file, and no other option goes with it")
    if not fitting:
        raise UsageError(f"there is no option --{name}")
    if len(fitting) > 1:
        names = ", ".join(f"--{option.name}" for option in fitting)
        raise UsageError(f"option --{name} is ambiguous: it may be {names}")
    return fitting[0]


def _letters(text: str, rest: Iterator[str]) -> Iterator[tuple[Option, str | None, str]]:
    for at, letter in enumerate(text):
        option = BY_LETTER.get(letter)
        if option is None:
            raise UsageError(f"there is no option -{letter}")
        if option.value == NONE:
            yield option, None, f"-{letter}"
            continue
        value = text[at + 1 :] or None
        if value is None and option.value == REQUIRED:
            value = _next(rest, f"-{letter}")
        yield option, value, f"-{letter}"
        return


def _next(rest: Iterator[str], spelling: str) -> str:
    value = next(rest, None)
    if value is None:
        raise UsageError(f"option {spelling} needs a value")
    return value
