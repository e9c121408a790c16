"""Says in a few words where two BTF blobs first differ. Reads the format on its own, without pybtf.

python -m tools.judge.btfdiff OURS GOLDEN
"""

from __future__ import annotations

import struct
import sys
from itertools import zip_longest
from pathlib import Path

KINDS = (
    "void", "INT", "PTR", "ARRAY", "STRUCT", "UNION", "ENUM", "FWD", "TYPEDEF", "VOLATILE", "CONST",
    "RESTRICT", "FUNC", "FUNC_PROTO", "VAR", "DATASEC", "FLOAT", "DECL_TAG", "TYPE_TAG", "ENUM64",
)  # fmt: skip
FIXED = {"INT": 1, "ARRAY": 3, "VAR": 1, "DECL_TAG": 1}
PER_ELEMENT = {"STRUCT": 3, "UNION": 3, "ENUM": 2, "FUNC_PROTO": 2, "DATASEC": 3, "ENUM64": 3}
NAMED_ELEMENTS = {"STRUCT", "UNION", "ENUM", "FUNC_PROTO", "ENUM64"}


def read(blob: bytes) -> tuple[list[str], list[str]]:
    """Types (from id 1) and strings (from offset 0), each as a line of text.

    :raises ValueError, struct.error, IndexError: the blob is not BTF.
    """
    order = "<" if blob[:2] == b"\x9f\xeb" else ">"
    _, _, _, header, type_off, type_len, str_off, str_len = struct.unpack_from(order + "HBBIIIII", blob)
    strings = blob[header + str_off : header + str_off + str_len]
    start = header + type_off
    words = struct.unpack_from(f"{order}{type_len // 4}I", blob, start)

    def text(offset: int) -> str:
        return strings[offset : strings.index(b"\0", offset)].decode(errors="replace")

    types = []
    at = 0
    while at < len(words):
        name, info, third = words[at : at + 3]
        kind, count, flag = KINDS[info >> 24 & 31], info & 0xFFFF, info >> 31
        fixed, each = FIXED.get(kind, 0), PER_ELEMENT.get(kind, 0)
        parts = [f"{kind} '{text(name)}' {third}", *(f"{word:#x}" for word in words[at + 3 : at + 3 + fixed])]
        parts += ["flag"] * flag
        if kind == "FUNC":
            parts.append(f"linkage {count}")
        at += 3 + fixed
        for _ in range(count if each else 0):
            element = words[at : at + each]
            first = f"'{text(element[0])}'" if kind in NAMED_ELEMENTS else str(element[0])
            parts.append(" ".join([first, *(str(word) for word in element[1:])]))
            at += each
        types.append(", ".join(parts))
    return types, [line.decode(errors="replace") for line in strings.split(b"\0")[:-1]]


def _first(label: str, base: int, ours: list[str], golden: list[str]) -> str:
    for index, (mine, theirs) in enumerate(zip_longest(ours, golden)):
        if mine != theirs:
            mine, theirs = (side if side is not None else "(none)" for side in (mine, theirs))
            # Show long records from just before the place where they part.
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
