"""Compares `pybtf show` with pahole, byte for byte.

    python -m tools.compare.show_compare FILE...                      all structs and unions of BTF, raw or in ELF
    python -m tools.compare.show_compare --base vmlinux.btf FILE...   of split BTF
    python -m tools.compare.show_compare --single 200 FILE            also so many types one by one, `pahole -C NAME`
    python -m tools.compare.show_compare --options FILE               also the options of both; with --single, those
                                                                      about one type on so many
    python -m tools.compare.show_compare --lists FILE                 also what pybtf-pahole prints of whole files
    python -m tools.compare.show_compare --functions FILE             also all functions, with `pfunct -P`

pahole prints all structs of a file at once, with and without -E. Each is compared with pybtf's structs of that name, of
which there may be several. The first differences are shown. The exit status is 1 if anything differs. pahole is that of
tools/judge/reference.py. Types for which it takes more than a few seconds are counted.
"""

from __future__ import annotations

import argparse
import difflib
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from pybtf.btf.kind_numbers import ENUM, ENUM64, FUNC, STRUCT, TYPEDEF
from pybtf.btf.opening import open_view
from pybtf.core.btf.type_view import View
from pybtf.core.show.show_types import Shower
from pybtf.errors import InputError
from tools.judge import reference

SHOWN = 12
LINES = 12
PATIENCE = 60
HURRY = 5
ONE_BY_ONE = ("-E", "-p", "-E -p", "-r -E", "--hex", "-q", "-R", "-R -S", "-c 128", "-c 32 -R", "-c 24 -E")
LISTS = (
    "", "-s", "-n", "-N", "-E", "--hex", "-q", "-H 3", "-B 2", "--padding_ge 20", "--structs", "--unions", "-x a",
    "-y tcp", "-i list_head", "-f task_struct", "--with_flexible_array", "--with_embedded_flexible_array", "-s -t ,",
    "-r -E", "-C list_head", "-C sock,page", "-s -C sock,page", "-P -C sock", "-R -C task_struct", "-c 128", "-c 32",
    "-c 1 -E"
)  # fmt: skip
"""Options of pahole, of one type and of whole files. -P needs a type: without one, pahole does not end on kernels."""
OPTIONS = [
    ["--sizes"], ["--holes", "3"], ["--contains", "list_head"], ["--find-pointers-to", "task_struct"],
    ["--with-flexible-array"], ["--with-embedded-flexible-array"],
]  # fmt: skip


class Tally:
    """What is the same and what differs; the first difference is printed."""

    def __init__(self) -> None:
        self.same = 0
        self.different = 0
        self.late = 0

    def add(self, about: str, ours: list[str], theirs: str) -> None:
        if theirs in ours:
            self.same += 1
            return
        self.different += 1
        if self.different <= SHOWN:
            found = difflib.unified_diff(
                theirs.splitlines(), ours[0].splitlines() if ours else [], "pahole", "pybtf", lineterm="", n=2
            )
            print(f"{about}: different", *list(found)[2 : 2 + LINES], sep="\n  ", flush=True)


def by_pahole(path: str, base: str | None, *options: str) -> str:
    based = [f"--btf_base={base}"] if base else []
    command = [*reference.pahole(), *based, "-F", "btf", *options, path]
    done = subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE)
    return done.stdout.decode("utf-8", "surrogateescape")


def in_a_hurry(path: str, base: str | None, *options: str) -> str | None:
    """The same, or None if it takes too long, as `-p` may for types that lead to many others."""
    based = [f"--btf_base={base}"] if base else []
    try:
        done = subprocess.run(
            [*reference.pahole(), *based, "-F", "btf", *options, path], capture_output=True, check=False, timeout=HURRY
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout.decode("utf-8", "surrogateescape")


def by_ours(path: str, base: str | None, *options: str) -> str:
    """What pybtf-pahole prints."""
    based = [f"--btf_base={base}"] if base else []
    command = [sys.executable, "-m", "pybtf.pahole", *based, "-F", "btf", *options, path]
    return subprocess.run(command, capture_output=True, check=False).stdout.decode("utf-8", "surrogateescape")


def by_pybtf(*arguments: str) -> str:
    """What the command prints."""
    command = [sys.executable, "-m", "pybtf", "show", *arguments]
    return subprocess.run(command, capture_output=True, check=False).stdout.decode("utf-8", "surrogateescape")


def definitions(text: str) -> Iterator[str]:
    """The texts of types. Each ends with a line that begins with a brace."""
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        if lines or line.strip():
            lines.append(line)
        if line.startswith("}"):
            yield "".join(lines)
            lines = []


def title(text: str) -> str:
    return text.split(" {")[0]


def whole(path: str, base: str | None, view: View, tally: Tally) -> None:
    """All structs and unions, without and with expansion, in pahole's order, which some attributes depend on."""
    for expand in (False, True):
        ours = defaultdict(list)
        shower = Shower(view, expand=expand, remember=True)
        for id in shower.composites():
            name = view.name_of(id).decode("utf-8", "surrogateescape")
            ours[f"{'struct' if view.kind(id) == STRUCT else 'union'} {name}"].append(id)
        printed = list(definitions(by_pahole(path, base, *["-E"] * expand)))
        for text in printed:
            if title(text) in ours:
                texts = [shower.text(id).decode("utf-8", "surrogateescape") for id in ours[title(text)]]
                about = f"{path}: {'-E ' * expand}{title(text)}"
                tally.add(about, texts + below(view, shower, title(text)), text)
        for name in ours.keys() - set(map(title, printed)):
            tally.add(f"{path}: {name}", [], "not printed by pahole")


def below(view: View, shower: Shower, name: str) -> list[str]:
    """The texts of the base's types of this name, because pahole may print one of these."""
    ids = view.find(name.split(" ", 1)[-1].encode("utf-8", "surrogateescape"))
    return [shower.text(id).decode("utf-8", "surrogateescape") for id in ids if id < view.first_own]


def single(path: str, base: str | None, view: View, count: int, tally: Tally) -> None:
    """Some types, each by itself; half of them are not structs."""
    shower = Shower(view)
    chooser = random.Random(path.rpartition("/")[2])
    others = [id for id in range(view.first_own, len(view)) if view.kind(id) in (ENUM, ENUM64, TYPEDEF)]
    structs = shower.composites()
    ids = chooser.sample(structs, min(len(structs), count)) + chooser.sample(others, min(len(others), count))
    for name in sorted({view.name_of(id) for id in ids} - {b""}):
        plain = name.decode("utf-8", "surrogateescape")
        theirs = by_pahole(path, base, "-C", plain).rstrip("\n")
        if theirs:
            texts = [shower.text(id).decode("utf-8", "surrogateescape") for id in view.find(name)]
            tally.add(f"{path}: -C {plain}", [text.rstrip("\n") for text in texts], theirs)


def one_by_one(path: str, base: str | None, view: View, count: int, tally: Tally) -> None:
    """Some structs, each with each of the options about one type."""
    structs = [id for id in Shower(view).composites() if view.kind(id) == STRUCT]
    chosen = random.Random(path.rpartition("/")[2]).sample(structs, min(len(structs), count))
    names = [name.decode("utf-8", "surrogateescape") for name in sorted({view.name_of(id) for id in chosen})]
    for options in ONE_BY_ONE:
        for name in names:
            if len(view.find(name.encode("utf-8", "surrogateescape"))) > 1:
                continue  # which of them is printed does not matter here
            theirs = in_a_hurry(path, base, *options.split(), "-C", name)
            if theirs is None:
                tally.late += 1
            else:
                tally.add(f"{path}: {options} -C {name}", [by_ours(path, base, *options.split(), "-C", name)], theirs)


def lists(path: str, base: str | None, tally: Tally) -> None:
    for options in LISTS:
        theirs = by_pahole(path, base, *options.split())
        tally.add(f"{path}: pybtf-pahole {options}", [by_ours(path, base, *options.split())], theirs)


def by_pfunct(path: str, base: str | None = None) -> list[str]:
    """The prototypes of all functions, including those of the base; pfunct comes with pahole."""
    *start, pahole = reference.pahole()
    based = [f"--btf_base={base}"] if base else []
    command = [*start, str(Path(pahole).with_name("pfunct")), *based, "-F", "btf", "-P", path]
    done = subprocess.run(command, capture_output=True, check=True)
    return [line for line in done.stdout.decode("utf-8", "surrogateescape").splitlines() if line]


def functions(path: str, base: str | None, view: View, tally: Tally) -> None:
    shower = Shower(view)
    ours = [id for id in range(1, len(view)) if view.kind(id) == FUNC]
    texts = {shower.text(id).strip().decode("utf-8", "surrogateescape") for id in ours}
    for text in by_pfunct(path, base):
        tally.add(f"{path}: function", [text] if text in texts else [], text)
        texts.discard(text)
    for text in texts:
        tally.add(f"{path}: function", [text], "not printed by pfunct")


def with_options(path: str, base: str | None, tally: Tally) -> None:
    based = ["--base", base] if base else []
    for option in OPTIONS:
        theirs = by_pahole(path, base, *[each.replace("-", "_").replace("__", "--", 1) for each in option])
        ours = by_pybtf(*based, *option, path)
        left, right = [sorted(set(filter(None, text.splitlines()))) for text in (ours, theirs)]
        tally.add(f"{path}: {' '.join(option)}", ["\n".join(left)], "\n".join(right))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--base", help="the BTF that the files are split from")
    parser.add_argument("--single", type=int, default=0, metavar="N", help="how many types one by one")
    parser.add_argument("--options", action="store_true", help="also the options")
    parser.add_argument("--lists", action="store_true", help="also what pybtf-pahole prints of whole files")
    parser.add_argument("--functions", action="store_true", help="also all functions")
    options = parser.parse_args()
    every = Tally()
    for path in options.files:
        tally = Tally()
        try:
            view = open_view(path, options.base)
        except InputError as error:
            print(error)
            every.different += 1
            continue
        whole(path, options.base, view, tally)
        if options.single:
            single(path, options.base, view, options.single, tally)
        if options.options:
            with_options(path, options.base, tally)
            one_by_one(path, options.base, view, options.single, tally)
        if options.lists:
            lists(path, options.base, tally)
        if options.functions:
            functions(path, options.base, view, tally)
        late = f"; pahole took too long for {tally.late}" if tally.late else ""
        print(f"{path}: {tally.same:,} of {tally.same + tally.different:,} equal{late}", flush=True)
        every.same += tally.same
        every.different += tally.different
    print(f"{len(options.files)} files: {every.same:,} of {every.same + every.different:,} equal")
    return 1 if every.different or not every.same else 0


if __name__ == "__main__":
    sys.exit(main())
