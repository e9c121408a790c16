"""Where commands write what they have made: BTF, to `-o OUT`, and pictures."""

from __future__ import annotations

import os
import stat
import sys

from pybtf.cli.request import STDOUT, path_of, same
from pybtf.errors import UsageError
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import write_stdout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def checked(output: str | None, inputs: Iterable[str], option: str = "-o") -> str:
    """The name of OUT. Raises UsageError if there is none, if it is one of `inputs`, or a terminal, and
    `OutputError` if it cannot be written.
    """
    if output is None:
        raise UsageError("missing option '-o OUT'; - is standard output")
    if output == STDOUT:
        if sys.stdout.isatty():
            raise UsageError(f"{option} -: standard output is a terminal, and BTF is binary; redirect it")
        return output
    spared(option, output, inputs)
    return output


def opened(file: str, base: str | None, output: str | None) -> list[str]:
    """What is read where the BTF of FILE is opened: FILE, files that its DWARF is in, and the base that is named, or
    else found beside it.

    What is found is only looked for if OUT may be it. Raises `InputError`.
    """
    if STDOUT in (file, output) or output is None or same(output, file):
        return [file] if base is None else [file, base]
    from pybtf.elf.atomic import replaces_elf

    beside = os.path.join(os.path.dirname(file), "vmlinux")  # noqa: PTH118, PTH120
    read = [file, beside if base is None else base]
    if replaces_elf(output):
        from pybtf.elf.mapped import mapped
        from pybtf.pipeline.companions import companions

        with mapped():
            found = [path for each in read for path, _ in companions(each)]
        if any(same(output, path) for path in found):
            return [*read, *found]
    if base is not None or not os.path.exists(beside) or not same(output, beside):  # noqa: PTH110
        return read[: 1 + (base is not None)]
    from pybtf.btf.opening import base_of

    return read if base_of(file) is not None else read[:1]


def spared(option: str, output: str | None, inputs: Iterable[str], metavar: str = "OUT") -> None:
    """Raise UsageError if a picture, or another result, would replace one of `inputs` (`-`: standard input), and
    `OutputError` if it cannot be written: before there is work that would be for nothing.
    """
    if output in (None, STDOUT):
        return
    for name in inputs:
        if name == STDOUT and _is_standard_input(str(output)):
            raise UsageError(f"{option} {metavar} is the input itself, which standard input is read from")
        if same(str(output), name):
            raise UsageError(f"{option} {metavar} is the input {name} itself")
    from pybtf.elf.atomic import require_writable

    require_writable(str(output))


def _is_standard_input(output: str) -> bool:
    """Whether OUT is the regular file that standard input is read from (`< OUT`)."""
    try:
        status = os.fstat(0)
        return stat.S_ISREG(status.st_mode) and os.path.samestat(status, os.stat(output))  # noqa: PTH116
    except OSError:
        return False


def draw(output: str, picture: bytes) -> None:
    """Write a picture to a file, all or nothing, or print it as other texts. Raises `OutputError`."""
    if output == STDOUT:
        write_stdout(picture)
    else:
        write(output, picture)


def write(output: str, data: bytes | Callable[[Callable[[bytes], object]], object]) -> None:
    """Write a file, all or nothing: bytes, or what a function puts piece by piece. Raises `OutputError`."""
    from pybtf.elf.atomic import write_file

    write_file(path_of(output), data, durable=False)
