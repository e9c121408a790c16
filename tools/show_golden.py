"""Records what pahole prints of the types in fixtures/golden, for tests/test_show.py: fixtures/show/expected.json.

    show_golden.py

For each file the title of each struct and union (`struct pair`) and the start of the digest of its text; for some files
the text itself, so that there is something to read. pahole is that of tools/reference.py.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from show_compare import by_pahole, definitions, title

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "fixtures" / "golden"
FOLDER = ROOT / "fixtures" / "show"
READABLE = ("00_kernel_like.gcc-O2-5-exe.usual.btf", "12_bitfields.gcc-O0-5-obj.usual.btf")


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[list[str]]] = {}
    for path in sorted(GOLDEN.glob("*.usual.btf")):
        text = by_pahole(str(path), None)
        rows = [
            [title(each), hashlib.sha256(each.encode("utf-8", "surrogateescape")).hexdigest()[:16]]
            for each in definitions(text)
        ]
        if rows:
            found[path.name] = rows
        if path.name in READABLE:
            (FOLDER / f"{path.stem}.txt").write_bytes(text.encode("utf-8", "surrogateescape"))
    (FOLDER / "expected.json").write_text(json.dumps({"inputs": found}, indent=1) + "\n")
    print(f"{sum(map(len, found.values()))} types of {len(found)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
