"""Manual pages from the help texts: docs/man/pybtf.1 and docs/man/pybtf-pahole.1.

    python -m tools.project.man [FOLDER]

The help texts (src/pybtf/cli/manual.py, src/pybtf/pahole/manual.py) are written by hand; tests compare them with the
options that the programs know. They already have the parts of a manual page: usage, description, groups of options,
examples, environment, exit status. Here these are recognised by their layout and written as troff, so nothing is
written twice. The pages are in the repository for packagers; test_man.py fails if they are out of date.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pybtf import __version__
from pybtf.cli import manual
from pybtf.pahole import manual as pahole_manual

FOLDER = Path(__file__).parents[2] / "docs" / "man"
ABOUT = {
    "pybtf": "encode BTF from DWARF, byte for byte as pahole does",
    "pybtf-pahole": "pybtf with the command line of pahole, for builds of the kernel",
}
SEE_ALSO = {"pybtf": "pybtf-pahole(1), pahole(1), bpftool(8), elf(5)", "pybtf-pahole": "pybtf(1), pahole(1), make(1)"}
CHARACTERS = str.maketrans({"\\": r"\e", "-": r"\-", "^": r"\(ha", "~": r"\(ti", "'": r"\(aq"})


@dataclass
class Entry:
    """An option, command or variable, and its description."""

    term: str
    text: str


@dataclass
class Help:
    """The parts of one help text."""

    usage: list[str] = field(default_factory=list)
    description: list[str] = field(default_factory=list)
    groups: list[tuple[str, list[Entry]]] = field(default_factory=list)
    examples: str = ""
    environment: list[Entry] = field(default_factory=list)
    status: str = ""


# -- reading ---------------------------------------------------------------------------------------------


def parse(text: str) -> Help:
    """Separates the parts of a help text. Blocks are separated by empty lines; most begin with their title."""
    usage, *blocks = text.strip("\n").split("\n\n")
    found = Help([line.removeprefix("Usage:").strip() for line in usage.splitlines()])
    for block in blocks:
        title, _, rest = block.partition("\n")
        if block.startswith("Exit status: "):
            found.status = flowing(block.removeprefix("Exit status: "))
        elif title == "Examples:":
            found.examples = textwrap.dedent(rest)
        elif title == "Environment:":
            found.environment = entries(rest)
        elif title.endswith(":") and not title.startswith(" ") and rest:
            found.groups.append((title[:-1], entries(rest)))
        elif block.startswith("  "):
            found.groups.append(("", entries(block)))
        else:
            found.description.append(flowing(block))
    return found


def entries(block: str) -> list[Entry]:
    """The entries of a block: a term, two spaces or a new line, and a text, which continues further to the right.

    A term that ends with a comma continues on the next line.
    """
    found: list[Entry] = []
    for line in block.splitlines():
        indent = len(line) - len(line.lstrip())
        term, _, text = re.sub(r" {2,}", "\0", line.strip(), count=1).partition("\0")
        if indent == 2 or (indent == 6 and line.lstrip().startswith("--")):
            if found and found[-1].term.endswith(","):
                found[-1].term += f" {term}"
                found[-1].text = text
            else:
                found.append(Entry(term, text))
        else:
            found[-1].text = f"{found[-1].text} {line.strip()}".strip()
    return found


def flowing(text: str) -> str:
    return " ".join(text.split())


# -- writing ---------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Text as troff: nothing in it is a command, and a hyphen is the character that is typed."""
    text = text.translate(CHARACTERS)
    return "\\&" + text if text.startswith(".") else text


def lines(text: str) -> Iterable[str]:
    """A paragraph with backquoted text in bold, in lines of reasonable length. Troff refills them."""
    wrapped = textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False)
    parts = "\n".join(map(plain, wrapped)).split("`")
    if wrapped:
        yield from "".join(rf"\fB{part}\fR" if i % 2 else part for i, part in enumerate(parts)).split("\n")


def term(text: str) -> str:
    """Options in bold, the names of their values in italics."""
    pieces = re.split(r"((?<![\w-])--?[\w?-]+|\b[A-Z]{1,}[A-Z_]*\b)", text)
    return "".join(
        plain(piece) if i % 2 == 0 else rf"\fB{plain(piece)}\fR" if piece[0] == "-" else rf"\fI{plain(piece)}\fR"
        for i, piece in enumerate(pieces)
    )


def told(entry: Entry, name: str) -> Iterable[str]:
    yield ".TP"
    yield name
    yield from lines(entry.text)


def options(text: Help) -> Iterable[str]:
    for title, group in text.groups:
        if title not in ("", "Options"):
            yield ".PP"
            yield rf"\fI{plain(title)}\fR"
        for entry in group:
            yield from told(entry, term(entry.term))


def page(name: str, top: Help, commands: dict[str, Help]) -> str:
    """One manual page of a program, whose options are those of `top`, or of its commands."""
    parts = {f"{name} {command}": text for command, text in commands.items()}
    every = [top, *parts.values()]
    out = ['.\\" Made by tools/project/man.py from the help texts: make man']
    out += [f'.TH {name.upper()} 1 "" "pybtf {__version__}" "User Commands"', ".nh", ".ad l"]
    out += [".SH NAME", f"{plain(name)} \\- {plain(ABOUT[name])}", ".SH SYNOPSIS"]
    for line in [usage for text in (parts.values() or [top]) for usage in text.usage]:
        out += [f"\\fB{plain(name)}\\fR{term(line.removeprefix(name))}", ".br"]
    out[-1:] = [".SH DESCRIPTION"]
    out += paragraphs(top.description)
    for part, text in parts.items():
        out += [f".SS {plain(part)}", *paragraphs(text.description)]
    out.append(".SH OPTIONS")
    out += options(Help(groups=[group for group in top.groups if group[0] != "Commands"]))
    for part, text in parts.items():
        out += [f".SS {plain(part)}", *options(text)]
    if any(text.examples for text in every):
        out += [".SH EXAMPLES"]
        for text in every:
            if text.examples:
                out += [".PP", ".EX", *map(plain, text.examples.splitlines()), ".EE"]
    out.append(".SH EXIT STATUS")
    out += lines(top.status)
    for part, text in parts.items():
        if text.status:
            out += [".PP", *lines(f"Of `{part}`: {text.status}")]
    out.append(".SH ENVIRONMENT")
    for entry in {entry.term: entry for text in reversed(every) for entry in text.environment}.values():
        out += told(entry, rf"\fB{plain(entry.term)}\fR")
    out += [".SH SEE ALSO", re.sub(r"([\w-]+)\((\d)\)", lambda m: rf"\fB{plain(m[1])}\fR({m[2]})", SEE_ALSO[name])]
    return "\n".join(out) + "\n"


def paragraphs(texts: list[str]) -> Iterable[str]:
    for text in texts:
        yield ".PP"
        yield from lines(text)


def pages() -> dict[str, str]:
    """The pages, by file name."""
    commands = {name: parse(text) for name, text in manual.COMMANDS.items()}
    return {
        "pybtf.1": page("pybtf", parse(manual.PYBTF), commands),
        "pybtf-pahole.1": page("pybtf-pahole", parse(pahole_manual.HELP), {}),
    }


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
