"""BTF that would take hours or all memory to print or draw: long chains of types, names that share bytes."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from pybtf.cli.main import main
from pybtf.core.btf.type_view import View
from pybtf.core.dump.dump_types import dump_types
from pybtf.errors import InputError
from pybtf.pahole.main import main as pahole
from tests.builders.rawbtf import raw_btf

INT, PTR, ARRAY, STRUCT, TYPEDEF, FUNC, FUNC_PROTO, VAR, DATASEC, DECL_TAG = (
    kind << 24 for kind in (1, 2, 3, 4, 8, 12, 13, 14, 15, 17)
)


def chains(members: int) -> bytes:
    """A struct whose members are arrays of typedefs of arrays of typedefs..., each as deep as is allowed."""
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
    """A struct whose members all have one long name, inside another."""
    words = [1, INT, 4, 32, 5, STRUCT | inner, 4 * inner]
    for number in range(inner):
        words += [9, 1, 32 * number]
    words += [7, STRUCT | 1, 4 * inner, 9, 2, 0]
    return raw_btf(words, b"\0int\0s\0o\0" + b"n" * length + b"\0")


def long_type(members: int, length: int) -> bytes:
    """A struct whose members all have the same type, which has a long name."""
    words = [3, STRUCT, 0, 1, STRUCT | members, 0]
    for _ in range(members):
        words += [1, 1, 0]
    return raw_btf(words, b"\0s\0" + b"n" * length + b"\0")


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


def alternating(members: int) -> bytes:
    """A struct of numbers, and of bytes with holes after them; nearly all of these move."""
    words = [1, INT, 4, 32, 1, INT, 1, 8, 5, STRUCT | members, 8 * members]
    for number in range(members):
        words += [5, 1 + number % 2, 64 * number]
    return raw_btf(words, b"\0int\0s\0")


@pytest.mark.parametrize(("members", "said"), [(4000, "s\t32000\t10000\t22000\n"), (6000, "")])
def test_moves_take_several_steps_for_each_member(
    members: int, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """All members are read and written again for each that moves: of 65,535, a few hundred times a second."""
    path = tmp_path / "x.btf"
    path.write_bytes(alternating(members))
    assert main(["show", "-P", str(path)]) == (0 if said else 1)
    out, error = capfd.readouterr()
    assert (out, "takes too many steps" in error) == (said, not said)


def test_short_ones_do_not(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(chains(20))
    assert main(["show", "s", str(path)]) == 0
    assert "/* size: 80, cachelines: 2, members: 20 */" in capfd.readouterr().out


def trees(depth: int, structs: int) -> bytes:
    """Structs whose members are structs of two members, and so on; and many structs that contain one such tree."""
    words = [1, INT, 4, 32, 5, STRUCT | 2, 8, 7, 1, 0, 9, 1, 32]
    for level in range(1, depth + 1):
        bits = 64 << (level - 1)
        words += [5, STRUCT | 2, bits // 4, 7, level + 1, 0, 9, level + 1, bits]
    for _ in range(structs):
        words += [11, STRUCT | 1, 8 << depth, 7, depth + 2, 0]
    return raw_btf(words, b"\0int\0t\0a\0b\0o\0")


def holes(there: int, movable: int) -> bytes:
    """A struct with holes in which nothing fits, and some members that fit into larger ones."""
    array = [0, ARRAY, 0, 2, 1]
    words = [1, INT, 4, 32, 5, INT, 8, 64, *array, 2, *array, 3, 14, STRUCT | 5, 20]
    for number in range(5):
        words += [16, 1, 32 * number]
    words += [18, STRUCT | (there + 2 * movable), 24 * (there + movable) + 8 * movable]
    for number in range(there + movable):
        words += [16, 5 if number < there else 3, 192 * number]
    for number in range(movable):
        words += [16, 2, 192 * (there + movable) + 64 * number]
    return raw_btf(words, b"\0int\0long int\0s\0x\0R\0")


def all_movable(members: int) -> bytes:
    """A struct in which every other member fits into the hole before it."""
    words = [1, INT, 4, 32, 5, INT, 1, 8, 10, STRUCT | members, 8 * members]
    for number in range(members):
        words += [12, 1 + number % 2, 64 * number]
    return raw_btf(words, b"\0int\0char\0s\0x\0")


def alike(members: int) -> bytes:
    """A struct with holes, and one of which each member is that struct."""
    words = [1, INT, 4, 32, 5, STRUCT | members, 8 * members]
    for number in range(members):
        words += [7, 1, 64 * number]
    words += [9, STRUCT | members, 8 * members * members]
    for number in range(members):
        words += [7, 2, 64 * members * number & 0xFFFFFFFF]
    return raw_btf(words, b"\0int\0s\0x\0o\0")


@pytest.mark.parametrize(
    ("arguments", "data"),
    [
        (["-E"], trees(13, 300)), (["-E", "-R", "-S"], trees(13, 300)), (["-P"], holes(5000, 500)),
        (["-R", "R"], holes(5000, 500)), (["o"], alike(12_000)), (["-P"], all_movable(10_000)),
        (["-R", "s"], all_movable(10_000)),
    ],
    ids=["-E", "-E -R -S", "-P", "-R", "members", "-P, all move", "-R, all move"],
)  # fmt: skip
def test_what_is_small_and_would_become_large_or_slow(
    arguments: list[str], data: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Texts of hundreds of megabytes, and work that grows with the square or the cube of the number of members."""
    path = tmp_path / "x.btf"
    path.write_bytes(data)
    assert main(["show", *arguments, str(path)]) == 1
    out, said = capfd.readouterr()
    assert (out, "takes too many steps, or becomes too long" in said) == ("", True)


def in_each_other(structs: int) -> bytes:
    """`s0` contains `s1`, and so on; the last one contains a number."""
    words, text = [1, INT, 4, 32], b"\0int\0"
    for number in range(structs):
        words += [len(text), STRUCT | 1, 4, 5, number + 3 if number + 1 < structs else 1, 0]
        text += b"s%d\0" % number
    return raw_btf(words, text)


def in_a_row(pointers: int) -> bytes:
    words = [1, INT, 4, 32]
    for number in range(pointers):
        words += [0, PTR, number + 1]
    return raw_btf([*words, 5, TYPEDEF, pointers + 1], b"\0int\0t\0")


@pytest.mark.parametrize(
    ("arguments", "build", "most", "said"),
    [
        (["show", "s0"], in_each_other, 255, "at most 256 levels"),
        (["dump", "--format", "c"], in_each_other, 999, "and 1000 levels"),
        (["dump", "--format", "c"], in_a_row, 255, "at most 256 references in a row"),
    ],
    ids=["show", "dump", "references"],
)
def test_what_nests_as_deep_as_is_allowed(
    arguments: list[str],
    build: Callable[[int], bytes],
    most: int,
    said: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A number counts as a level, a typedef as a reference."""
    path = tmp_path / "x.btf"
    path.write_bytes(build(most))
    assert main([*arguments, str(path)]) == 0
    path.write_bytes(build(most + 1))
    assert main([*arguments, str(path)]) == 1
    assert said in capfd.readouterr().err


@pytest.mark.parametrize(("arguments", "tabs"), [(["show", "s"], 16), (["dump", "--format", "c"], 13)])
def test_what_nests_deep_is_indented_so_far(
    arguments: list[str], tabs: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As in pahole and bpftool: 20 nested structs."""
    words = [1, INT, 4, 32, 0, STRUCT | 1, 4, 7, 1, 0]
    for number in range(2, 20):
        words += [0, STRUCT | 1, 4, 0, number, 0]
    path = tmp_path / "x.btf"
    path.write_bytes(raw_btf([*words, 5, STRUCT | 1, 4, 0, 20, 0], b"\0int\0s\0a\0"))
    assert main([*arguments, str(path)]) == 0
    assert max(len(line) - len(line.lstrip("\t")) for line in capfd.readouterr().out.splitlines()) == tabs


@pytest.mark.parametrize(("depth", "status"), [(16, 0), (17, 1)])
def test_one_text_in_which_something_is_expanded(
    depth: int, status: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It may have at most 32 MiB, half of what all texts may have: here it has 29 or 60 MB."""
    path = tmp_path / "x.btf"
    path.write_bytes(trees(depth, 1))
    assert main(["show", "-E", "o", str(path)]) == status
    out, said = capfd.readouterr()
    assert (len(out) > 28_000_000, "becomes too long" in said) == (not status, bool(status))


def test_types_of_members_take_room_in_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """At most 64 MiB and 64 times the file. Here they are 120 MB; for a file of a megabyte they would be 60 GB."""
    path = tmp_path / "x.btf"
    path.write_bytes(long_type(2000, 60_000))
    assert main(["show", "--json", "s", str(path)]) == 1
    out, said = capfd.readouterr()
    assert (out, "takes too many steps, or becomes too long" in said) == ("", True)
    path.write_bytes(long_type(20, 60_000))
    assert main(["show", "--json", "s", str(path)]) == 0
    (row,) = json.loads(capfd.readouterr().out)
    assert {each["type"] for each in row["members"]} == {"struct " + "n" * 60_000}


@pytest.mark.parametrize(("command", "most"), [("show", 6), ("diff", 9)])
def test_json_is_not_in_memory_in_all_forms(
    command: str, most: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """With its objects and a list of pieces in memory, it would take more than that many times its length."""
    many, none = tmp_path / "many.btf", tmp_path / "none.btf"
    words = [1, INT, 4, 32]
    for number in range(40):
        words += [7 + number, STRUCT | 1000, 0, *([5, 1, 0] * 1000)]
    many.write_bytes(raw_btf(words, b"\0int\0m\0" + b"s" * 40 + b"\0"))
    none.write_bytes(raw_btf([1, INT, 4, 32], b"\0int\0"))
    if command == "diff":
        words = [1, INT, 4, 32, *[word for number in range(10_000) for word in (5 + 8 * number, TYPEDEF, 1)]]
        many.write_bytes(raw_btf(words, b"\0int\0" + b"".join(b"%07d\0" % number for number in range(10_000))))
    arguments = ["show", "--json", str(many)] if command == "show" else ["diff", "--json", str(none), str(many)]
    tracemalloc.start()
    try:
        assert main(arguments) == 0
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    out = capfd.readouterr().out
    found = json.loads(out)
    assert len(found if command == "show" else found["changes"]) == (40 if command == "show" else 10_000)
    assert peak < most * len(out), (peak, len(out))


def test_what_is_small_and_stays_small(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The text is pahole's: `pahole -F btf -R -C R`."""
    path = tmp_path / "x.btf"
    path.write_bytes(holes(50, 5))
    assert main(["show", "-R", "R", str(path)]) == 0
    assert "saved 32 bytes and 1 cacheline" in capfd.readouterr().out


@pytest.mark.parametrize("command", ["show", "size", "dump", "duplicates"])
def test_names_that_share_bytes(command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Names may have 16 times as many bytes as the file, and 64 KiB more."""
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
    """The name of a part consists of the names of all structs around it."""
    path, drawn = tmp_path / "x.btf", tmp_path / "x.svg"
    path.write_bytes(nested(50, 400))
    assert main(["show", "--svg", str(drawn), "-E", "o", str(path)]) == 0
    text = drawn.read_text()
    assert "n" * 198 + "…" in text
    assert "n" * 200 not in text


def test_many_tags_of_a_function_with_a_long_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The functions of a header are sorted, one for each tag. Comparing the long names takes 41 seconds."""
    words = [0, FUNC_PROTO, 0, 11, FUNC | 1, 1]
    for _ in range(20_000):
        words += [1, DECL_TAG, 2, 0xFFFFFFFF]
    path = tmp_path / "x.btf"
    path.write_bytes(raw_btf(words, b"\0bpf_kfunc\0" + b"n" * 1_000_000 + b"\0"))
    start = time.process_time()
    assert main(["dump", "--format", "c", "--unsorted", str(path)]) == 1
    assert time.process_time() - start < 5
    out, said = capfd.readouterr()
    assert (out, "takes too many steps, or becomes too long" in said) == ("", True)


@pytest.mark.parametrize("elements", [False, True], ids=["types", "members"])
def test_a_name_whose_numbers_are_taken(elements: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A header renames an `a` to `a__` with a number. Here very many numbers are taken."""
    words = [1, STRUCT, 0, 3, STRUCT, 0]
    words += [12, STRUCT | 2, 0, 3, 1, 0, 3, 1, 0] if elements else [7, STRUCT, 0]
    path = tmp_path / "x.btf"
    path.write_bytes(raw_btf(words, b"\0a\0a__\0a__ \0s\0"))
    assert main(["dump", str(path)]) == 0
    out = capfd.readouterr().out
    assert ("struct a a__;" in out and "struct a a_2;" in out) if elements else "struct a_2 {};" in out


def test_a_section_with_one_long_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The text of one type is kept in memory: 260 MB, twice."""
    words = [1, INT, 4, 32, 5, VAR, 1, 0, 3, DATASEC | 400, 1600]
    for number in range(400):
        words += [2, 4 * number, 4]
    path = tmp_path / "x.btf"
    path.write_bytes(raw_btf(words, b"\0int\0" + b"n" * 200_000 + b"\0"))
    assert main(["dump", "--format", "raw", str(path)]) == 1
    out, said = capfd.readouterr()
    assert len(out) < 1000
    assert "because of strings that many types share" in said
    written = tmp_path / "x.txt"
    written.write_text("before")
    assert main(["dump", "--format", "raw", "-o", str(written), str(path)]) == 1
    assert written.read_text() == "before"


@pytest.mark.parametrize("sections", [4, 5])
def test_sections_with_one_long_name(sections: int) -> None:
    """Each has 60 MB, less than one may have. All together may have 256 MiB."""
    words = [1, INT, 4, 32, 5, VAR, 1, 0]
    for _ in range(sections):
        words += [3, DATASEC | 300, 1200, *(word for number in range(300) for word in (2, 4 * number, 4))]
    view = View(raw_btf(words, b"\0int\0" + b"n" * 200_000 + b"\0"), "x")
    pieces: list[int] = []
    with pytest.raises(InputError, match=r"a text of more than 27[0-9]{7} bytes") if sections > 4 else nullcontext():
        dump_types(view, lambda piece: pieces.append(len(piece)))
    assert sum(pieces) > 240_000_000


@pytest.mark.parametrize("format", [["raw"], ["json"], ["json", "--pretty"]], ids=" ".join)
def test_a_text_that_is_written_to_a_file_is_not_in_memory(format: list[str], tmp_path: Path) -> None:
    """Neither in pieces nor as a whole."""
    path, written = tmp_path / "x.btf", tmp_path / "x.txt"
    path.write_bytes(raw_btf([1, STRUCT, 0] * 100_000, b"\0" + b"n" * 100 + b"\0"))
    tracemalloc.start()
    try:
        assert main(["dump", "--format", *format, "-o", str(written), str(path)]) == 0
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    size = written.stat().st_size
    assert size > 10_000_000
    assert peak < size / 5, (peak, size)
