"""Compares pybtf with the reference on modules of random programs, each on a base of one of several sorts.

    python -m tools.compare.split_compare [--seeds 0:100]

Each seed is a program of tools/generate/randprog.py. Some or all of its units are the base: encoded with features of
their own; encoded one by one and appended without de-duplication; or as a compiler writes BTF (gcc -gbtf, clang for
BPF). The others are the module. It is encoded on the base with two lists of features, as split BTF and with a distilled
base. The exit status is 1 if anything differs. If the reference writes nothing, a clear error from pybtf counts as the
same. If a distilled base is empty, the two differ as docs/differences.md says: such cases are counted and not compared.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

from tools.generate import randprog
from tools.golden import toolchain
from tools.judge import btfdiff, oracle

LISTS = (oracle.USUAL, "all", "default,true_signature", "all,global_var", "encode_force,var,float,decl_tag", "default")
SORTS = ("encoded", "encoded", "encoded", "appended", "bpf", "gbtf")
COMPILERS = {"bpf": ("clang", "--target=bpf", "-g", "-O1"), "gbtf": ("gcc", "-gbtf", "-O1")}


def base_of(program: randprog.Program, sort: str, folder: Path, rng: Random) -> bytes:
    """BTF of a program. Raises `BuildError`."""
    import pybtf
    from pybtf.btf.files import read_btf

    program.make(folder, folder / "base.elf")
    if sort == "encoded":
        return bytes(pybtf.encode(folder / "base.elf", features=rng.choice(LISTS)).data)
    if sort == "appended":
        builder = pybtf.Builder()
        for number in range(len(program.units)):
            builder.append(pybtf.encode(folder / f"u{number}.o", features=rng.choice(LISTS)).btf)
        return builder.to_bytes()
    toolchain.call([*COMPILERS[sort], "-w", "-c", "u0.c", "-o", "base.o"], folder)
    return bytes(read_btf(folder / "base.o")[0])


def ours(module: Path, features: str, base: Path) -> dict[str, bytes] | str:
    """What pybtf makes from a module, by section; or its refusal."""
    import pybtf

    try:
        made = pybtf.encode(module, features=features, base=base, force_base=True, jobs=1)
    except pybtf.PybtfError as error:
        return str(error)
    below = {} if made.base_data is None else {".BTF.base": made.base_data}
    return {".BTF": bytes(made.data), **below}


def theirs(module: Path, features: str, base: Path) -> dict[str, bytes]:
    """The same for the reference; empty if it writes nothing."""
    if "distilled_base" in features:
        found = zip((".BTF", ".BTF.base"), oracle.run_in_place(module, features, base), strict=True)
    else:
        found = zip((".BTF",), [oracle.run(module, features, options={"btf_base": base})], strict=True)
    return {name: answer.data for name, answer in found if answer.data is not None}


def difference(found: dict[str, bytes] | str, expected: dict[str, bytes]) -> str:
    """The difference, or an empty text."""
    if isinstance(found, str):
        return f"pybtf: {found}" if expected else ""
    if found.keys() != expected.keys():
        return f"pybtf made {', '.join(found)}; the reference {', '.join(expected) or 'nothing'}"
    causes = {name: btfdiff.explain(data, expected[name]) for name, data in found.items()}
    return "; ".join(f"{name}: {cause}" for name, cause in causes.items() if cause)


def is_empty(base: bytes | None) -> bool:
    """Whether BTF has no type."""
    return base is not None and int.from_bytes(base[12:16], "little") == 0


def cases(seed: int, folder: Path) -> Iterator[tuple[str, str | None]]:
    """(what was compared, cause) for a seed; the cause is None if it was not compared. Raises `BuildError`."""
    rng = Random(f"split {seed}")
    program = randprog.generate(seed)
    order = rng.sample(range(len(program.units)), len(program.units))
    cut = rng.randrange(1, len(order))
    sort = rng.choice(SORTS)
    below = program.only(*(order if rng.random() < 0.3 else order[:cut]))
    above = program.only(*order[cut:])
    above = replace(above, builds=[replace(build, form="obj") for build in above.builds])
    for name in ("below", "above"):
        (folder / name).mkdir()
    base, module = folder / "base.btf", folder / "above" / "module.elf"
    base.write_bytes(base_of(below, sort, folder / "below", rng))
    above.make(folder / "above", module)
    for features in rng.sample(LISTS, 2):
        for more in ("", ",distilled_base"):
            given = f"{features}{more},reproducible_build"
            label = f"{seed}: on a base that was {sort}, {features}{more}"
            expected = theirs(module, given, base)
            if is_empty(expected.get(".BTF.base")):
                yield label, None
            else:
                yield label, difference(ours(module, given, base), expected)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:100", metavar="FROM:TO")
    first, _, last = parser.parse_args().seeds.partition(":")
    counts: Counter[str] = Counter()
    for seed in range(int(first), int(last)):
        with tempfile.TemporaryDirectory(prefix="pybtf-split-") as scratch:
            try:
                for label, cause in cases(seed, Path(scratch)):
                    counts["differ" if cause else "same" if cause is not None else "empty"] += 1
                    if cause:
                        print(f"{label}: {cause}", flush=True)
            except toolchain.BuildError as error:
                counts["unbuildable"] += 1
                print(f"{seed}: {str(error).splitlines()[-1]}", flush=True)
    left = f"{counts['empty']} with an empty distilled base, {counts['unbuildable']} programs unbuildable"
    print(f"{counts['same']} same, {counts['differ']} differ, {left}")
    return 1 if counts["differ"] or not counts["same"] else 0


if __name__ == "__main__":
    sys.exit(main())
