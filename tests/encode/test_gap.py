"""The one kind of program for which dropping repeats is known to change the result: docs/reduction.md, "A gap"."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import narrow
from tests.builders.conflictswriter import image
from tests.builders.everything import differences
from tests.builders.near import struct


@pytest.mark.xfail(strict=True, reason="what stands for a reference leads to the settled type")
def test_what_a_first_type_reaches_by_way_of_another_unit(tmp_path: Path) -> None:
    """The `c` of the last unit is compared with that of the unit before. They reach their `t` by way of `z`, which has
    been there before. The last `t` is mapped to what the one before was: to the odd one.
    """
    path = tmp_path / "program"
    a, c, t, x, z = struct("a"), struct("c", "z"), struct("t", "a"), struct("x", "a"), struct("z", "t")
    odd, to_t = narrow.struct("a", [narrow.LONG]), narrow.to("t")
    path.write_bytes(
        image([[x], [x, a], [a, t, z], [odd, t, ("use", to_t)], [t, z, c], [c, z, t, a, ("function", to_t)]])
    )
    assert differences(path) == []
