"""What a compiler's command line makes: only so much of it as tells whether there will be object files, and which."""

# ruff: noqa: PTH116, PTH119, PTH122
# To import pathlib takes longer than to read a command line.

from __future__ import annotations

import os
import stat

from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Final

NO_OBJECTS: Final = frozenset(
    (
        "-S", "-E", "-M", "-MM", "-fsyntax-only", "-emit-llvm", "--help", "--version",
        "--assemble", "--preprocess", "--dependencies", "--user-dependencies", "-###", "--target-help", "--analyze",
        "-dumpmachine", "-dumpversion", "-dumpfullversion", "-dumpspecs",
    )
)  # fmt: skip
_ONLY_PRINTING: Final = ("-print-", "--print-", "--help=")
"""How options begin with which a compiler answers and makes nothing: what it is asked about stays as it is."""
SOURCES: Final = frozenset(
    (
        ".c", ".i", ".s", ".S", ".sx", ".cc", ".cp", ".cpp", ".CPP", ".cxx", ".c++", ".C", ".ii",
        ".m", ".mi", ".mm", ".M", ".mii", ".f", ".for", ".ftn", ".fi", ".F", ".FOR", ".fpp", ".FPP", ".FTN",
        ".f90", ".f95", ".f03", ".f08", ".F90", ".F95", ".F03", ".F08", ".go", ".d", ".ads", ".adb",
        ".bc", ".ll", ".asm", ".CC", ".CXX", ".C++", ".cl", ".clcpp", ".cppm", ".ccm", ".cxxm", ".c++m", ".cui", ".iim",
    )
)  # fmt: skip
"""What gcc makes objects of ("Overall Options" of its manual); in the last line, what only clang does."""
_WITH_VALUE: Final = frozenset(
    (
        "-I", "-L", "-D", "-U", "-MF", "-MT", "-MQ", "-include", "-imacros", "-isystem", "-iquote", "-idirafter",
        "-iprefix", "-iwithprefix", "-isysroot", "-T", "-u", "-Xassembler", "-Xlinker", "-Xpreprocessor",
        "-Xclang", "-arch", "-target", "-aux-info", "-dumpbase", "-dumpbase-ext", "-dumpdir", "-B", "-A", "-z", "-l",
        "--param", "-iwithprefixbefore", "-wrapper", "-specs", "--specs", "-imultilib", "--sysroot", "-e", "-F",
        "-MJ", "-mllvm", "-include-pch", "-iframework", "-iframeworkwithsysroot", "-iwithsysroot", "-isystem-after",
        "-cxx-isystem", "-stdlib++-isystem", "-ivfsoverlay", "-serialize-diagnostics", "--serialize-diagnostics",
        "-dependency-file", "-resource-dir", "-working-directory", "-fdebug-compilation-dir", "-framework",
        "-Xanalyzer", "-Xopenmp-target", "-mthread-model", "--config", "--include-directory-after",
        "--include", "--imacros", "--include-directory", "--define-macro", "--undefine-macro",
    )
)  # fmt: skip
"""Options of gcc and clang whose value is the next argument, if it is not attached."""
_FILES: Final = 2000
"""Files of arguments, as for gcc."""
_LARGEST: Final = 16 << 20
"""Bytes of them."""
_SPACE: Final = " \t\n\v\f\r"
_QUOTES: Final = "\"'"


def objects_of(command: Sequence[str]) -> list[str]:
    """The object files that a command makes, if it compiles and does no more: it has `-c`. None are also an answer."""
    compiles, output, sources = False, None, []
    language = "none"  # of the sources that follow; then their names end as they will
    arguments = _expanded(command[1:])
    for argument in arguments:
        if argument in NO_OBJECTS or argument.startswith(_ONLY_PRINTING):
            return []
        if argument in ("-c", "--compile"):
            compiles = True
        elif argument in ("-o", "--output"):
            output = next(arguments, None)
        elif argument.startswith(("-o", "--output=")):
            output = argument.removeprefix("--output=" if argument.startswith("--") else "-o")
        elif argument in ("-x", "--language"):
            language = next(arguments, "none")
        elif argument.startswith(("-x", "--language=")):
            language = argument.removeprefix("--language=" if argument.startswith("--") else "-x")
        elif argument in _WITH_VALUE:
            next(arguments, None)
        elif argument.startswith("-") and argument != "-":
            continue
        elif language != "none" or os.path.splitext(argument)[1] in SOURCES:
            sources.append(argument)  # "-": standard input
    if not compiles:
        return []
    if output is not None:
        return [output]
    return [os.path.splitext(os.path.basename(source))[0] + ".o" for source in sources]


def _expanded(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments, with those that are in files (`@file`) in their places."""
    left, files, size = list(reversed(arguments)), _FILES, _LARGEST
    while left:
        argument = left.pop()
        text = _in_file(argument[1:], size) if argument.startswith("@") and files else None
        if text is None:  # then it is the name of a file
            yield argument
            continue
        left += reversed(_words(text))
        files, size = files - 1, size - len(text)


def _in_file(path: str, size: int) -> str | None:
    """What is in a regular file of at most so many bytes; None: it is none. What is in a pipe, the compiler reads."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            text = file.read(size + 1)
    except (OSError, ValueError):
        return None
    return text if len(text) <= size else None


def _words(text: str) -> list[str]:
    """The words of such a file as gcc reads it: apart by white space. A backslash protects any sign, in quotes as well,
    quotes of one kind those of the other; a quote without an end reaches to that of the file, which a NUL is, too.

    clang reads otherwise what hardly any file has: it keeps a backslash at the end, skips empty words and NULs, and
    form feeds and vertical tabs are not white space. No command says for sure that it is clang.
    """
    text = text.partition("\0")[0]
    words: list[str] = []
    word: list[str] | None = None
    quote, escaped = "", False
    for sign in text:
        if sign in _SPACE and not quote and not escaped:
            if word is not None:
                words.append("".join(word))
            word = None
            continue
        if word is None:
            word = []
        if escaped:
            word.append(sign)
            escaped = False
        elif sign == "\\":
            escaped = True
        elif sign == quote:
            quote = ""
        elif sign in _QUOTES and not quote:
            quote = sign
        else:
            word.append(sign)
    if word is not None:
        words.append("".join(word))
    return words
