"""Makes fixtures/random: 100 random programs in compiled form, with digests of what the reference writes for them.

    python -m tools.golden.random_golden [--numbers 0:48,96:144,48:52]

The programs are those of variations.py (own and csmith's), each with its six feature lists; test_random.py encodes them
without a compiler or the reference. `programs.tar.xz` has the ELF files by number; `golden.json` says how each was
built, and has the SHA-256 of the reference's output for each list (null: it wrote nothing). To see where an output
differs: `python -m tools.compare.differential --varied --seeds NUMBER`.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import lzma
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from tools.generate import variations
from tools.golden import toolchain
from tools.judge import oracle, reference

HOME = reference.CHECKOUT / "fixtures" / "random"
LIMIT = 1 << 20
"""Bytes that the folder may have."""


def build(number: int) -> tuple[bytes, dict[str, Any]]:
    """The ELF file of a number, and its entry in golden.json."""
    chosen = variations.variation(number)
    with tempfile.TemporaryDirectory(prefix="pybtf-random-") as scratch:
        elf = Path(scratch) / "program.elf"
        chosen.program.make(Path(scratch), elf)
        answers = {features: oracle.run(elf, features).data for features in chosen.features}
        data = elf.read_bytes()
    digests = {
        features: None if answer is None else hashlib.sha256(answer).hexdigest() for features, answer in answers.items()
    }
    return data, {"build": chosen.label, "jobs": chosen.jobs, "golden": digests}


def pack(files: dict[str, bytes]) -> bytes:
    """A .tar.xz that depends only on names and contents."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def numbers_of(text: str) -> list[int]:
    ranges = (part.split(":") for part in text.split(","))
    return [number for first, end in ranges for number in range(int(first), int(end))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--numbers", type=numbers_of, default="0:48,96:144,48:52", help="A:B,C:D,...")
    options = parser.parse_args()
    files, entries = {}, {}
    try:
        for number in options.numbers:
            files[f"{number}.elf"], entries[str(number)] = build(number)
        versions = reference.pahole_versions()
    except (reference.Unavailable, variations.NoCsmith, toolchain.BuildError) as reason:
        print(f"not made: {reason}", file=sys.stderr)
        return 1
    packed = pack(files)
    text = json.dumps({"reference": versions, "programs": entries}, indent=1) + "\n"
    if len(packed) + len(text) > LIMIT:
        print(f"not made: {len(packed) + len(text)} bytes are too many", file=sys.stderr)
        return 1
    HOME.mkdir(exist_ok=True)
    (HOME / "programs.tar.xz").write_bytes(packed)
    (HOME / "golden.json").write_text(text)
    print(f"{len(files)} programs, {len(packed) >> 10} + {len(text) >> 10} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
