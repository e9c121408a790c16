"""Long runs of random damage to BTF for the commands that read it, with sanitizers. See docs/fuzzing.md.

    python -m tools.fuzz.fuzz_dump [--seconds N] [--seed S] [--workers N]

Builds as fuzz.py does, then damages random BTF (randbtf.py) and prints it in all formats, also as split BTF
and with types chosen, until the time is up. A crash, a report of a sanitizer, an exception that is no InputError or a
text that takes longer than 10 s ends the run with status 1; the input is kept in build/fuzz-found.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from tools.generate import randbtf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pybtf.btf.reader import BTF

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "fuzz-found"
PATIENCE = 10
BYTES = (0, 1, 0x7F, 0x80, 0xFF)
WORDS = (0, 1, 2, 3, 0x7F, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def damaged(chooser: random.Random, source: bytes) -> bytes:
    """Some bytes changed, or words: to ids, to kinds with few elements, to what limits are made of."""
    data = bytearray(source)
    for _ in range(chooser.choice((1, 1, 2, 4, 16))):
        if chooser.random() < 0.5:
            data[chooser.randrange(len(data))] = chooser.choice((*BYTES, chooser.randrange(256)))
            continue
        kind = chooser.randrange(1, 20) << 24 | chooser.randrange(8)
        word = chooser.choice((chooser.randrange(300), chooser.choice(WORDS), chooser.randrange(1 << 32), kind))
        at = 24 + 4 * chooser.randrange((len(data) - 24) // 4)
        data[at : at + 4] = word.to_bytes(4, "little")
    return bytes(data)


def look_at(data: bytes) -> None:
    """Show all types, also those behind one that is refused; draw; look for duplicates; add up sizes."""
    from pybtf.btf.duplicates import duplicates
    from pybtf.btf.kind_numbers import STRUCT, UNION
    from pybtf.btf.reader import BTF
    from pybtf.cli.layout_svg import layout_svg
    from pybtf.cli.treemap import treemap
    from pybtf.core.btf.type_view import View
    from pybtf.core.show.show_graph import TypeGraph
    from pybtf.core.show.show_types import Shower
    from pybtf.errors import InputError

    try:
        btf = BTF.from_bytes(data)
        view = View(data, "x")
    except InputError:
        return
    chooser = random.Random(data)

    def shower() -> Shower:
        """With a set of options of show."""
        return Shower(view, *(chooser.random() < 0.3 for _ in range(5)))

    one = shower()
    for id in range(1, len(view)):
        try:
            one.text(id)
            one.type_name(id)
            if (of := one.behind(id)) and view.kind(of) in (STRUCT, UNION):
                one.sums(of)
                one.members(of)
            if view.kind(id) == STRUCT:
                one.packable(id)
                one.reorganized(id, chooser.random() < 0.5)
        except InputError:
            one = shower()
    for pointers in (False, True):
        with contextlib.suppress(InputError):
            Shower(view).users(b"" if len(view) < 2 else view.name_of(chooser.randrange(1, len(view))), pointers)
    with contextlib.suppress(InputError):
        plain = Shower(view)
        structs = plain.composites()
        layout_svg(view, plain, chooser.sample(structs, min(2, len(structs))), chooser.random() < 0.5)
    treemap(view, "x", chooser.random() < 0.5)
    graph = TypeGraph(view)
    assert sum(graph.records()) == view.sizes()[1]
    assert max(graph.retained(), default=0) <= view.sizes()[1]
    graph.strings()
    try:
        duplicates(btf)
        list(btf)
    except InputError:
        pass
    make_of(btf, data)


def make_of(btf: BTF, data: bytes) -> None:
    """Append it to itself and de-duplicate that; cut it down to what programs need, be it kernel or program; decode."""
    from pybtf.btf.builder import Builder
    from pybtf.btf.core_relocation import Relocator, Target
    from pybtf.btf.ext import Relocation, RelocationKind
    from pybtf.btf.min_core import MinCore
    from pybtf.btf.value_text import as_text
    from pybtf.btf.values import Values
    from pybtf.errors import InputError

    chooser = random.Random(data)
    try:
        builder = Builder()
        builder.append(btf)
        split = Builder(btf)
        split.append(btf)
        split.distill()
        builder.dedup()
        builder.to_btf()
    except InputError:
        pass
    relocator, needs = Relocator(btf, Target(btf)), MinCore(btf)
    for _ in range(20):
        way = ":".join(["0", *(str(chooser.randrange(4)) for _ in range(chooser.randrange(4)))])
        kind = chooser.choice(list(RelocationKind))
        relocation = Relocation("x", 0, chooser.randrange(btf.end_id), way, kind)
        with contextlib.suppress(InputError):
            needs.keep(relocation, relocator.resolve(relocation).found)
    with contextlib.suppress(InputError):  # of records that are read only now
        needs.to_bytes()
    values = Values(btf, 16)
    for _ in range(20):
        try:
            id = chooser.randrange(btf.end_id)
            for _ in as_text("x", values.of(id, chooser.randbytes(chooser.choice((0, 4, 64, 4096))))):
                pass
        except InputError:
            pass


def compare(data: bytes, other: bytes) -> None:
    """Say what changed between two BTFs, and that nothing did between one and itself."""
    from pybtf.core.btf.type_view import View
    from pybtf.differences.compare import Differences
    from pybtf.differences.text import lines, markdown, to_dict
    from pybtf.errors import InputError

    try:
        old, new = View(data, "x"), View(other, "y")
    except InputError:
        return
    try:
        found = Differences(old, new, names=len(data) % 2 == 0)
        lines(found.changes, found.declaration, True)
        markdown(found.changes, found.declaration)
        for change in found.changes:
            to_dict(change, found.declaration)
    except InputError:
        pass
    assert not Differences(old, View(data, "x")).changes


def work(seed: str, seconds: float) -> int:
    """One worker, in a process whose core is that with sanitizers. The input of the moment lies in a file."""
    from pybtf.core.btf.type_view import View
    from pybtf.core.dump.dump_header import dump_header
    from pybtf.core.dump.dump_types import dump_types
    from pybtf.errors import InputError

    chooser = random.Random(seed)
    sources = [randbtf.RandomBtf(chooser.randrange(1 << 30)).make() for _ in range(100)]
    case = KEPT / f"dump-{seed}.btf"
    count = printed = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = damaged(chooser, chooser.choice(sources))
        case.write_bytes(data)
        start = time.monotonic()
        try:
            view = View(data, "x", chooser.choice(sources)) if chooser.random() < 0.2 else View(data, "x")
            chosen = [chooser.randrange(1, len(view))] if len(view) > 1 and chooser.random() < 0.2 else []
            for sort in (True, False):
                dump_header(view, chosen, sort)
            dump_types(view, len, chosen)
            dump_types(view, len, chosen, True, chooser.random() < 0.5)
            printed += 1
        except InputError:
            pass
        look_at(data)
        compare(data, damaged(chooser, data) if chooser.random() < 0.5 else chooser.choice(sources))
        if time.monotonic() - start > PATIENCE:
            print(f"{case}: takes too long")
            return 1
        count += 1
    case.unlink()
    print(f"{count} cases, {printed} printed", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", default=str(int(time.time())), help="default: the time")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.seed, options.seconds)
    from tools.fuzz import fuzz

    fuzz.build()
    KEPT.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "tools.fuzz.fuzz_dump", "--work", "--seconds", str(options.seconds)]
    workers = [
        subprocess.Popen([*command, "--seed", f"{options.seed}-{number}"], env=fuzz.environment())
        for number in range(options.workers)
    ]
    statuses = [worker.wait() for worker in workers]
    for number, status in enumerate(statuses):
        if status:
            print(f"status {status}; kept: {KEPT / f'dump-{options.seed}-{number}.btf'}")
    return 1 if any(statuses) else 0


if __name__ == "__main__":
    sys.exit(main())
