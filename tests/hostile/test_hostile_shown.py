"""BTF that would take what prints or draws it hours, or all memory: long chains of types, names that share bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pybtf.cli.main import main
from pybtf.pahole.main import main as pahole
from tests.builders.rawbtf import raw_btf

INT, ARRAY, STRUCT, TYPEDEF = (kind << 24 for kind in (1, 3, 4, 8))


def chains(members: int) -> bytes:
    """A struct whose members are arrays of typedefs of arrays of typedefs..., as deep as is allowed in each."""
    words = [1, INT, 4, 32]
    id = 1
    for _ in range(250):
        for _ in range(250):
            words += [5, TYPEDEF, id]
            id += 1
        words += [0, ARRAY, 0, id, 1, 1]
        id += 1
    words += [7, STRUCT | members, 4 * members]
    for number in range(members):
        words += [5, id, 32 * number]
    return raw_btf(words, b"\0int\0t\0s\0")


def nested(inner: int, length: int) -> bytes:
    """A struct with one long name for each of its members, within another."""
    words = [1, INT, 4, 32, 5, STRUCT | inner, 4 * inner]
    for number in range(inner):
        words += [9, 1, 32 * number]
    words += [7, STRUCT | 1, 4 * inner, 9, 2, 0]
    return raw_btf(words, b"\0int\0s\0o\0" + b"n" * length + b"\0")


def tails(count: int, length: int) -> bytes:
    """Structs whose names are the ends of one string."""
    words = [1, INT, 4, 32]
    for number in range(count):
        words += [5 + number, STRUCT, 0]
    return raw_btf(words, b"\0int\0" + b"n" * length + b"\0")


@pytest.mark.parametrize(
    "arguments", [["show", "s"], ["show", "--json", "s"], ["show", "--sizes"], ["show", "-R", "s"], ["show", "-P"]]
)
def test_long_chains_take_steps(arguments: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(chains(2000))
    assert main([*arguments, str(path)]) == 1
    out, said = capfd.readouterr()
    assert (out, "takes too many steps" in said) == ("", True)
    assert pahole(["-F", "btf", str(path)]) == 1
    assert "takes too many steps" in capfd.readouterr().err


def test_short_ones_do_not(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(chains(20))
    assert main(["show", "s", str(path)]) == 0
    assert "/* size: 80, cachelines: 2, members: 20 */" in capfd.readouterr().out


@pytest.mark.parametrize("command", ["show", "size", "dump", "duplicates"])
def test_names_that_share_bytes(command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As many bytes as the file has may be in names 16 times, and 64 KiB more."""
    path = tmp_path / "x.btf"
    data = tails(2000, 20_000)
    path.write_bytes(data)
    assert main([command, str(path)]) == 1
    out, said = capfd.readouterr()
    limit = 16 * len(data) + (1 << 16)
    assert (out, f"strings: names of more than {limit} bytes in all" in said) == ("", True)
    path.write_bytes(tails(40, 2000))
    assert main([command, str(path)]) == 0


def test_names_in_a_picture_are_cut(tmp_path: Path) -> None:
    """The name of a part is that of all structs around it."""
    path, drawn = tmp_path / "x.btf", tmp_path / "x.svg"
    path.write_bytes(nested(50, 400))
    assert main(["show", "--svg", str(drawn), "-E", "o", str(path)]) == 0
    text = drawn.read_text()
    assert "n" * 198 + "…" in text
    assert "n" * 200 not in text
