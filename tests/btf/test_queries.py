"""Questions about types that are answered without making all there is."""

from __future__ import annotations

from typing import Any

import pytest

from pybtf.btf.reader import BTF
from pybtf.btf.types import Const, Member, Struct
from pybtf.btf.writer import BtfBuilder


def test_for_the_pointer_size_members_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Very many members may be of a struct with very many members, or at the end of one long chain."""
    many = tuple(Member(f"m{n}", 3, 0) for n in range(50))
    chained = tuple(Member(f"m{n}", 4, 0) for n in range(50))
    builder = BtfBuilder()
    builder.extend([Struct("a", 8, many), Struct("b", 8, chained), Struct("s", 8, many[:1]), Const(5), Const(3)])
    read = BTF.from_bytes(builder.tobytes())
    made: list[int] = []
    decode = BTF._decode

    def counted(btf: BTF, id: int) -> Any:
        made.append(id)
        return decode(btf, id)

    monkeypatch.setattr(BTF, "_decode", counted)
    assert read.pointer_size == 8
    assert (made.count(3), made.count(4)) == (0, 1)
