"""Questions about types that are answered without making every object."""

from __future__ import annotations

from pybtf.btf.reader import BTF
from pybtf.btf.types import Const, Member, Struct
from pybtf.btf.writer import BtfBuilder
from tests.conftest import Noted


def test_for_the_pointer_size_members_are_not_made(noted: Noted) -> None:
    """Very many members may be of one struct with very many members, or lead to the end of one long chain."""
    many = tuple(Member(f"m{n}", 3, 0) for n in range(50))
    chained = tuple(Member(f"m{n}", 4, 0) for n in range(50))
    builder = BtfBuilder()
    builder.extend([Struct("a", 8, many), Struct("b", 8, chained), Struct("s", 8, many[:1]), Const(5), Const(3)])
    read = BTF.from_bytes(builder.tobytes())
    decoded = noted(BTF, "_decode")
    assert read.pointer_size == 8
    assert (decoded.count(3), decoded.count(4)) == (0, 1)
