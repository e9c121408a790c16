"""BTF from the words of its records, with any field of the header as the test wants it.

It uses nothing from `pybtf.btf`, whose reader and writer it tests, and knows nothing about records: it writes a header
and what follows.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence


def raw_btf(
    types: bytes | Sequence[int],
    strings: bytes = b"\0",
    *,
    order: str = "<",
    more: bytes = b"",
    gap: bytes = b"",
    header: Mapping[str, int] | None = None,
) -> bytes:
    """`types`: the words of the records, or their bytes. `more`: what a longer header has after its 24 bytes. `gap`:
    bytes between types and strings. `header`: other values for fields of the header.
    """
    records = types if isinstance(types, bytes) else struct.pack(f"{order}{len(types)}I", *types)
    fields = {
        "magic": 0xEB9F, "version": 1, "flags": 0, "hdr_len": 24 + len(more), "type_off": 0, "type_len": len(records),
        "str_off": len(records) + len(gap), "str_len": len(strings),
    }  # fmt: skip
    fields |= header or {}
    return struct.pack(f"{order}HBB5I", *fields.values()) + more + records + gap + strings
