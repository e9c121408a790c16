"""Says in a few words where two BTF blobs first differ. Reads the format without pybtf.

python -m tools.judge.btfdiff OURS GOLDEN
"""

from __future__ import annotations

import struct
import sys
from itertools import zip_longest
from pathlib import Path

from tests.builders.btflines import read


def _first(label: str, base: int, ours: list[str], golden: list[str]) -> str:
    for index, (mine, theirs) in enumerate(zip_longest(ours, golden)):
        if mine != theirs:
            mine, theirs = (side if side is not None else "(none)" for side in (mine, theirs))
            # Show long records from just before the place where they differ.
            same = next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), 0)
            cut = max(0, same - 60)
            head = mine[:40] + " ... " if cut > 40 else mine[:cut]
            return f"{label} {index + base}: {head}{mine[cut : same + 60]} | golden: {theirs[cut : same + 60]}"
    return ""


def explain(ours: bytes, golden: bytes) -> str:
    """One line on the first differing type and string; empty if the blobs are equal."""
    if ours == golden:
        return ""
    try:
        (types_a, strings_a), (types_b, strings_b) = read(ours), read(golden)
    except (ValueError, IndexError, struct.error) as error:
        return f"not readable as BTF: {error}"
    found = [
        f"{len(types_a)} types, {len(strings_a)} strings | golden: {len(types_b)}, {len(strings_b)}",
        _first("type", 1, types_a, types_b),
        _first("string", 0, strings_a, strings_b),
    ]
    return "; ".join(part for part in found if part)


if __name__ == "__main__":
    told = explain(*(Path(name).read_bytes() for name in sys.argv[1:3]))
    print(told or "equal")
    sys.exit(1 if told else 0)
