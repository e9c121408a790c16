"""Compares `pybtf dump` with bpftool, byte for byte.

    python -m tools.compare.dump_compare FILE|FOLDER...              BTF, raw or in ELF files; or folders
    python -m tools.compare.dump_compare --base vmlinux.btf FOLDER   split BTF
    python -m tools.compare.dump_compare --random 0:300              random BTF (randbtf.py), by seed
    python -m tools.compare.dump_compare --programs 0:300            the BTF of random C (randprog.py), by seed
    python -m tools.compare.dump_compare --roots 20 FILE             also with some types chosen, 20 times

It compares the C header (sorted and not), the raw dump and the JSON (plain and pretty); --formats selects some of them.
For BTF that C cannot express (core/dump/dump_c_names.py), bpftool runs twice: its text must be the header of `pybtf
dump` before anything is replaced, and its text of the BTF that C can express must be the printed header. If both hold,
the verdict is `same, in C`. It also says if the installed compilers accept both texts: for example, an enumeration
without a name or a value compiles, although a member of that type is not declared. The first difference is shown with
the lines before it. bpftool is that of Debian sid (tools/judge/reference.py bpftool). The exit status is 1 if anything
differs.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pybtf
from pybtf.btf.opening import open_view
from pybtf.core.dump.dump_c_names import c_names
from pybtf.core.dump.dump_header import dump_header
from pybtf.core.dump.dump_types import dump_types
from pybtf.errors import InputError, PybtfError
from tools.compare.c_roundtrip import COMPILERS, Verdict, compile_c
from tools.generate import randbtf, randprog
from tools.golden import toolchain
from tools.judge import reference

FORMATS = {
    "c": ([], ["format", "c"]),
    "unsorted": ([], ["format", "c", "unsorted"]),
    "raw": ([], []),
    "json": (["--json"], []),
    "pretty": (["--json", "--pretty"], []),
}
SAME = ("same", "same, in C", "same, in C; both compile")
EFFORT = 1 << 40
CONTEXT = 6
PATIENCE = 10  # seconds; for damaged BTF, bpftool may print without end


def by_bpftool(path: str, base: str | None, format: str, roots: list[int]) -> bytes | None:
    """The text, or None if bpftool refuses the file or does not end."""
    options, rest = FORMATS[format]
    chosen = [word for root in roots for word in ("root_id", str(root))]
    based = ["--base-btf", base] if base else []
    command = [*reference.bpftool(), *options, *based, "btf", "dump", "file", path, *rest, *chosen]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


def by_pybtf(path: str, base: str | None, format: str, roots: list[int]) -> bytes | str:
    """The text (for C as if nothing were replaced), or what is wrong with the file."""
    try:
        view = open_view(path, base)
        if format in ("c", "unsorted"):
            return dump_header(view, roots, format == "c", as_is=True)
        pieces: list[bytes] = []
        dump_types(view, pieces.append, roots, format != "raw", format == "pretty")
        return b"".join(pieces)
    except InputError as error:
        return str(error)


def in_c(path: str, base: str | None, format: str, roots: list[int], plain: bytes) -> tuple[bytes, bytes | None] | None:
    """The printed header, and bpftool's header of the BTF that it is made from, if it is not the `plain` one."""
    view = open_view(path, base)
    text = dump_header(view, roots, format == "c")
    if text == plain:
        return None
    other, _, _ = c_names(view, EFFORT, True)
    assert other is not None
    with tempfile.NamedTemporaryFile(suffix=".btf") as file:
        file.write(other.data)
        file.flush()
        return text, by_bpftool(file.name, None, format, roots)


def compiles(source: bytes) -> bool:
    """Whether every installed compiler accepts it."""
    text = source.decode(errors="surrogateescape")
    return all(compile_c(text, each).verdict is Verdict.COMPILES for each in COMPILERS if shutil.which(each))


def first_difference(ours: bytes, theirs: bytes) -> str:
    """Some equal lines, and what follows them on either side."""
    left, right = ours.splitlines(), theirs.splitlines()
    if len(left) < 3:  # JSON in one line
        pairs = enumerate(zip(ours, theirs, strict=False))
        at = next((i for i, (a, b) in pairs if a != b), min(len(ours), len(theirs)))
        start = max(0, at - 300)
        return f"  at byte {at}\n  pybtf:   {ours[start : at + 100]!r}\n  bpftool: {theirs[start : at + 100]!r}"
    at = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    shown = [f"    {line.decode(errors='replace')}" for line in left[max(0, at - CONTEXT) : at]]
    for name, lines in (("pybtf", left), ("bpftool", right)):
        shown += [f"  {name} {line.decode(errors='replace')}" for line in lines[at : at + 3]]
    return f"  line {at + 1}\n" + "\n".join(shown)


def inputs(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    for name in options.files:
        path = Path(name)
        if path.is_dir():
            yield from map(str, sorted({*path.rglob("*.btf"), *path.rglob("*.ko")}))
        else:
            yield name
    for seed in seeds(options.random):
        path = folder / f"random-{seed}.btf"
        path.write_bytes(randbtf.RandomBtf(seed).make())
        yield str(path)
    for seed in seeds(options.programs):
        path = folder / f"program-{seed}.btf"
        try:
            path.write_bytes(program(seed))
        except (toolchain.BuildError, PybtfError) as error:
            print(f"program {seed}: skipped: {str(error).splitlines()[0]}")
            continue
        yield str(path)


def seeds(text: str) -> range:
    start, _, end = text.partition(":")
    return range(int(start), int(end)) if text else range(0)


def program(seed: int) -> bytes:
    """The BTF of a random program, compiled as its seed says, or by gcc if there is no clang."""
    made = randprog.generate(seed)
    if shutil.which("clang") is None:
        made = replace(made, builds=[replace(build, compiler="gcc") for build in made.builds])
    with tempfile.TemporaryDirectory() as scratch:
        elf = Path(scratch) / "program.elf"
        made.make(Path(scratch), elf)
        return bytes(pybtf.encode(elf, features="all" if seed % 2 else "default", jobs=1).data)


def length(path: str, base: str | None) -> int:
    """The number of ids; 0 if the BTF cannot be read."""
    try:
        return len(open_view(path, base))
    except InputError:
        return 0


def compare(path: str, base: str | None, formats: list[str], n_roots: int) -> list[tuple[str, str, str]]:
    """For each format: the format, the verdict, the details."""
    chooser = random.Random(path.rpartition("/")[2])
    found = []
    for format in formats:
        choices: list[list[int]] = [[]]
        if n_roots and format != "pretty":
            ids = range(1, length(path, base))
            sizes = [min(len(ids), chooser.choice((1, 1, 2, 5))) for _ in range(n_roots)]
            choices += [chooser.sample(ids, size) for size in sizes if size]
        for roots in choices:
            theirs = by_bpftool(path, base, format, roots)
            ours = by_pybtf(path, base, format, roots)
            about = f"{format} {roots}" if roots else format
            if isinstance(ours, bytes) and ours == theirs:
                printed = in_c(path, base, format, roots, ours) if format in ("c", "unsorted") else None
                if printed is None:
                    found.append((about, "same", ""))
                elif printed[0] != printed[1]:
                    found.append((about, "DIFFERENT, in C", first_difference(printed[0], printed[1] or b"")))
                elif not roots and compiles(ours):
                    found.append((about, "same, in C; both compile", ""))
                else:
                    found.append((about, "same, in C", ""))
            elif isinstance(ours, str):
                found.append((about, "refused by both" if theirs is None else "refused by pybtf", ours))
            elif theirs is None:
                found.append((about, "refused by bpftool", ""))
            else:
                found.append((about, "DIFFERENT", first_difference(ours, theirs)))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--base", help="the BTF that the files are split from")
    parser.add_argument("--random", default="", metavar="FIRST:END", help="seeds of random BTF")
    parser.add_argument("--programs", default="", metavar="FIRST:END", help="seeds of random programs")
    parser.add_argument("--roots", type=int, default=0, metavar="N", help="how many times with types chosen")
    parser.add_argument("--formats", default=",".join(FORMATS), help="default: all")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="counts of the verdicts, as JSON")
    options = parser.parse_args()
    formats = options.formats.split(",")
    verdicts: Counter[str] = Counter()
    count = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        paths = list(inputs(options, Path(folder)))
        results = pool.map(lambda path: compare(path, options.base, formats, options.roots), paths)
        for path, found in zip(paths, results, strict=True):
            count += 1
            for about, verdict, text in found:
                verdicts[verdict] += 1
                if verdict not in SAME and not options.json:
                    print(f"{path}: {about}: {verdict}\n{text}", flush=True)
    if options.json:
        print(json.dumps({"files": count, **verdicts}))
    else:
        counts = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.items())
        print(f"{reference.bpftool_version()}; {count} files: {counts}")
    return 0 if count and set(verdicts) <= {*SAME, "refused by both"} else 1


if __name__ == "__main__":
    sys.exit(main())
