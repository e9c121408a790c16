"""Compares pybtf with the reference on real kernels, byte for byte.

    python -m tools.compare.conformance --short     one kernel, the features of kernel builds, 1 and 2 workers
    python -m tools.compare.conformance             five kernels, those features and their neighbours, 1, 2, 3, 8
    python -m tools.compare.conformance --kernels 6.1-amd64 6.12-s390x --jobs 1 2 --features usual global_var

The neighbours of the usual feature list: the sets `default` and `all`, `global_var` added, and each feature
removed in turn. Kernels and the reference come from tools/judge/reference.py; for one that is not available a line says
"skipped: reason". This is a failure only with --strict and with --ci; with --ci, the status is 77 if the archive cannot
be reached. The reference's outputs are kept in the cache, by kernel, features and version of the reference. Exit
status: 1 if any output differs or is missing, else 0.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tools.judge import btfdiff, oracle, reference, subject

USUAL = "usual"
SKIPPED = 77  # exit status: nothing could be compared
DEFAULT_KERNELS = ("6.1-amd64", "6.12-amd64", "6.12-arm64", "6.12-s390x", "6.12-armhf")


def feature_sets() -> dict[str, str]:
    """Label -> feature list: the usual one, the sets, with `global_var`, and with each single feature removed."""
    names = oracle.USUAL.split(",")
    sets = {USUAL: oracle.USUAL, "default": "default", "all": "all", "global_var": f"{oracle.USUAL},global_var"}
    for gone in names:
        sets[f"no_{gone}"] = ",".join(name for name in names if name != gone)
    return sets


@dataclass(frozen=True)
class Result:
    """One comparison; `cause` is empty if the bytes are the same."""

    kernel: str
    features: str
    jobs: int
    seconds: float
    size: int
    cause: str

    def __str__(self) -> str:
        verdict = f"same, {self.size} bytes" if not self.cause else f"DIFFERS: {self.cause}"
        return f"{self.kernel:<12} {self.features:<22} -j{self.jobs:<2} {self.seconds:6.2f} s  {verdict}"


def compare(name: str, path: Path, label: str, features: str, jobs: int) -> Result:
    """Encodes a kernel with both (the reference's answer comes from the cache, if it is there) and compares."""
    golden = oracle.ask(path, features)
    start = time.monotonic()
    ours = subject.encode(path, features, jobs, timeout=1800)
    spent = time.monotonic() - start
    if golden.data is None:
        cause = f"the reference wrote nothing: {golden.stderr.strip()}"
    elif ours.data is None:
        cause = f"pybtf: {ours.problem}"
    else:
        cause = btfdiff.explain(ours.data, golden.data)
    return Result(name, label, jobs, spent, len(ours.data or b""), cause)


def run(kernels: list[str], labels: list[str], jobs: list[int], strict: bool) -> int:
    """All combinations: prints a line for each as soon as it is known. Returns the exit status."""
    sets = feature_sets()
    compared = failed = skipped = 0
    for name in kernels:
        try:
            path = reference.kernel(name)
            reference.pahole()
        except reference.Unavailable as reason:
            print(f"{name:<12} skipped: {reason}", flush=True)
            skipped += 1
            continue
        for label in labels:
            for workers in jobs:
                result = compare(name, path, label, sets[label], workers)
                print(result, flush=True)
                compared += 1
                failed += bool(result.cause)
    print(f"{compared} compared, {compared - failed} the same, {failed} differ, {skipped} kernels skipped")
    if failed or compared == 0:
        return 1 if failed else SKIPPED * strict
    return 1 if strict and skipped else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--strict", action="store_true", help="what is skipped is a failure")
    parser.add_argument("--ci", action="store_true", help="the same, unless the archive can't be reached: status 77")
    parser.add_argument("--kernels", nargs="+", metavar="NAME", help="as tools/judge/reference.py knows them")
    parser.add_argument("--features", nargs="+", choices=list(feature_sets()))
    parser.add_argument("--jobs", nargs="+", type=int)
    options = parser.parse_args()
    for name in options.kernels or ():
        try:
            reference.known(name)
        except reference.Unavailable as reason:
            parser.error(str(reason))
    kernels = options.kernels or (["6.1-amd64"] if options.short else list(DEFAULT_KERNELS))
    labels = options.features or ([USUAL] if options.short else list(feature_sets()))
    jobs = options.jobs or ([1, 2] if options.short else [1, 2, 3, 8])
    status = run(kernels, labels, jobs, options.strict or options.ci)
    if options.ci and status == SKIPPED:
        return 1 if reference.reachable() else SKIPPED
    return status


if __name__ == "__main__":
    sys.exit(main())
