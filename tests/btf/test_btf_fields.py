"""Questions to `BTF` by name and by path: sizes, alignments and offsets agree with the compiler."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import pybtf
from pybtf.btf.kinds import Kind
from pybtf.btf.reader import BTF
from pybtf.btf.types import Array, Composite, Int, Member, Struct, Type, Typedef, Var
from pybtf.btf.writer import BtfBuilder
from pybtf.errors import InputError, NoSuchTypeError, UsageError

SOURCE = """
typedef unsigned int u32;
struct inner { char c; u32 array[5]; struct { short in_nameless; union { long a; char b; }; }; };
struct __attribute__((packed)) tight { char c; long l; };
typedef const volatile struct inner *pointer;
struct outer { char first; struct inner one; struct inner many[3][4]; u32 bits:3, more:5; struct tight t; pointer p; };
struct outer outer;
"""
PATHS = [
    "first", "one", "one.array", "one.array[3]", "one.in_nameless", "one.b", "many[2][1].array[4]", "many[1]", "t.l",
    "p",
]  # fmt: skip
TYPES = ["struct inner", "struct outer", "struct tight", "pointer", "u32", "char"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory, require: Callable[[str], str]) -> dict[str, int]:
    """What the compiler says about the types of SOURCE."""
    folder = tmp_path_factory.mktemp("c")
    lines = [f'P("{path}", __builtin_offsetof(struct outer, {path}));' for path in PATHS]
    lines += [f'P("sizeof {type}", sizeof({type})); P("alignof {type}", _Alignof({type}));' for type in TYPES]
    program = '#include <stdio.h>\n#define P(name, value) printf("%s=%zu\\n", name, (size_t) (value))\n'
    (folder / "ask.c").write_text(f"{program}{SOURCE}int main(void) {{ {' '.join(lines)} return 0; }}")
    subprocess.run([require("gcc"), "-o", folder / "ask", folder / "ask.c"], check=True)
    done = subprocess.run([folder / "ask"], capture_output=True, text=True, check=True)
    return {name: int(value) for name, _, value in (line.partition("=") for line in done.stdout.splitlines())}


@pytest.fixture(scope="module")
def btf(tmp_path_factory: pytest.TempPathFactory, require: Callable[[str], str]) -> BTF:
    folder = tmp_path_factory.mktemp("o")
    (folder / "a.c").write_text(SOURCE)
    subprocess.run([require("gcc"), "-g", "-c", "-o", folder / "a.o", folder / "a.c"], check=True)
    return pybtf.encode(folder / "a.o").btf


def test_offsets_sizes_and_alignments_are_the_compilers(btf: BTF, answers: dict[str, int]) -> None:
    assert {path: btf.offsetof("outer", path) for path in PATHS} == {path: answers[path] for path in PATHS}
    assert {type: btf.sizeof(type) for type in TYPES} == {type: answers[f"sizeof {type}"] for type in TYPES}
    assert {type: btf.alignof(type) for type in TYPES} == {type: answers[f"alignof {type}"] for type in TYPES}


def test_access_strings_lead_to_the_same_place(btf: BTF) -> None:
    for path in [*PATHS, "bits", "more"]:
        field = btf.field("struct outer", path)
        assert btf.field("outer", field.core) == field
    assert btf.field("outer", "one.array[3]").core == "0:1:1:3"
    assert btf.field("outer", "one.b").core == "0:1:2:1:1"
    assert btf.field("outer", "1").offset == btf.sizeof("outer")
    more = btf.field("outer", "more")
    assert (more.bit_offset % 32, more.bitfield_size) == (3, 5)


@pytest.mark.parametrize("path", ["none", "one.none", "first.c", "one.array[5]", "one[0]", "p.c", "0:99", "0:0:0"])
def test_paths_that_lead_nowhere(btf: BTF, path: str) -> None:
    with pytest.raises(NoSuchTypeError):
        btf.field("outer", path)


@pytest.mark.parametrize(
    "path", ["", ".first", "one..c", "one c", "one.", "bits", f"one.array[{'9' * 5000}]", "9" * 5000, "0:\u0661"]
)
def test_what_is_no_path(btf: BTF, path: str) -> None:
    with pytest.raises(UsageError):
        btf.offsetof("outer", path)


def test_resolve(btf: BTF) -> None:
    resolved = btf.resolve("u32")
    assert isinstance(resolved, Int)
    assert resolved.size == 4
    with pytest.raises(NoSuchTypeError, match="no type is called 'nothing'"):
        btf.resolve("nothing")
    with pytest.raises(UsageError, match="unknown word 'class'; expected one of struct, union, enum"):
        btf.resolve("class inner")
    with pytest.raises(UsageError, match="has no size"):
        btf.sizeof(0)


def test_search(btf: BTF) -> None:
    names = [type.name for type in btf.search(re.compile("^(in|ou)ter$|er$"), Kind.STRUCT)]
    assert sorted(names) == ["inner", "outer"]
    assert {type.name for type in btf.search("er$")} == {"inner", "outer", "pointer"}
    with pytest.raises(UsageError, match=r"'\(' is not a regular expression"):
        btf.search("(")


def test_types_that_contain_themselves() -> None:
    builder = BtfBuilder()
    builder.add(Typedef("t", 1))
    builder.add(Struct("s", 4, (Member("", 2, 0),)))
    btf = BTF.from_bytes(builder.tobytes())
    with pytest.raises(InputError, match="refers to itself"):
        btf.resolve("t")
    with pytest.raises(InputError, match="nests too deeply"):
        btf.alignof("s")
    with pytest.raises(NoSuchTypeError):
        btf.field("s", "x")


class Counting(BTF):
    """Counts the types that are made."""

    made = 0

    def type(self, id: int) -> Type:
        self.made += 1
        return super().type(id)


def chain(builder: BtfBuilder, length: int, start: int) -> int:
    """The last in a chain of `length` typedefs; the first is a typedef of `start`."""
    for _ in range(length):
        start = builder.add(Typedef("t", start))
    return start


def test_a_chain_is_followed_once() -> None:
    """Once, however many types refer to its beginning. The type at its end is not made again for each of them."""
    length = 500
    builder = BtfBuilder()
    struct = builder.add(Struct("s", 12, (Member("a", builder.add(Int("int", 4, 32)), 0),)))
    last = chain(builder, length, struct)
    array = last
    for _ in range(length):
        array = builder.add(Array(array, struct, 1))
    ids = [builder.add(Var("v", array)) for _ in range(length)]
    ids += [builder.add(Typedef("one", struct)) for _ in range(length)]
    btf = Counting.from_bytes(builder.tobytes())
    assert isinstance(btf, Counting)
    assert {btf.size_of(id) for id in ids} == {12}
    assert btf.made < 5 * length
    btf.made = 0
    ids = [builder.add(Typedef("two", last)) for _ in range(length)]
    btf = Counting.from_bytes(builder.tobytes())
    assert {btf.alignof(id) for id in ids} == {4}
    assert {btf.resolve(id).name for id in ids} == {"s"}
    assert isinstance(btf, Counting)
    assert btf.made < 9 * length


@pytest.mark.parametrize("endless", [True, False])
def test_a_damaged_chain_is_followed_once(endless: bool) -> None:
    length = 500
    builder = BtfBuilder()
    first = builder.add(Typedef("t", length) if endless else Int("int", 4, 32))
    last = chain(builder, length - 1, first)
    ids = [builder.add(Typedef("u", last)) for _ in range(length)]
    data = bytearray(builder.tobytes())
    if not endless:
        data[24 + 15] = 0xFF  # the encoding
    btf = Counting.from_bytes(data)
    for id in ids:
        with pytest.raises(InputError, match="refers to itself" if endless else "encoding"):
            btf.size_of(id)
        with pytest.raises(InputError, match="refers to itself" if endless else "encoding"):
            btf.resolve(id)
    assert isinstance(btf, Counting)
    assert btf.made < 9 * length


def test_sizes_of_arrays_of_arrays() -> None:
    """Also if the sizes of the inner arrays are already known. On no path may there be more than 2^64 elements."""
    builder = BtfBuilder()
    int_ = builder.add(Int("int", 4, 32))
    half = builder.add(Array(int_, int_, 1 << 31))
    most = builder.add(Array(half, int_, 1 << 31))
    none = builder.add(Array(most, int_, 0))
    more = builder.add(Array(most, int_, 4))
    hidden = builder.add(Array(none, int_, 1 << 31))
    over = builder.add(Array(builder.add(Array(more, int_, 0)), int_, 1 << 31))
    data = builder.tobytes()
    for ids in ((most, none, hidden, over), (over, hidden, none, most)):
        btf = BTF.from_bytes(data)
        sizes = {id: btf.size_of(id) for id in ids}
        assert sizes == {most: 1 << 64, none: 0, hidden: 0, over: 0}
        for _ in range(2):
            with pytest.raises(InputError, match=rf"type {more} has more than 2\^64 elements"):
                btf.size_of(more)


@pytest.mark.parametrize("name", ["00_kernel_like.gcc-O2-5-exe.usual", "12_bitfields.gcc-O0-5-obj.usual"])
def test_names_are_found(name: str) -> None:
    btf = BTF.from_file(Path(__file__).parents[2] / "fixtures" / "golden" / f"{name}.btf")
    by_name: dict[str, list[int]] = {}
    for type in btf:
        if type.name:
            by_name.setdefault(type.name, []).append(type.id)
    assert {name: [type.id for type in btf.all_by_name(name)] for name in by_name} == by_name
    assert by_name
    assert btf.by_name("") is None
    composites = [type.id for type in btf if isinstance(type, Composite) and type.kind is Kind.STRUCT]
    assert [type.id for type in btf.search("", Kind.STRUCT)] == [id for id in composites if btf.type(id).name]
