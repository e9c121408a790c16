"""BTF as lines of text. Reads the format independently of pybtf, and believes what the file says."""

from __future__ import annotations

import struct

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
