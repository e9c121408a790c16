"""Compares `pybtf.Builder`'s add_* with libbpf's btf__add_*: what is refused, ids, and bytes.

    PYBTF_REFERENCE_ROOT=... python -m tools.judge.adders_oracle.compare --seeds 0:300
    PYBTF_REFERENCE_ROOT=... python -m tools.judge.adders_oracle.compare --record     write fixtures/adders.json

Calls are random, some with odd arguments. libbpf adds members one by one, the Builder a struct with its members: if
libbpf refuses a part of a struct, the Builder must refuse the whole. Needs a C compiler.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.builders.adders import play
from tools.judge.dedup_oracle import reference

HERE = Path(__file__).resolve().parent

FIXTURE = HERE.parents[2] / "fixtures" / "adders.json"
Call = list[str | int]


def oracle(program: Path, calls: list[Call], out: Path) -> list[int]:
    """What each call returns; the BTF is in `out`."""
    loader = [str(reference.root() / reference.LOADER), "--library-path", str(reference.root() / reference.LIBRARIES)]
    text = "".join(" ".join(str(word) if word != "" else "''" for word in call) + "\n" for call in calls)
    run = subprocess.run([*loader, str(program), str(out)], input=text, capture_output=True, text=True, check=True)
    return [int(line) for line in run.stdout.split()]


def groups(seed: int) -> list[list[Call]]:
    """Groups of calls, each for a type and its parts."""
    r = random.Random(seed)

    def odd(usual: list[int], others: list[int]) -> int:
        return r.choice(usual if r.random() < 0.9 else others)

    def name() -> str:
        return r.choice(["a", "b", "long_name", "x_1", "struct_y"]) if r.random() < 0.93 else ""

    def id() -> int:
        return odd(list(range(12)), [-1, 99, 0x7FFFFFFF, -5])

    found: list[list[Call]] = []
    for _ in range(r.randint(1, 25)):
        what = r.randrange(19)
        parts = range(r.choice([0, 1, 2, 5]))
        if what == 0:
            found.append([["int", name(), odd([1, 2, 4, 8, 16], [0, 3, 32, -4]), odd([0, 1, 2, 4], [3, 5, 7, 8, -1])]])
        elif what == 1:
            found.append([["float", name(), odd([2, 4, 8, 12, 16], [0, 1, 3, 10, 32])]])
        elif what <= 5:
            found.append([[["ptr", "volatile", "const", "restrict"][what - 2], id()]])
        elif what == 6:
            found.append([["array", id(), id(), odd([0, 1, 7, 0xFFFFFFFF], [100])]])
        elif what <= 8:
            keyword = ["struct", "union"][what - 7]
            rows: list[Call] = [[keyword, r.choice([name(), ""]), odd([0, 4, 8, 64], [0xFFFFFFFF])]]
            for _ in parts:
                bits = odd([0, 8, 16, 32, 64, 800], [3, 7, 0xFFFFF8]) if what == 7 else odd([0], [8])
                rows.append(["field", r.choice([name(), ""]), id(), bits, odd([0, 0, 0, 3, 8, 255], [256, 1000])])
            found.append(rows)
        elif what == 9:
            values = [0, 1, -1, 7, 0x7FFFFFFF, -0x80000000] if r.random() < 0.5 else [0, 5, 0x80000000, 0xFFFFFFFF]
            rows = [["enum", r.choice([name(), ""]), odd([1, 2, 4, 8], [0, 3, 16])]]
            rows += [["value", name(), odd(values, [1 << 32, -(1 << 31) - 1])] for _ in parts]
            found.append(rows)
        elif what == 10:
            signed = r.randrange(2)
            values = [0, 5, -1, -(1 << 63), (1 << 63) - 1] if signed else [0, 5, 1 << 63, (1 << 64) - 1]
            rows = [["enum64", r.choice([name(), ""]), odd([1, 2, 4, 8], [0, 3, 16]), signed]]
            rows += [["value64", name(), r.choice(values)] for _ in parts]
            found.append(rows)
        elif what == 11:
            found.append([["fwd", name(), odd([0, 1, 2], [3, -1])]])
        elif what <= 14:
            found.append([[["typedef", "type_tag", "type_attr"][what - 12], name(), id()]])
        elif what == 15:
            found.append([["func", name(), odd([0, 1, 2], [3, -1]), id()]])
        elif what == 16:
            rows = [["proto", id()]]
            rows += [["param", r.choice([name(), ""]), id()] for _ in parts]
            found.append(rows)
        elif what == 17:
            rows = [["datasec", name(), odd([0, 8, 0xFFFFFFFF], [3])]]
            rows += [["place", id(), r.choice([0, 4, 0xFFFFFFFF]), r.choice([0, 4])] for _ in parts]
            found.append(rows)
            found.append([["var", name(), odd([0, 1, 2], [3, -1]), id()]])
        else:
            found.append([[r.choice(["decl_tag", "decl_attr"]), name(), id(), odd([-1, 0, 3], [-2, -100])]])
    return found


def accepted(program: Path, seed: int, folder: Path) -> tuple[list[list[Call]], list[bool], bytes]:
    """The groups, which of them libbpf accepts as a whole, and the BTF of those."""
    found = groups(seed)
    results: list[bool] = []
    for number, group in enumerate(found):
        # If a part is refused, the rest stays; so each group is tried after those that were accepted.
        before = [call for taken, each in zip(results, found[:number], strict=True) if taken for call in each]
        returned = oracle(program, [*before, *group], folder / "out.btf")[len(before) :]
        results.append(all(each >= 0 for each in returned))
    calls = [call for taken, each in zip(results, found, strict=True) if taken for call in each]
    oracle(program, calls, folder / "out.btf")
    return found, results, (folder / "out.btf").read_bytes()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:100")
    parser.add_argument("--record", action="store_true")
    args = parser.parse_args()
    wrong = 0
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "oracle"
        library = reference.root() / reference.LIBRARIES / "libbpf.so.1"
        command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(HERE / "oracle.c")]
        subprocess.run([*command, "-Wl,--allow-shlib-undefined", str(library)], check=True)
        for seed in range(*map(int, args.seeds.split(":"))):
            found, results, data = accepted(program, seed, folder)
            ours, mine = play(found)
            if (ours, mine) != (results, data):
                wrong += 1
                at = next((n for n, (a, b) in enumerate(zip(ours, results, strict=True)) if a != b), None)
                where = f"{found[at]}: libbpf {'takes' if results[at] else 'refuses'} it" if at is not None else "bytes"
                print(f"seed {seed}: {where}")
            rows.append({"calls": found, "taken": results, "btf": data.hex()})
    if args.record:
        FIXTURE.write_text(json.dumps(rows, separators=(",", ":")).replace('{"calls"', '\n{"calls"') + "\n")
    print(f"{len(rows)} lists of calls, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
