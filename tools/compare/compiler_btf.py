"""Finds where BTF written by compilers differs from the DWARF, in files that have both.

    python -m tools.compare.compiler_btf [--features LIST] [--show N] FILE...

Each FILE is linked, or joined by `ld -r`, from objects that were compiled with `gcc -g -gbtf`. The result of `pybtf
merge --compiler-btf` is compared with that of `pybtf encode`, by the meaning of types, in any order. For each kind, a
line says how many only one side has; `--show N` prints N of each, functions by name.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from pybtf.merging.compiler_btf import merge_compiled
from pybtf.options import make_options
from pybtf.pipeline.passes import encode_file
from tests.builders.meaning import meanings


def tell(title: str, found: Counter[Any], show: int) -> None:
    """One side's own types, by kind."""
    kinds: dict[str, list[str]] = {}
    for each in found.elements():
        kinds.setdefault(each[0], []).append(each[1] or str(each[2:]))
    for kind, names in sorted(kinds.items()):
        print(f"  only in {title}: {len(names):,} {kind.upper()}")
        for name in sorted(names)[:show]:
            print(f"    {name[:200]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--features", default="default")
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("files", nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    options = make_options(arguments.features, 1)
    for path in arguments.files:
        merged, encoded = merge_compiled(path, options), encode_file(path, options)
        ours, theirs = meanings(bytes(merged.data)), meanings(bytes(encoded.data))
        same = (ours & theirs).total()
        units = merged.report.units.kept, encoded.report.units.kept
        print(f"{path}: {units[0]:,} pieces, {units[1]:,} units")
        print(f"  {ours.total():,} types, {theirs.total():,} of the DWARF, {same:,} the same")
        for name, report in (("compilers' BTF", merged.report), ("the DWARF", encoded.report)):
            print(f"  {name}: {report.functions.kept:,} functions, left out {report.functions.left_out}")
        tell("compilers' BTF", ours - theirs, arguments.show)
        tell("the DWARF", theirs - ours, arguments.show)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
