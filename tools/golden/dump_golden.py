"""Records what bpftool prints, for tests without it: fixtures/dump.

    python -m tools.golden.dump_golden

expected.json has the digests of its texts for all of fixtures/golden and for random BTF (randbtf.py). It also says
which bpftool it was and what that cannot print (it crashes). For some inputs, the texts themselves are kept, for
readers.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.compare.dump_compare import FORMATS, by_bpftool
from tools.generate import randbtf
from tools.judge import reference

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "fixtures" / "dump"
SEEDS = range(120)
READABLE = ("12_bitfields.gcc-O0-5-obj.usual", "15_forwards.gcc-O0-5-obj.usual", "18_unnamed.gcc-O0-5-obj.usual")
DIGITS = 16


def digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:DIGITS]


def answers(path: Path) -> dict[str, str | None]:
    """By format, the digest of bpftool's text, or None if there is none; and that of the input."""
    texts = {format: by_bpftool(str(path), None, format, []) for format in FORMATS}
    if path.stem in READABLE:
        for format, text in texts.items():
            if text is not None and format != "pretty":
                (FOLDER / f"{path.stem}.{format}").write_bytes(text)
    found = {format: digest(text) if text is not None else None for format, text in texts.items()}
    return {"input": digest(path.read_bytes()), **found}


def main() -> int:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        paths = sorted((ROOT / "fixtures" / "golden").glob("*.btf"))
        for seed in SEEDS:
            path = Path(scratch) / f"random-{seed}.btf"
            path.write_bytes(randbtf.RandomBtf(seed).make())
            paths.append(path)
        inputs = dict(zip((path.name for path in paths), pool.map(answers, paths), strict=True))
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(found)}" for name, found in inputs.items())
    text = f'{{"bpftool": {json.dumps(reference.bpftool_version())}, "inputs": {{\n{lines}\n}}}}\n'
    (FOLDER / "expected.json").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
