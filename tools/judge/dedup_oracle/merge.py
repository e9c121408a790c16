"""Compares `pybtf.Builder`, which appends and de-duplicates BTFs, with libbpf's btf__add_btf and btf__dedup.

    PYBTF_REFERENCE_ROOT=... python -m tools.judge.dedup_oracle.merge --seeds 0:1000
    PYBTF_REFERENCE_ROOT=... python -m tools.judge.dedup_oracle.merge [--base BASE] FILE... [--groups N]

For each seed, one to four lists of generate.py are merged, some more than once, some split from a base. FILEs are
merged all together or, with --groups, N at a time. --record DIR keeps the files of the seeds, and the reference's
results. Exit status 1 if anything differs. Needs a C compiler.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pybtf import BTF, InputError
from pybtf.btf.builder import Builder
from pybtf.btf.opening import open_btf
from tools.judge.dedup_oracle import reference
from tools.judge.dedup_oracle.generate import generate


def theirs(program: Path, files: list[Path], base: Path | None, folder: Path) -> bytes | None:
    """The bytes, or None if the reference refuses."""
    out = folder / "merged"
    out.unlink(missing_ok=True)
    loader = [str(reference.root() / reference.LOADER), "--library-path", str(reference.root() / reference.LIBRARIES)]
    options = ["-b", str(base)] if base is not None else []
    command = [*loader, str(program), *options, "-m", str(out), *map(str, files)]
    subprocess.run(command, stderr=subprocess.DEVNULL, timeout=600, check=False)
    return out.read_bytes() if out.exists() else None


def ours(files: list[Path], base: Path | None) -> bytes | None:
    try:
        under = open_btf(str(base)) if base is not None else None
        builder = Builder(under)
        first = None
        for path in files:
            btf = BTF.from_file(path, under, force_base=True)
            first = first or btf
            builder.append(btf)
        builder.dedup()
    except InputError as error:
        print(error)
        return None
    return builder.to_bytes("little" if first is None or first.header.little else "big")


def lists(seed: int, folder: Path) -> tuple[list[Path], Path | None]:
    """The files of a seed, and their base."""
    chance = random.Random(seed)
    split = chance.random() < 0.3
    files, under = [], None
    for number in range(1 if split else chance.randint(1, 4)):
        base, data = generate(1000 * seed + number, split, n_units=chance.choice([1, 2, 3]))
        path = folder / f"{number}.btf"
        path.write_bytes(data)
        files.append(path)
        if base is not None:
            under = folder / "base.btf"
            under.write_bytes(base)
    files += chance.choices(files, k=chance.choice([0, 0, 1, 2]))
    return files, under


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--seeds", default="0:0")
    parser.add_argument("--base", type=Path)
    parser.add_argument("--groups", type=int)
    parser.add_argument("--record", type=Path)
    args = parser.parse_args()
    counts = {"equal": 0, "refused": 0, "different": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = reference.build(folder)
        size = args.groups or len(args.files) or 1
        jobs = [(f"{args.files[at].name}...", args.files[at : at + size]) for at in range(0, len(args.files), size)]
        for title, files in jobs:
            judge(title, theirs(program, files, args.base, folder), ours(files, args.base), counts)
        for seed in range(*map(int, args.seeds.split(":"))):
            files, base = lists(seed, folder)
            expected = theirs(program, files, base, folder)
            judge(f"seed {seed}", expected, ours(files, base), counts)
            if args.record is not None and expected is not None:
                into = args.record / str(seed)
                into.mkdir(parents=True, exist_ok=True)
                for path in {*files, *([base] if base is not None else [])}:
                    shutil.copy(path, into)
                (into / "order").write_text(" ".join(path.name for path in files) + "\n")
                (into / "merged").write_bytes(expected)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["different"] else 0


def judge(title: str, theirs: bytes | None, ours: bytes | None, counts: dict[str, int]) -> None:
    if theirs == ours:
        counts["refused" if theirs is None else "equal"] += 1
        return
    counts["different"] += 1
    sizes = ["refused" if each is None else f"{len(each)} bytes" for each in (ours, theirs)]
    print(f"{title}: pybtf {sizes[0]}, reference {sizes[1]}")


if __name__ == "__main__":
    sys.exit(main())
