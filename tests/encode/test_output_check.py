"""Output is checked before it is written: each sort of damage is found, and reported as a bug of pybtf."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from pybtf.cli.main import main
from pybtf.core.btf.verify import check_output
from pybtf.core.run import Run
from pybtf.errors import InternalError
from pybtf.pipeline import passes
from tests.builders.kernelish import kernel

STRINGS = b"\0int\0point\0x\0"
INT, POINT, X = 1, 5, 11


def words(*values: int) -> bytes:
    return struct.pack(f"={len(values)}I", *values)


def info(kind: int, vlen: int = 0) -> int:
    return kind << 24 | vlen


# 1: int, 2: pointer to 3, 3: struct point { int x; }, 4: int[2], 5: int (*)(int x), 6: enum { x }
TYPES = [
    (INT, info(1), 4, 0x20),
    (0, info(2), 3),
    (POINT, info(4, 1), 4, X, 1, 0),
    (0, info(3), 0, 1, 1, 2),
    (0, info(13, 1), 1, X, 1),
    (0, info(6, 1), 4, X, 0),
]


def spoilt(id: int, word: int, value: int) -> list[tuple[int, ...]]:
    types = [list(each) for each in TYPES]
    types[id - 1][word] = value
    return [tuple(each) for each in types]


def check(types: list[tuple[int, ...]], strings: bytes = STRINGS, n: int = 7, **options: Any) -> None:
    check_output(b"".join(words(*each) for each in types), strings, n, **options)


def test_sound() -> None:
    check(TYPES)
    check([], b"\0", 1)


@pytest.mark.parametrize(
    ("types", "what"),
    [
        (spoilt(1, 1, info(0)), "type 1 has an unknown kind"),
        (spoilt(1, 1, info(20)), "type 1 has an unknown kind"),
        (spoilt(1, 1, info(1) | 1 << 16), "type 1 has reserved bits"),
        (spoilt(2, 1, info(2, 1)), "type 2 counts elements"),
        (spoilt(2, 2, 7), "type 2 refers to type 7"),
        (spoilt(2, 2, 0xFFFFFFFF), "type 2 refers to type 4294967295"),
        (spoilt(3, 4, 7), "type 3 refers to type 7"),
        (spoilt(4, 3, 7), "type 4 refers to type 7"),
        (spoilt(4, 4, 7), "type 4 refers to type 7"),
        (spoilt(5, 2, 7), "type 5 refers to type 7"),
        (spoilt(5, 4, 7), "type 5 refers to type 7"),
        (spoilt(1, 0, len(STRINGS)), "name offset 0xd in type 1 lies beyond"),
        (spoilt(1, 0, INT + 1), "name offset 0x2 in type 1 is in the middle"),
        (spoilt(3, 3, POINT + 1), "name offset 0x6 in type 3 is in the middle"),
        (spoilt(5, 3, X + 1), "name offset 0xc in type 5 is in the middle"),
        (spoilt(6, 3, 0x10000), "name offset 0x10000 in type 6 lies beyond"),
        (spoilt(6, 1, info(6, 2)), "ends inside type 6"),
        ([*TYPES, (0,)], "ends inside type 7"),
        (TYPES[:-1], "end before type 6, although 7 were counted"),
        ([*TYPES, TYPES[1]], "end before type 8, although 7 were counted"),
    ],
)
def test_damage(types: list[tuple[int, ...]], what: str) -> None:
    with pytest.raises(InternalError, match=what):
        check(types)


def test_last_offsets_that_are_sound() -> None:
    check(spoilt(2, 2, 6))
    check(spoilt(1, 0, X), STRINGS)
    with pytest.raises(InternalError, match="in the middle of a string"):
        check(spoilt(1, 0, len(STRINGS) - 1))


@pytest.mark.parametrize("strings", [b"", b"int\0", b"\0int"])
def test_strings(strings: bytes) -> None:
    with pytest.raises(InternalError, match="strings do not begin with an empty one, or the last one has no end"):
        check([], strings, 1)


def test_on_a_base() -> None:
    own, below = b"x\0", b"\0int\0point\0"
    types = [(POINT, info(4, 1), 4, X, 1, 0), (0, info(2), 100)]
    check(types, own, 102, base_strings=below, first=100)
    check([], b"", 100, base_strings=below, first=100)
    for spoilt_types, what in (
        ([(POINT + 1, *types[0][1:]), types[1]], "in the middle of a string"),
        ([types[0], (0, info(2), 102)], "type 101 refers to type 102"),
        ([(X + 2, *types[0][1:]), types[1]], "beyond"),
    ):
        with pytest.raises(InternalError, match=what):
            check(spoilt_types, own, 102, base_strings=below, first=100)


def test_a_mistake_of_ours_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Mistaken:
        """A run whose output is found to be damaged."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            self.run = Run(*arguments, **options)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.run, name)

        def data(self) -> bytes:
            check(spoilt(2, 2, 7))
            return b""

    path, out = tmp_path / "kernel", tmp_path / "kernel.btf"
    path.write_bytes(kernel().data)
    before = path.read_bytes()
    monkeypatch.setattr(passes, "Run", Mistaken)
    assert main(["encode", str(path)]) == 70
    assert f"{path}: the BTF that was made is damaged: type 2 refers to type 7" in capsys.readouterr().err
    assert path.read_bytes() == before
    assert main(["encode", "--detached", str(out), str(path)]) == 70
    assert list(tmp_path.iterdir()) == [path]
