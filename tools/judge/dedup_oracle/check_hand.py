"""Checks with the reference that the lists in tests/builders/dedup_lists.py have the right expectations.

    PYBTF_REFERENCE_ROOT=... PYTHONPATH=src python -m tools.judge.dedup_oracle.check_hand
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.builders.dedup_lists import HAND, SPLIT, STRINGS, raw
from tools.judge.dedup_oracle import reference


def main() -> int:
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = reference.build(folder)
        data, out, base_path = folder / "in", folder / "out", folder / "base"
        plain = [(title, None, own, left) for title, (own, left) in HAND.items()]
        split = [(title, base, own, left) for title, (base, own, left) in SPLIT.items()]
        for title, base, own, left in [*plain, *split]:
            strings = STRINGS if base is None else b""
            out.unlink(missing_ok=True)
            data.write_bytes(raw(*own, strings=strings))
            if base is not None:
                base_path.write_bytes(raw(*base))
            reference.oracle(program, [(data, out)], base_path if base is not None else None)
            theirs = out.read_bytes() if out.exists() else None
            if theirs != raw(*left, strings=strings):
                bad += 1
                print(f"{title}: the reference gives {theirs.hex(' ', 4) if theirs else theirs}")
    print(f"{len(HAND) + len(SPLIT)} lists, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
