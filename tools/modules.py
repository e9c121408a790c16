"""Compares pybtf with the reference on the modules of a real kernel, byte for byte.

    python tools/modules.py                                all modules as split BTF, on the base made from vmlinux
    python tools/modules.py --limit 50                     50 of them, spread evenly
    python tools/modules.py --distilled 100 --standalone 100

The base is what the reference makes of the kernel's vmlinux. `--distilled N` adds N modules with the feature
`distilled_base`, `--standalone N` adds N without a base. pybtf reads the base once and encodes in this process,
`--threads` modules at a time; a module that differs is said in a line. The reference's answers are kept in the
cache. Exit status: 1 if any output differs or is missing, else 0.
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

import btfdiff
import oracle
import reference

KINDS = ("split", "distilled", "standalone")


@dataclass(frozen=True)
class Question:
    """One module, encoded one way."""

    kind: str
    path: Path


@dataclass(frozen=True)
class Result:
    """One comparison: CPU seconds of pybtf, bytes of its output; `cause` is empty if the bytes are the same."""

    question: Question
    seconds: float
    size: int
    cause: str


def base_file(name: str) -> Path:
    """A file with the BTF that the reference makes of the kernel."""
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


def golden(question: Question, base: Path) -> dict[str, bytes]:
    """The reference's BTF by section."""
    if question.kind == "distilled":
        return oracle.ask_in_place(question.path, f"{oracle.USUAL},distilled_base", base)
    answer = oracle.ask(question.path, oracle.USUAL, base=base if question.kind == "split" else None)
    return {} if answer.data is None else {".BTF": answer.data}


def ours(question: Question, base: Any) -> dict[str, bytes]:
    """pybtf's BTF by section. `base`: a `pybtf.Base`."""
    import pybtf

    features = oracle.USUAL + (",distilled_base" if question.kind == "distilled" else "")
    encoded = pybtf.encode(
        question.path, features=features, jobs=1, base=None if question.kind == "standalone" else base
    )
    sections = {".BTF": bytes(encoded.data)}
    if encoded.base_data is not None:
        sections[".BTF.base"] = encoded.base_data
    return sections


def compare(question: Question, base_path: Path, base: Any) -> Result:
    """Asks both. Whatever pybtf raises is the cause."""
    expected = golden(question, base_path)
    start = time.thread_time()
    try:
        found = ours(question, base)
    except Exception as error:
        return Result(question, 0.0, 0, f"pybtf: {type(error).__name__}: {error}")
    spent = time.thread_time() - start
    if found.keys() != expected.keys():
        cause = f"pybtf made {', '.join(found)}; the reference {', '.join(expected) or 'nothing'}"
        return Result(question, spent, 0, cause)
    causes = [
        f"{name}: {difference}"
        for name, data in found.items()
        if (difference := btfdiff.explain(data, expected[name]))
    ]
    return Result(question, spent, sum(map(len, found.values())), "; ".join(causes))


def questions(paths: list[Path], counts: dict[str, int]) -> Iterator[Question]:
    for kind in KINDS:
        for path in spread(paths, counts[kind]):
            yield Question(kind, path)


def table(results: list[Result]) -> str:
    """One row a kind."""
    rows = [f"{'':<12}{'modules':>9}{'same':>9}{'differ':>9}{'bytes':>13}{'CPU ms each':>13}"]
    for kind in KINDS:
        of_kind = [result for result in results if result.question.kind == kind]
        if not of_kind:
            continue
        wrong = sum(bool(result.cause) for result in of_kind)
        size = sum(result.size for result in of_kind)
        each = 1000 * sum(result.seconds for result in of_kind) / len(of_kind)
        rows.append(
            f"{kind:<12}{len(of_kind):>9}{len(of_kind) - wrong:>9}{wrong:>9}{size:>13}{each:>13.1f}"
        )
    return "\n".join(rows)


def run(name: str, counts: dict[str, int], threads: int, strict: bool) -> int:
    """Compares; prints what differs as it is known, then the table. Returns the exit status."""
    import pybtf

    try:
        base_path = base_file(name)
        paths = reference.modules(name)
    except reference.Unavailable as reason:
        print(f"{name} skipped: {reason}")
        return 1 if strict else 0
    base = pybtf.Base.from_file(base_path)
    results = []
    with ThreadPoolExecutor(threads) as pool:
        for result in pool.map(lambda question: compare(question, base_path, base), questions(paths, counts)):
            results.append(result)
            if result.cause:
                print(
                    f"{result.question.path.name} {result.question.kind} DIFFERS: {result.cause}", flush=True
                )
    print(table(results))
    return 1 if any(result.cause for result in results) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kernel", choices=list(reference.KERNELS), default="6.1-amd64")
    parser.add_argument("--limit", type=int, default=1 << 30, metavar="N", help="modules as split BTF")
    parser.add_argument("--distilled", type=int, default=0, metavar="N")
    parser.add_argument("--standalone", type=int, default=0, metavar="N")
    parser.add_argument("--threads", type=int, default=2, metavar="N")
    parser.add_argument("--strict", action="store_true", help="what is skipped is a failure")
    options = parser.parse_args()
    counts = {"split": options.limit, "distilled": options.distilled, "standalone": options.standalone}
    return run(options.kernel, counts, options.threads, options.strict)


if __name__ == "__main__":
    sys.exit(main())
