"""JSON as `json` writes it with `indent=2`: the text of `pybtf diff --json`."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from pybtf.support.json_text import pieces, text

PLAIN: tuple[Any, ...] = (None, True, False, 0, 1, -5, 2**70, 1.5, 0.0, "", "x", 'é\x1b\udcff"\\\n', {}, [], ())


def value(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(6) if depth else 5
    if kind < 2:
        return {rng.choice(("a", "b\n", "é", '"')) + str(n): value(rng, depth - 1) for n in range(rng.randrange(4))}
    if kind < 5:
        return (list, tuple)[kind == 4](value(rng, depth - 1) for _ in range(rng.randrange(4)))
    return rng.choice(PLAIN)


@pytest.mark.parametrize("seed", range(300))
def test_the_same_as_json(seed: int) -> None:
    made = value(random.Random(seed), 5)
    expected = json.dumps(made, indent=2)
    assert text(made) == expected
    for levels in range(6):
        assert "".join(pieces(made, levels)) == expected


def test_pieces_are_what_is_so_far_down() -> None:
    found = list(pieces({"a": [1, {"b": 2}]}, 2))
    assert found == ['{\n  "a": ', "[\n    ", "1", ",\n    ", '{\n      "b": 2\n    }', "\n  ]", "\n}"]
