"""Compares pybtf with the reference on the modules of a real kernel, byte for byte.

    python -m tools.compare.modules                 all modules as split BTF, on the base from vmlinux
    python -m tools.compare.modules --limit 50      50 of them, spread evenly
    python -m tools.compare.modules --distilled 100 --standalone 100

The base is what the reference makes from the kernel's vmlinux. Each module is encoded twice: in a batch with one base
for all, and singly, as by a run of its own that reads the base again (`--no-singly` leaves this out). `--distilled N`
adds N modules with the feature `distilled_base`, `--standalone N` adds N without a base. A line is printed for each
module that differs. The reference's answers are kept in the cache. Exit status: 1 if any output differs or is missing,
else 0.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.judge import btfdiff, oracle, reference


@dataclass(frozen=True)
class Kind:
    """A way to encode modules: a row of the table."""

    name: str
    features: str = oracle.USUAL
    base: bool = True
    batch: bool = True


BATCH = Kind("split, in batch")
SINGLY = Kind("split, singly", batch=False)
DISTILLED = Kind("distilled", features=f"{oracle.USUAL},distilled_base")
STANDALONE = Kind("stand-alone", base=False)


@dataclass
class Row:
    """The result for one kind: `size` is that of pybtf's output in bytes, `seconds` are pybtf's CPU seconds."""

    kind: Kind
    modules: int = 0
    wrong: int = 0
    size: int = 0
    seconds: float = 0.0


def base_file(name: str) -> Path:
    """A file with the BTF that the reference makes from the kernel."""
    answer = oracle.ask(reference.kernel(name), oracle.USUAL)
    if answer.data is None:
        raise reference.Unavailable(f"{name}: the reference wrote no base: {answer.stderr.strip()}")
    path = reference.cache_root() / "bases" / f"{name}.btf"
    if not path.exists() or path.read_bytes() != answer.data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(answer.data)
    return path


def spread(paths: list[Path], count: int) -> list[Path]:
    """`count` of the paths, at equal distances."""
    if count >= len(paths):
        return paths
    return [paths[i * len(paths) // count] for i in range(count)]


def golden(path: Path, kind: Kind, base: Path) -> dict[str, bytes]:
    """The reference's BTF by section."""
    if kind is DISTILLED:
        return oracle.ask_in_place(path, kind.features, base)
    answer = oracle.ask(path, kind.features, base=base if kind.base else None)
    return {} if answer.data is None else {".BTF": answer.data}


def ours(
    paths: list[Path], kind: Kind, base_path: Path, base: Any, jobs: int
) -> Iterator[dict[str, bytes] | Exception]:
    """pybtf's BTF by section for each of the paths, or what it raised. `base`: a `pybtf.Base`."""
    import pybtf

    if kind.batch:
        used = base if kind.base else None
        outcomes = pybtf.encode_many(paths, features=kind.features, base=used, standalone=not kind.base, jobs=jobs)
        for outcome in outcomes:
            try:
                yield sections(outcome.get())
            except (pybtf.PybtfError, MemoryError) as error:
                yield error
        return
    for path in paths:
        try:
            yield sections(pybtf.encode(path, features=kind.features, base=base_path, jobs=jobs))
        except (pybtf.PybtfError, MemoryError) as error:
            yield error


def sections(encoded: Any) -> dict[str, bytes]:
    made = {".BTF": bytes(encoded.data)}
    if encoded.base_data is not None:
        made[".BTF.base"] = encoded.base_data
    return made


def difference(found: dict[str, bytes] | Exception, expected: dict[str, bytes]) -> str:
    """The difference, or an empty text."""
    if isinstance(found, Exception):
        return f"pybtf: {type(found).__name__}: {found}"
    if found.keys() != expected.keys():
        return f"pybtf made {', '.join(found)}; the reference {', '.join(expected) or 'nothing'}"
    causes = {name: btfdiff.explain(data, expected[name]) for name, data in found.items()}
    return "; ".join(f"{name}: {cause}" for name, cause in causes.items() if cause)


def compare(paths: list[Path], kind: Kind, base_path: Path, base: Any, jobs: int) -> Row:
    """Encodes each module with both, and prints what differs. The reference's time does not count."""
    row = Row(kind)
    with ThreadPoolExecutor(2) as pool:
        expected = list(pool.map(lambda path: golden(path, kind, base_path), paths))
    start = time.process_time()
    found = list(ours(paths, kind, base_path, base, jobs))
    row.seconds = time.process_time() - start
    for path, mine, theirs in zip(paths, found, expected, strict=True):
        row.modules += 1
        row.size += sum(map(len, mine.values())) if isinstance(mine, dict) else 0
        cause = difference(mine, theirs)
        if cause:
            row.wrong += 1
            print(f"{path.name} {kind.name} DIFFERS: {cause}", flush=True)
    return row


def table(rows: list[Row]) -> str:
    lines = [f"{'':<16}{'modules':>9}{'same':>9}{'differ':>9}{'bytes':>13}{'CPU ms each':>13}"]
    for row in rows:
        each = 1000 * row.seconds / max(1, row.modules)
        same = row.modules - row.wrong
        lines.append(f"{row.kind.name:<16}{row.modules:>9}{same:>9}{row.wrong:>9}{row.size:>13}{each:>13.1f}")
    return "\n".join(lines)


def run(name: str, counts: dict[Kind, int], jobs: int, strict: bool) -> int:
    """Compares, prints differences as soon as they are known, then the table. Returns the exit status."""
    import pybtf

    try:
        base_path = base_file(name)
        paths = reference.modules(name)
        base = pybtf.Base.from_file(base_path)
        rows = [compare(spread(paths, count), kind, base_path, base, jobs) for kind, count in counts.items() if count]
    except reference.Unavailable as reason:
        print(f"{name} skipped: {reason}")
        return 1 if strict else 0
    print(table(rows))
    return 1 if any(row.wrong for row in rows) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kernel", choices=list(reference.KERNELS), default="6.1-amd64")
    parser.add_argument("--limit", type=int, default=1 << 30, metavar="N", help="modules as split BTF")
    parser.add_argument("--no-singly", action="store_true", help="as split BTF in batch only")
    parser.add_argument("--distilled", type=int, default=0, metavar="N")
    parser.add_argument("--standalone", type=int, default=0, metavar="N")
    parser.add_argument("-j", "--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--strict", action="store_true", help="what is skipped is a failure")
    options = parser.parse_args()
    counts = {
        BATCH: options.limit,
        SINGLY: 0 if options.no_singly else options.limit,
        DISTILLED: options.distilled,
        STANDALONE: options.standalone,
    }
    return run(options.kernel, counts, options.jobs, options.strict)


if __name__ == "__main__":
    sys.exit(main())
