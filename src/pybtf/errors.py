"""The error family. Every error a user can meet is a `PybtfError`; its class carries the exit status.

A message says where (file, section, offset, unit, DIE), what was found, what was expected, and, where
there is one, what to do next. Code below the command line raises; only the command line prints and exits.
"""

from __future__ import annotations

from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable

DEGRADED = 3
"""Exit status of an encoding that was done with losses (`degrade`)."""
MOST_OF_NAME = 512
"""Characters of a name, path or number that messages repeat."""


class PybtfError(Exception):
    """Base of all errors reported to users. `exit_code` is the status of the process."""

    exit_code = 1

    def __reduce__(self) -> tuple[object, ...]:
        """Python would make a copy from the message alone, and a pool of processes breaks at an error that it cannot
        take over.
        """
        return _restored, (type(self), self.args), self.__dict__


def _restored(kind: type[PybtfError], args: tuple[object, ...]) -> PybtfError:
    return kind.__new__(kind, *args)


class UsageError(PybtfError):
    """The caller asked for something that does not exist or does not go together."""

    exit_code = 2


def unknown(what: str, name: str, known: Iterable[str], *, of: str = "", hint: str = "") -> UsageError:
    """The error of a name that is none of those there are, all of which it lists. `of`: the option, or the text, that
    it is in. `hint`: in place of the name that may have been meant.
    """
    from pybtf.support.suggest import did_you_mean

    known = list(known)
    found = f"{of}{': ' if of else ''}unknown {what} {quoted(shortened(name))}{hint or did_you_mean(name, known)}"
    return UsageError(f"{found}; expected one of {', '.join(known)}")


def printable(text: str) -> str:
    """`text` with everything that is not printable as an escape, line ends too; bytes that are not UTF-8 as `\\xff`.

    Names come from the input and may hold anything, escape sequences of a terminal too.
    """
    return text if text.isprintable() else "".join(sign if sign.isprintable() else _escape(sign) for sign in text)


def one_line(text: str) -> str:
    """`text` as it is in messages, which are one line: names of files, units and symbols may hold line ends."""
    return text.replace("\n", "\\n")


def quoted(text: str) -> str:
    """`text` in quotes, for messages; see `printable`. `repr` would show bytes that are not UTF-8 as `\\udcff`."""
    mark = '"' if "'" in text and '"' not in text else "'"
    return f"{mark}{printable(text)}{mark}"


def shortened(text: str) -> str:
    """`text` for messages, without its middle if it is long: names come from the input, and have any length."""
    return text if len(text) <= MOST_OF_NAME else f"{text[: MOST_OF_NAME // 2]}...{text[-MOST_OF_NAME // 2 :]}"


def counted(n: int, noun: str) -> str:
    """`1 type`, `94,548 types`"""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _escape(sign: str) -> str:
    if "\udc80" <= sign <= "\udcff":  # how Python has such bytes (surrogateescape)
        return f"\\x{ord(sign) - 0xDC00:02x}"
    return sign.encode("unicode_escape").decode()


@record(frozen=True)
class Place:
    """Where in an input something was found. Offsets are bytes from the start of `section`, or of the file."""

    file: str
    section: str | None = None
    offset: int | None = None
    unit: int | None = None
    unit_name: str | None = None
    die: int | None = None

    def __str__(self) -> str:
        parts = [self.file]
        if self.section is not None:
            at = f"+{self.offset:#x}" if self.offset is not None else ""
            parts.append(f"{shortened(self.section)}{at}")
        elif self.offset is not None:
            parts.append(f"offset {self.offset:#x}")
        if self.unit is not None:
            name = f" ({shortened(self.unit_name)})" if self.unit_name else ""
            parts.append(f"unit at {self.unit:#x}{name}")
        if self.die is not None:
            parts.append(f"DIE {self.die:#x}")
        return ": ".join([parts[0], ", ".join(parts[1:])]) if len(parts) > 1 else parts[0]


class InputError(PybtfError):
    """An input file is unusable: where, what was found, what was expected, and a hint."""

    def __init__(self, place: Place | str, found: str, expected: str = "", hint: str = "") -> None:
        self.place = place if isinstance(place, Place) else Place(place)
        self.found = found
        self.expected = expected
        self.hint = hint
        text = f"{self.place}: {found}"
        if expected:
            text += f"; expected {expected}"
        if hint:
            text += f". {hint}"
        super().__init__(one_line(text))


class DiscardedError(InputError):
    """The values of an object have a function that the linker has discarded. What becomes of it, only the linked DWARF
    says.
    """


class ModuleWithoutBaseError(UsageError):
    """A kernel module is to be encoded, and nobody said on which kernel's BTF. `path` is the module."""

    def __init__(self, path: str, others: str = "") -> None:
        """`others`: what else there is to say of the run, in words."""
        self.path = path
        name = one_line(path)
        super().__init__(
            f"{name}: a kernel module, and no base is given: no kernel loads BTF of a module that is not built on "
            f"that kernel's own{others}. Name the kernel: --base vmlinux, or --base /sys/kernel/btf/vmlinux for the "
            "one that runs here. --standalone encodes a module on its own (Python: base=..., standalone=True)"
        )


class WrongBaseError(InputError):
    """The base is not that of the kernel the input belongs to. `force_base` goes on."""


class EncodeError(InputError):
    """The DWARF is well formed, but holds something BTF cannot express (an `_Atomic` type, for instance)."""


class NothingToEncode(InputError):
    """The file is sound, but has no DWARF, or nothing in it that is wanted. To some callers that is not an error."""


class NoSuchTypeError(PybtfError, IndexError):
    """A BTF has no type with the id that was asked for."""


class OutputError(PybtfError):
    """The result could not be written: the target, the reason, what to do."""


class MergeError(PybtfError):
    """What was merged is not what the DWARF gives."""


class InternalError(PybtfError):
    """A promise of pybtf's own code was broken: a bug to report."""

    exit_code = 70
