"""Compares `pybtf min-core` with `bpftool gen min_core_btf`, byte for byte.

    python -m tools.compare.min_core_compare BTF OBJECT...            each object, then all of them together
    python -m tools.compare.min_core_compare --random 0:500           random programs on random kernels; clang
    python -m tools.compare.min_core_compare --values BTF OBJECT...   also values, by `bpftool -d prog load`; root

If bpftool refuses, pybtf must, too. The exit status is 1 if anything differs; --keep DIR keeps the inputs that do.
"""

from __future__ import annotations

import argparse
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from pybtf import BTF, InputError
from pybtf.btf.core_relocation import Relocator, Target
from pybtf.btf.ext import RelocationKind, read_object
from pybtf.btf.min_core import MinCore
from tools.generate import randcore
from tools.judge import reference


def ours(btf: BTF, objects: list[Path]) -> bytes | str:
    """The bytes, or the message."""
    needs = MinCore(btf)
    try:
        for path in objects:
            local, ext = read_object(path)
            if ext is not None:
                needs.add(local, ext)
    except InputError as error:
        return str(error)
    return needs.to_bytes()


def theirs(bpftool: list[str], btf: Path, objects: list[Path], folder: Path) -> bytes | str:
    out = folder / "reference.btf"
    out.unlink(missing_ok=True)
    run = subprocess.run(
        [*bpftool, "gen", "min_core_btf", str(btf), str(out), *map(str, objects)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if run.returncode == 0 and out.exists():
        return out.read_bytes()
    return " | ".join(run.stderr.strip().splitlines()[-2:]) or f"status {run.returncode}"


def compile_bpf(source: Path, out: Path, *options: str) -> None:
    """`source` as a BPF object; clang's own warnings do not matter."""
    command = ["clang", "-w", "-target", "bpf", "-g", "-O2", *options, "-c", str(source), "-o", str(out)]
    subprocess.run(command, check=True, capture_output=True)


def change_kinds(path: Path, numbers: set[int], kind: RelocationKind) -> None:
    """Changes the kind of an object's relocations to kinds that older clangs do not write."""
    local, ext = read_object(path)
    assert ext is not None
    order = "<" if local.header.little else ">"
    data, at = path.read_bytes(), 0
    if data.count(ext.data) != 1:
        return
    start = data.index(ext.data)
    changed = bytearray(data)
    # The records of a section follow each other, after a header of 8 bytes.
    offset, length = struct.unpack_from(f"{order}II", ext.data, 24)
    (header,) = struct.unpack_from(f"{order}I", ext.data, 4)
    at, end = header + offset + 4, header + offset + length
    (size,) = struct.unpack_from(f"{order}I", ext.data, at - 4)
    number = 0
    while at < end:
        (count,) = struct.unpack_from(f"{order}I", ext.data, at + 4)
        at += 8
        for _ in range(count):
            if number in numbers:
                struct.pack_into(f"{order}I", changed, start + at + 12, kind)
            number += 1
            at += size
    path.write_bytes(changed)


def values(bpftool: list[str], btf: Path, path: Path) -> list[str]:
    """Differences between pybtf's values and those that bpftool's loader puts into instructions."""
    pin = Path("/sys/fs/bpf/pybtf_min_core")
    command = [*bpftool, "-d", "prog", "loadall", str(path), str(pin), "type", "raw_tracepoint", "kernel_btf", str(btf)]
    log = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    shutil.rmtree(pin, ignore_errors=True)
    text = log.stdout + log.stderr
    local, ext = read_object(path)
    if ext is None:
        return []
    relocator = Relocator(local, Target(BTF.from_file(btf)))
    wrong = []
    found: dict[tuple[str, int], str] = {}
    for match in re.finditer(r"prog '([^']*)': relo #(\d+): (patched insn.*|substituting insn.*)", text):
        patched = re.search(r"-> (-?\d+)", match[3])
        found[match[1], int(match[2])] = patched[1] if patched else "poison"
    numbers: dict[str, int] = {}
    for relocation in ext.relocations():
        number = numbers[relocation.section] = numbers.get(relocation.section, -1) + 1
        result = found.get((relocation.section.rpartition("/")[2], number))
        if result is None:
            continue
        try:
            mine = relocator.resolve(relocation).value
        except InputError as error:
            mine = str(error)  # type: ignore[assignment]
        COUNTS["values"] += 1
        SEEN[relocation.kind.name, "poison" if mine is None else "0" if mine == 0 else "other"] += 1
        shown = "poison" if mine is None else mine
        if str(shown) != result and (not isinstance(shown, int) or (shown - int(result)) % (1 << 32)):
            wrong.append(f"{relocation}: {shown}, reference {result}")
    return wrong


SEEN: Counter[tuple[str, str]] = Counter()
COUNTS = {"equal": 0, "refused": 0, "different": 0, "values": 0, "not compiled": 0}


def compare(
    name: str, bpftool: list[str], path: Path, btf: BTF, objects: list[Path], folder: Path, keep: Path | None
) -> None:
    expected, found = theirs(bpftool, path, objects, folder), ours(btf, objects)
    if isinstance(expected, str) and isinstance(found, str):
        COUNTS["refused"] += 1
        return
    if expected == found:
        COUNTS["equal"] += 1
        return
    COUNTS["different"] += 1
    shown = [each if isinstance(each, str) else f"{len(each)} bytes" for each in (found, expected)]
    print(f"{name}: pybtf {shown[0]}, bpftool {shown[1]}")
    if keep is not None:
        into = keep / name
        into.mkdir(parents=True, exist_ok=True)
        for each in (path, *objects):
            shutil.copy(each, into)
        for file, content in (("pybtf", found), ("bpftool", expected)):
            if isinstance(content, bytes):
                (into / f"{file}.btf").write_bytes(content)


def random_pair(seed: int, folder: Path) -> tuple[Path, Path]:
    """Raw BTF and an object."""
    world = randcore.World(seed)
    (folder / "target.c").write_text(randcore.target(world))
    compile_bpf(folder / "target.c", folder / "target.o")
    btf = folder / "target.btf"
    btf.write_bytes(read_object(folder / "target.o")[0].data)
    (folder / "program.c").write_text(randcore.program(world))
    path = folder / "program.o"
    order = ["-target", "bpfeb"] if seed % 10 == 9 else []
    compile_bpf(folder / "program.c", path, *order)
    _, ext = read_object(path)
    asked = [n for n, each in enumerate(ext.relocations()) if each.kind is RelocationKind.TYPE_EXISTS] if ext else []
    if asked:
        change_kinds(path, {n for n in asked if world.rng.random() < 0.6}, RelocationKind.TYPE_MATCHES)
    return btf, path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("btf", nargs="?", type=Path)
    parser.add_argument("objects", nargs="*", type=Path)
    parser.add_argument("--random", metavar="FIRST:LAST")
    parser.add_argument("--values", action="store_true")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    bpftool = reference.bpftool()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if args.btf is not None:
            btf = BTF.from_file(args.btf)
            groups = [[each] for each in args.objects]
            groups += [args.objects] if len(args.objects) > 1 else []
            for group in groups:
                title = group[0].name if len(group) == 1 else "together"
                compare(title, bpftool, args.btf, btf, group, folder, args.keep)
        first, last = map(int, args.random.split(":")) if args.random else (0, 0)
        jobs = [(args.btf, each) for each in args.objects]
        for seed in range(first, last):
            try:
                path, program = random_pair(seed, folder)
            except subprocess.CalledProcessError as error:
                print(f"seed {seed}: clang: {error.stderr.decode()[:200]}")
                COUNTS["not compiled"] += 1
                continue
            compare(f"seed-{seed}", bpftool, path, BTF.from_file(path), [program], folder, args.keep)
            jobs = [(path, program)]
            if args.values:
                for line in values(bpftool, path, program):
                    COUNTS["different"] += 1
                    print(f"seed {seed}: {line}")
        if args.values and args.btf is not None:
            for path, program in jobs:
                for line in values(bpftool, path, program):
                    COUNTS["different"] += 1
                    print(f"{program.name}: {line}")
    print(", ".join(f"{count} {what}" for what, count in COUNTS.items()))
    for (kind, what), count in sorted(SEEN.items()):
        print(f"  {kind}: {what}: {count}")
    return 1 if COUNTS["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
