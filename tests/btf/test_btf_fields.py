"""Questions to `BTF` by name and by path: sizes, alignments and offsets are those of the compiler."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import pybtf
from pybtf.btf.kinds import Kind
from pybtf.btf.reader import BTF
from pybtf.btf.types import Composite, Int, Member, Struct, Typedef
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
    """What the compiler says of the types of SOURCE."""
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
    with pytest.raises(UsageError, match="neither struct nor union nor enum"):
        btf.resolve("class inner")
    with pytest.raises(UsageError, match="has no size"):
        btf.sizeof(0)


def test_search(btf: BTF) -> None:
    names = [type.name for type in btf.search(re.compile("^(in|ou)ter$|er$"), Kind.STRUCT)]
    assert sorted(names) == ["inner", "outer"]
    assert {type.name for type in btf.search("er$")} == {"inner", "outer", "pointer"}
    with pytest.raises(UsageError, match=r"'\(' is no regular expression"):
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
