"""Long runs of random damage to what `object` and `merge` read: objects, values, indexes, archives, caches, stores.

    python -m tools.fuzz.fuzz_merge [--seconds N] [--seed S] [--plain] [--case N]

Builds like fuzz.py. Each case damages one thing of a build in fixtures/objects or fixtures/compiler_btf: an object,
before it gets values; values, whose digests are then made to fit, or not; the linked file; an archive, a cache or a
store. The outcome must be BTF or one `PybtfError`, and files that are only read must not change. A crash, a sanitizer
report, another exception or a case that takes longer than 10 s ends the run with status 1; the folder of the case is
kept in build/fuzz-found. `--plain` uses the usual build, without sanitizers.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from struct import unpack_from

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "fuzz-found"
PATIENCE = 10
FEATURES = "encode_force,var,float,enum64,decl_tag,type_tag,optimized_func,consistent_func,decl_tag_kfuncs"
WORDS = (0, 1, 2, 3, 0x7F, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF)


def damaged(draw: random.Random, source: bytes, start: int = 0, end: int | None = None, keep: bool = False) -> bytes:
    """A part with some bytes or words changed; unless its size must stay, also with some left out or repeated."""
    data, end = bytearray(source), len(source) if end is None else min(end, len(source))
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        if start >= end:
            break
        at = draw.randrange(start, end)
        kind = draw.randrange(10)
        if kind < 4:
            data[at] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
        elif kind < 9 and end - start >= 4:
            at = start + draw.randrange((end - start) // 4) * 4
            words = (draw.choice(WORDS), draw.randrange(64), draw.randrange(len(source)), draw.getrandbits(32))
            word = draw.choice(words)
            data[at : at + 4] = word.to_bytes(4, draw.choice(("little", "little", "big")))
        elif kind == 9 and not keep:
            size = draw.randrange(1, 64)
            if draw.random() < 0.5:
                del data[at : at + size]
            else:
                data[at:at] = data[at : at + size]
            end = min(end, len(data))
    return bytes(data)


class Case:
    """One case, in a folder of its own, which is the working folder. `what` says what it is about."""

    def __init__(self, draw: random.Random, objects: list[str]) -> None:
        self.draw = draw
        self.what = ""
        self.objects = objects

    def spoil(self, path: str, section: str | None = None) -> None:
        """Damages a file, or one section of it."""
        from pybtf.elf.image import ElfImage

        data, start, end = Path(path).read_bytes(), 0, None
        if section is not None:
            with ElfImage.open(path) as image:
                found = image.section(section)
                if found is not None and found.size:
                    start, end = found.offset, found.offset + found.size
        Path(path).write_bytes(damaged(self.draw, data, start, end, keep=section is not None))

    def part(self, path: str) -> str | None:
        """A random section of a file; now and then all of it."""
        from pybtf.elf.image import ElfImage

        if self.draw.random() < 0.2:
            return None
        with ElfImage.open(path) as image:
            return self.draw.choice([each.name for each in image.sections if each.size] or [""]) or None

    def forge(self, where: str) -> None:
        """Damaged values with a matching digest, and an index of the linked file that asks for them."""
        from pybtf.elf.image import ElfImage
        from pybtf.merging.pieces import block_digests, digest, payload_digest, values_at

        linked = Path("linked").read_bytes()
        if where == "linked":
            with ElfImage.open("linked") as image:
                index = image.section(".debug_btf")
                assert index is not None
                little, at = image.little, index.offset
            order = ">" if not little else "<"
            count, size, _, word = (unpack_from(f"{order}I", linked, at + each)[0] for each in (20, 64, 68, 72))
            start = at + 80 + (count * word + 7) // 8 * 8
            made = self.changed(linked, start, start + size, order)
            new = payload_digest(made[start : start + size])
            Path("linked").write_bytes(made[: at + 32] + new + made[at + 48 :])
            return
        with ElfImage.open(where) as image:
            section = image.section(".debug_btf_values")
            assert section is not None
            data, at, little = Path(where).read_bytes(), section.offset, image.little
        order = "<" if little else ">"
        size = unpack_from(f"{order}I", data, at + 4)[0]
        old = data[at + 8 : at + 24]
        start = at + values_at(size)
        made = self.changed(data, start, start + size, order)
        blocks = block_digests(made[start : start + size])
        new = digest(blocks)
        Path(where).write_bytes(made[: at + 8] + new + made[at + 24 : at + 32] + blocks + made[start:])
        Path("linked").write_bytes(linked.replace(old, new))

    def changed(self, data: bytes, start: int, end: int, order: str) -> bytes:
        """Values with damage, or with the digests of types exchanged."""
        from pybtf.core.codes import VALUES

        if self.draw.random() < 0.6:
            return damaged(self.draw, data, start, end, keep=True)
        made = bytearray(data)

        def word(number: int) -> int:
            return int(unpack_from(f"{order}I", data, start + 4 * number)[0])

        # The digests come after tags, functions and variables; the place is found by trying.
        at = start + 4 * (VALUES["head"] + 3 * word(VALUES["tags"]))
        for _ in range(self.draw.choice((1, 4, 32))):
            one, two = (self.draw.randrange(at, max(at + 1, end - 16)) // 4 * 4 + start % 4 for _ in range(2))
            if self.draw.random() < 0.5:
                made[one : one + 16], made[two : two + 16] = data[two : two + 16], data[one : one + 16]
            else:
                made[one : one + 16] = data[two : two + 16]
        return bytes(made[: len(data)])

    def archive(self, thin: bool) -> None:
        import struct

        def head(name: str, size: int) -> bytes:
            return f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{size:<10}`\n".encode()

        names = "".join(f"{each}/\n" for each in self.objects).encode()
        names += b"\n" * (len(names) % 2)
        start = 8 + 60 + 16 + 60 + len(names)
        table = struct.pack(">III", 2, start, start) + b"x\0y\0"
        data = (b"!<thin>\n" if thin else b"!<arch>\n") + head("/", len(table)) + table + head("//", len(names)) + names
        at = 0
        for each in self.objects:
            content = Path(each).read_bytes()
            data += head(f"/{at}", len(content)) + (b"" if thin else content + b"\n" * (len(content) % 2))
            at += len(each) + 2
        heads = [n for n in range(8, len(data) - 60) if data[n + 58 : n + 60] == b"`\n"]
        for _ in range(self.draw.choice((0, 1, 1, 3))):
            at = self.draw.choice(heads)
            data = damaged(self.draw, data, at, at + 80)
        Path("all.a").write_bytes(data)


def merged(case: Case, objects: tuple[str, ...] = (), store: str | None = None, cache: str | None = None) -> None:
    from pybtf.merging.linked import Sources, merge_file
    from pybtf.options import make_options

    jobs = case.draw.choice((1, 1, 1, 2))
    features = FEATURES + (",global_var" if case.draw.random() < 0.3 else "")
    merge_file("linked", make_options(features, jobs), Sources(objects, store, cache))


def by_values(case: Case) -> None:
    """Forged values in an object."""
    case.what = "values"
    where = case.draw.choice((*case.objects, *(["linked"] if Path("inline").exists() else [])))
    if where == "linked":
        shutil.copyfile("inline", "linked")
    case.forge(where)
    merged(case, tuple(case.objects) if case.draw.random() < 0.3 else ())


def by_index(case: Case) -> None:
    case.what = "index"
    there = [each for each in ("merged", "inline", "values") if Path(each).exists()]
    shutil.copyfile(case.draw.choice(there), "linked")
    case.spoil("linked", case.draw.choice((".debug_btf", ".debug_btf", ".symtab", None)))
    merged(case)


def by_section(case: Case) -> None:
    case.what = "section of values"
    case.spoil(case.draw.choice(case.objects), case.draw.choice((".debug_btf_values", ".debug_btf", None)))
    merged(case, tuple(case.objects) if case.draw.random() < 0.5 else ())


def by_archive(case: Case) -> None:
    case.what = "archive"
    case.archive(case.draw.random() < 0.4)
    merged(case, ("all.a",))


def by_cache(case: Case) -> None:
    case.what = "cache"
    shutil.copyfile("whole-cache", "cache")
    case.spoil("cache")
    merged(case, cache="cache")
    merged(case, cache="cache")


def by_store(case: Case) -> None:
    case.what = "store"
    files = sorted(path for path in Path("store").rglob("*") if path.is_file())
    if files:
        case.spoil(str(case.draw.choice(files)))
    for each in case.objects:
        Path(each).unlink()
    merged(case, store="store")


def by_object(case: Case) -> None:
    """A damaged object, or an archive of some, for `pybtf object`."""
    from pybtf.features import Features
    from pybtf.merging.encoding import encode_any
    from pybtf.merging.placing import Placing

    case.what = "object"
    objects = ["a.o", "b.o"]
    draw = case.draw
    for each in objects[: draw.choice((1, 2))]:
        case.spoil(each, case.part(each))
    if draw.random() < 0.3:
        case.objects = objects
        case.archive(draw.random() < 0.3)
        objects = ["all.a"]
    way = draw.randrange(3)
    how = Placing(draw.random() < 0.5, way == 1, "store" if way == 2 else None)
    before = {each: Path(each).read_bytes() for each in ("a.o", "b.o", *objects)}
    from pybtf.errors import PybtfError

    try:
        for each in objects:
            encode_any(each, Features.parse(FEATURES), how)
            encode_any(each, Features.parse(FEATURES), how)
    except PybtfError:
        if objects == ["all.a"] and before["all.a"][:8] != b"!<thin>\n":
            assert Path("all.a").read_bytes() == before["all.a"], "an archive was changed"
        raise


def by_compilers(case: Case) -> None:
    """BTF written by compilers."""
    from pybtf.merging.compiler_btf import merge_compiled
    from pybtf.options import make_options

    case.what = "BTF of compilers"
    where = case.draw.choice((*case.objects, "linked"))
    case.spoil(where, case.draw.choice((".BTF", ".BTF", ".BTF", None)))
    objects = tuple(case.objects) if where != "linked" or case.draw.random() < 0.3 else ()
    merge_compiled("linked", make_options(FEATURES + ",global_var", case.draw.choice((1, 2))), objects)


WAYS: tuple[Callable[[Case], None], ...] = (
    by_values, by_values, by_values, by_index, by_section, by_archive, by_cache, by_store, by_object, by_object,
)  # fmt: skip


def unpacked(scratch: Path) -> tuple[list[Path], list[Path]]:
    """The builds: with values made by pybtf, and with BTF of compilers."""
    from pybtf.features import Features
    from pybtf.merging.encoding import encode_object
    from pybtf.merging.linked import Sources, merge_file
    from pybtf.merging.placing import Placing
    from pybtf.options import make_options

    for name in ("objects", "compiler_btf"):
        with tarfile.open(ROOT / "fixtures" / name / "objects.tar.xz") as archive:
            archive.extractall(scratch / name, filter="data")
    ours = sorted(path.parent for path in (scratch / "objects").rglob("merged"))
    for folder in ours:
        os.chdir(folder)
        shutil.copyfile("merged", "linked")
        merge_file("merged", make_options(FEATURES, 1), Sources(cache="whole-cache"))
        for each in ("a.o", "b.o"):
            shutil.copyfile(each, "x.o")
            encode_object("x.o", Features.parse(FEATURES), Placing(strip=True, store="store"))
            Path("x.o").unlink()
    theirs = sorted({path.parent for path in (scratch / "compiler_btf").rglob("*.o")})
    return ours, theirs


def work(seconds: float, seed: str, only: int | None) -> int:
    """Cases until the time is up, in this process."""
    from pybtf.errors import InternalError, PybtfError

    end, number, done = time.monotonic() + seconds, only or 0, Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        ours, theirs = unpacked(Path(scratch))
        folder = Path(scratch) / "case"
        while time.monotonic() < end:
            os.chdir(scratch)
            shutil.rmtree(folder, ignore_errors=True)
            draw = random.Random(f"{seed}/{number}")
            compilers = bool(theirs) and draw.random() < 0.15
            shutil.copytree(draw.choice(theirs if compilers else ours), folder)
            os.chdir(folder)
            case = Case(draw, ["a.o", "b.o"] if compilers else ["sa.o", "sb.o"])
            way = by_compilers if compilers else draw.choice(WAYS)
            begin, answer = time.monotonic(), "made"
            print(f"{number} {way.__name__}", file=sys.stderr) if only is not None else None
            try:
                try:
                    way(case)
                except PybtfError as error:
                    answer = "refused"
                    if isinstance(error, InternalError) or error.exit_code != 1 or "\n" in str(error):
                        raise
                    if only is not None:
                        print(error)
                if time.monotonic() - begin > PATIENCE:
                    raise TimeoutError(f"{time.monotonic() - begin:.0f} s")
            except BaseException:
                kept = KEPT / f"merge-{seed}-{number}"
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                print(f"case {number} of seed {seed}: {way.__name__}, kept in {kept}", flush=True)
                raise
            done[f"{case.what} {answer}"] += 1
            number += 1
            if only is not None:
                break
            (Path(scratch) / "at").write_text(str(number))
            if number % 1000 == 0:
                print(number, dict(sorted(done.items())), flush=True)
        os.chdir(ROOT)
    print(f"{number} cases, nothing found: {dict(sorted(done.items()))}", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", default=str(int(time.time())), help="default: the time")
    parser.add_argument("--case", type=int, help="this one alone")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work or options.plain:
        return work(options.seconds, options.seed, options.case)
    from tools.fuzz import fuzz

    fuzz.build()
    command = [sys.executable, "-m", "tools.fuzz.fuzz_merge", "--work", "--seconds", str(options.seconds)]
    command += ["--seed", options.seed, *(["--case", str(options.case)] if options.case is not None else [])]
    return 1 if subprocess.run(command, env=fuzz.environment(), cwd=ROOT, check=False).returncode else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
