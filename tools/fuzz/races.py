"""Looks for data races: encodings by several workers, and batches by threads, in a build with ThreadSanitizer.

    python -m tools.fuzz.races [FILE...]            default: the fixtures
    python -m tools.fuzz.races --plain [FILE...]    the same in this build, without ThreadSanitizer: for a Python
                                                    without an interpreter lock

Python itself is not built with it, so only accesses by the core are seen; those under the GIL are in order. Each file
is encoded by four workers, also with all features; then all files at once by four threads, each with two workers. The
fixtures are joined by a file with so many types and names that the shared tables get more buckets. The modules of
fixtures/split are encoded by four threads on one base, and the objects of fixtures/objects merged by four workers. Exit
status: 1 if a race is reported or the bytes differ.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.builders.archives import unpack
from tests.builders.rawdwarf import REF4, STRING, RawDwarf
from tools.fuzz import fuzz

BUILD = fuzz.ROOT / "build" / "threads"
RACE = 66
NAME, POINTER, TYPEDEF, TYPE = 0x03, 0x0F, 0x16, 0x49


def work(paths: list[str]) -> int:
    """Runs in the process with ThreadSanitizer. Returns how many outputs differ."""
    import pybtf

    wrong = 0
    alone = {}
    for path in paths:
        for features in ("default", "all"):
            try:
                alone[path, features] = bytes(pybtf.encode(path, jobs=1, features=features, standalone=True).data)
            except pybtf.PybtfError as error:
                alone[path, features] = str(error).encode()

    def again(path: str, features: str, jobs: int) -> bool:
        try:
            data = bytes(pybtf.encode(path, jobs=jobs, features=features, standalone=True).data)
        except pybtf.PybtfError as error:
            data = str(error).encode()
        return data == alone[path, features]

    for path, features in alone:
        wrong += not again(path, features, 4)
    with ThreadPoolExecutor(4) as pool:
        wrong += sum(not same for same in pool.map(lambda key: again(key[0], key[1], 2), alone))
    print(f"{len(alone)} encodings, each by 1 and 4 workers and beside others: {wrong} differ", flush=True)
    return wrong


def on_one_base() -> int:
    """The same for modules that share their base. Returns how many outputs differ."""
    import pybtf

    home = fuzz.ROOT / "fixtures" / "split"
    base = pybtf.Base.from_file(home / "golden" / "kernel.gcc.btf")
    modules = sorted((home / "bin").glob("*.gcc.o")) * 4

    def one(path: Path) -> bytes:
        try:
            return bytes(pybtf.encode(path, jobs=2, base=base).data)
        except pybtf.PybtfError as error:
            return str(error).encode()

    alone = [one(path) for path in modules]
    with ThreadPoolExecutor(4) as pool:
        wrong = sum(one != other for one, other in zip(pool.map(one, modules), alone, strict=True))
    print(f"{len(modules)} encodings on one base: {wrong} differ", flush=True)
    return wrong


def of_objects() -> int:
    """Merges of values, which the workers look for. Returns how many outputs differ."""
    from pybtf.merging.linked import Sources, merge_file
    from pybtf.options import make_options

    home = Path.cwd()
    wrong = merged = 0
    with tempfile.TemporaryDirectory() as scratch:
        unpack(fuzz.ROOT / "fixtures" / "objects" / "objects.tar.xz", Path(scratch))
        for folder in sorted(path for path in Path(scratch).iterdir() if path.is_dir()):
            os.chdir(folder)  # the index has relative names of objects
            for sources in (Sources(), Sources(("sa.o", "sb.o")), Sources(cache="cache")) * 4:
                data = merge_file("merged", make_options("default", 4), sources).data
                alone = merge_file("merged", make_options("default", 1), sources).data
                wrong += bytes(data) != bytes(alone)
                merged += 1
        os.chdir(home)
    print(f"{merged} merges: {wrong} differ", flush=True)
    return wrong


def crowded() -> bytes:
    """A kernel of eight small units; each unit has only new types and new names."""
    w = RawDwarf()
    for unit in range(8):
        w.begin()
        below = w.base_type()
        for at in range(8000):
            below = w.die(POINTER, (TYPE, REF4, below))
            w.die(TYPEDEF, (NAME, STRING, f"{unit}.{at}"), (TYPE, REF4, below))
        w.end()
    return w.kernel()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--plain", action="store_true", help="this build as it is, without ThreadSanitizer")
    options = parser.parse_args()
    files = [str(path) for path in options.files or sorted((fuzz.ROOT / "fixtures" / "bin").glob("*.elf"))]
    if options.plain:
        with tempfile.NamedTemporaryFile() as large:
            large.write(crowded())
            large.flush()
            return 1 if work([*files, large.name]) + on_one_base() + of_objects() else 0
    fuzz.build(BUILD, PYBTF_SANITIZE="thread")
    environment = {
        **os.environ,
        "LD_PRELOAD": fuzz.library("libtsan.so"),
        "TSAN_OPTIONS": f"exitcode={RACE}:{os.environ.get('TSAN_OPTIONS', '')}",
        "PYTHONPATH": os.pathsep.join([str(BUILD / "src"), str(fuzz.ROOT)]),
    }
    command = [sys.executable, "-m", "tools.fuzz.races", "--plain", *files]
    status = subprocess.run(command, env=environment, check=False).returncode
    if status == RACE:
        print("there are races; see above")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main())
