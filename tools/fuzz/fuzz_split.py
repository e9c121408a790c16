"""Long runs of random damage to split DWARF and to provenance databases, with sanitizers. See docs/fuzzing.md.

    python -m tools.fuzz.fuzz_split [--seconds N] [--seed S] [--plain]

Builds like fuzz.py, then damages `.dwo` files and `.dwp` packages of fixtures/dwo, encodes their programs with
provenance, and reads damaged databases, until the time is up. A crash, a sanitizer report, an exception that is not a
PybtfError or a case that takes longer than 10 s ends the run with status 1; the input is kept in build/fuzz-found.
`--plain` uses the usual build, without sanitizers.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "fixtures" / "dwo"
KEPT = ROOT / "build" / "fuzz-found"
PATIENCE = 10
BYTES = (0, 1, 2, 0x7F, 0x80, 0xFF)


def damaged(draw: random.Random, source: bytes) -> bytes:
    data = bytearray(source)
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        data[draw.randrange(64, len(data))] = draw.choice((*BYTES, draw.randrange(256)))
    return bytes(data[: draw.choice((len(data), len(data), len(data), draw.randrange(64, len(data))))])


def look_at(program: Path, database: Path, draw: random.Random) -> None:
    """Encodes with provenance, and reads the damaged database."""
    from pybtf.btf.provenance import Provenance
    from pybtf.errors import PybtfError
    from pybtf.explain.detail import encode_in_detail
    from pybtf.options import make_options

    try:
        options = make_options("default", 1, degrade=draw.random() < 0.3)
        encoded, made = encode_in_detail(str(program), options, names=False, places=True)
    except PybtfError:
        return
    if draw.random() < 0.2:
        database.write_bytes(damaged(draw, made))
        try:
            with Provenance(str(database), bytes(encoded.data), "btf") as found:
                for id in range(1, 40):
                    found.type(id)
        except PybtfError:
            return


def work(seconds: float, seed: str) -> int:
    """Cases until the time is up, in this process."""
    end, cases = time.monotonic() + seconds, 0
    builds = sorted(path.parent for path in HOME.glob("*/program.elf"))
    with tempfile.TemporaryDirectory() as scratch:
        for build in builds:
            shutil.copytree(build, Path(scratch) / build.name)
        while time.monotonic() < end:
            draw = random.Random(f"{seed}/{cases}")
            folder = Path(scratch) / draw.choice(builds).name
            package = folder / "program.elf.dwp"
            targets = [*sorted(folder.glob("u*.dwo")), *sorted(folder.glob("*dwp.dwp")), folder / "program.elf"]
            target = draw.choice(targets)
            whole = target.read_bytes()
            used = package if target.suffix == ".dwp" else target
            used.write_bytes(damaged(draw, whole))
            begin = time.monotonic()
            try:
                look_at(folder / "program.elf", Path(scratch) / "database", draw)
                if time.monotonic() - begin > PATIENCE:
                    raise TimeoutError(f"{time.monotonic() - begin:.0f} s")
            except BaseException:
                kept = KEPT / f"split-{seed}-{cases}"
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                print(f"case {cases} of seed {seed}: {target.name} of {folder.name}, kept in {kept}", flush=True)
                raise
            package.unlink(missing_ok=True)
            target.write_bytes(whole)
            cases += 1
    print(f"{cases} cases, nothing found", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", default=str(int(time.time())), help="default: the time")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work or options.plain:
        return work(options.seconds, options.seed)
    from tools.fuzz import fuzz

    fuzz.build()
    command = [sys.executable, "-m", "tools.fuzz.fuzz_split", "--work", "--seconds", str(options.seconds)]
    command += ["--seed", options.seed]
    return 1 if subprocess.run(command, env=fuzz.environment(), cwd=ROOT, check=False).returncode else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
