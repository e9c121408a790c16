"""Writes fixtures/dedup: generated lists and what the reference makes from them.

    PYBTF_REFERENCE_ROOT=... python -m tools.judge.dedup_oracle.make_fixtures \
        [--lists SEED,...] [--splits SEED,...] [--kernels SEED,...]

The expected files come from the reference, never from pybtf. Needs a C compiler. README.md explains the choice of
seeds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from pathlib import Path

from tools.judge.dedup_oracle import reference
from tools.judge.dedup_oracle.generate import generate

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "dedup"
GENERATOR = Path(__file__).with_name("generate.py")


def write(kind: str, seed: int, program: Path) -> dict[str, object]:
    """One case: NAME.btf, NAME.expected.btf, and NAME.base.btf if split. Returns its manifest entry."""

    def squeeze(data: bytes) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            before, after = Path(folder, "before"), Path(folder, "after")
            before.write_bytes(data)
            reference.oracle(program, [(before, after)])
            return after.read_bytes()

    name, split = f"{kind}-{seed}", kind != "list"
    base, data = generate(seed, split, squeeze=squeeze if kind == "kernel" else None)
    paths = {kind: FOLDER / f"{name}{kind}.btf" for kind in ("", ".base", ".expected")}
    paths[""].write_bytes(data)
    if base is not None:
        paths[".base"].write_bytes(base)
    reference.oracle(program, [(paths[""], paths[".expected"])], paths[".base"] if base is not None else None)
    if not paths[".expected"].exists():
        raise SystemExit(f"{name}: the reference refused it")
    return {"name": name, "seed": seed, "split": split}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lists", default="", help="seeds of plain lists")
    parser.add_argument("--splits", default="", help="seeds of lists split from a base")
    parser.add_argument("--kernels", default="", help="seeds of lists split from a base without duplicates")
    args = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.btf"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        program = reference.build(Path(folder))
        cases = [
            write(kind, seed, program)
            for kind, seeds in (("list", args.lists), ("split", args.splits), ("kernel", args.kernels))
            for seed in sorted({int(s) for s in seeds.split(",") if s})
        ]
    manifest = {
        "what": "NAME.btf (split from NAME.base.btf, if any) and the reference's result, NAME.expected.btf",
        "expected_by": f"btf__dedup of libbpf {reference.version()}, run by tools/judge/dedup_oracle/oracle.c",
        "input_by": "tools/judge/dedup_oracle/generate.py",
        "generator_sha256": hashlib.sha256(GENERATOR.read_bytes()).hexdigest(),
        "cases": cases,
    }
    (FOLDER / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    main()
