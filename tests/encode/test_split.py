"""Split BTF: modules on the BTF of their kernel, distilled bases, and bases that are not valid.

The expected bytes are the reference's (fixtures/split, made by tools/golden/split_fixtures.py).
"""

from __future__ import annotations

import hashlib
import json
import random
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.btf.files import read_btf
from pybtf.btf.types import Struct
from pybtf.elf.writer import put_sections
from pybtf.errors import EncodeError, InputError, UsageError
from tests.builders import corruption
from tests.builders.elfwriter import bare
from tests.builders.rawbtf import raw_btf
from tests.builders.synthetic import named, of, typedef
from tests.conftest import RunCli
from tools.judge import btfdiff

HOME = Path(__file__).parents[2] / "fixtures" / "split"
MANIFEST: dict[str, Any] = json.loads((HOME / "manifest.json").read_text())
FEATURES: str = MANIFEST["features"]
TARGETS: dict[str, Any] = {entry["target"]: entry for entry in MANIFEST["targets"]}
MODULES = [(target, name) for target, entry in TARGETS.items() for name in entry["golden"]]


def module(target: str, name: str) -> Path:
    return HOME / "bin" / f"{name}.{target}.o"


def base_path(target: str) -> Path:
    return HOME / "golden" / str(TARGETS[target]["base"]["file"])


def golden(target: str, name: str, label: str) -> bytes | None:
    file = TARGETS[target]["golden"][name][label]["file"]
    return None if file is None else (HOME / "golden" / file).read_bytes()


def check(ours: bytes | bytearray | memoryview | None, target: str, name: str, label: str) -> None:
    expected = golden(target, name, label)
    assert ours is not None
    assert expected is not None
    difference = btfdiff.explain(bytes(ours), expected)
    assert not difference, difference


# The reference's bytes


@pytest.mark.parametrize("target", TARGETS)
def test_base(target: str) -> None:
    """The kernels of the fixtures are encoded as the reference does."""
    elf = HOME / "bin" / TARGETS[target]["elf"]
    assert pybtf.encode(elf, features=FEATURES).data == base_path(target).read_bytes()


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize(("target", "name"), MODULES)
def test_split(target: str, name: str, jobs: int) -> None:
    encoded = pybtf.encode(module(target, name), features=FEATURES, jobs=jobs, base=base_path(target))
    check(encoded.data, target, name, "split")
    assert encoded.base_data is None


@pytest.mark.parametrize(("target", "name"), MODULES)
def test_distilled(target: str, name: str) -> None:
    def encode() -> pybtf.Encoded:
        path = module(target, name)
        return pybtf.encode(path, features=f"{FEATURES},distilled_base", base=base_path(target))

    if golden(target, name, "distilled") is None:
        with pytest.raises(EncodeError, match="a distilled base cannot hold"):
            encode()
        return
    encoded = encode()
    check(encoded.base_data, target, name, "distilled_base")
    check(encoded.data, target, name, "distilled")
    assert {type.id for type in encoded.btf} == set(
        range(encoded.btf.first_id, encoded.btf.first_id + encoded.report.total_types)
    )


def test_distilled_enum_of_odd_size(tmp_path: Path) -> None:
    """The base has an enum of 0 bytes, as clang for BPF writes a declared one. pahole gives up, too."""
    path = tmp_path / "module.o"
    path.write_bytes(
        of(
            named("enumeration_type", "later", ("declaration", "flag_present", True), label="later"),
            typedef("t", "later"),
        )
    )
    for size in (0, 1, 3, 4):
        data = raw_btf([1, 6 << 24, size], b"\0later\0")
        base = pybtf.Base.from_bytes(data)
        if size in (1, 4):
            encoded = pybtf.encode(path, features=f"{FEATURES},distilled_base", base=base)
            assert encoded.base_data == data
            continue
        with pytest.raises(EncodeError, match="type 1 of the base is used"):
            pybtf.encode(path, features=f"{FEATURES},distilled_base", base=base)


def test_the_fixtures_have_what_they_are_for() -> None:
    """A module without own types; an impossible distilled base; a declaration of the base that a module completes."""
    assert all(len(golden(target, "same", "split") or b"") == 24 for target in TARGETS)
    assert [t for t in TARGETS if "tags" in TARGETS[t]["golden"] and golden(t, "tags", "distilled") is None]
    base = pybtf.BTF.from_file(base_path("gcc"))
    completed = pybtf.encode(module("gcc", "complete"), features=FEATURES, base=base_path("gcc")).btf
    assert base.by_name("opaque").kind.name == "FWD"  # type: ignore[union-attr]
    assert [t for t in completed if t.kind.name == "STRUCT" and getattr(t, "name", "") == "opaque"]


def test_manifest_describes_what_is_there() -> None:
    expected = {}
    for entry in TARGETS.values():
        expected[entry["base"]["file"]] = entry["base"]["sha256"]
        for answers in (*entry["golden"].values(), entry["combined"]):
            for facts in answers.values():
                if isinstance(facts, dict) and facts["file"]:
                    expected[facts["file"]] = facts["sha256"]
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (HOME / "golden").iterdir()}
    assert found == expected
    assert {path.name for path in (HOME / "bin").iterdir()} == {
        *(entry["elf"] for entry in TARGETS.values()),
        *(module(target, name).name for target, name in MODULES),
    }


# Several files, one BTF


COMBINED = [(target, name) for target, entry in TARGETS.items() for name in entry["combined"]]


@pytest.mark.parametrize(("target", "name"), COMBINED)
def test_combined(target: str, name: str, tmp_path: Path, run_cli: RunCli) -> None:
    facts = TARGETS[target]["combined"][name]
    files = [
        HOME / "bin" / TARGETS[target]["elf"] if each == "kernel" else module(target, each) for each in facts["modules"]
    ]
    out = tmp_path / "out.btf"
    base = ["--base", base_path(target)] if facts["base"] else []
    done = run_cli("encode", "-q", "--combine", *base, "--features", FEATURES, "--detached", out, *files)
    assert (done.returncode, done.stderr) == (0, "")
    difference = btfdiff.explain(out.read_bytes(), (HOME / "golden" / facts["file"]).read_bytes())
    assert not difference, difference


def test_combined_in_place(tmp_path: Path, run_cli: RunCli) -> None:
    """The BTF of all files goes into the first; the report names the others."""
    paths = []
    for name in ("reuse", "same"):
        paths.append(tmp_path / f"{name}.o")
        paths[-1].write_bytes(module("gcc", name).read_bytes())
    report = tmp_path / "report.json"
    done = run_cli("encode", "-q", "--combine", "--features", FEATURES, "--report", report, *paths)
    assert (done.returncode, done.stderr) == (0, "")
    assert read_btf(paths[0])[0] == (HOME / "golden" / TARGETS["gcc"]["combined"]["two"]["file"]).read_bytes()
    assert paths[1].read_bytes() == module("gcc", "same").read_bytes()
    assert json.loads(report.read_text())["input"]["others"] == [str(paths[1])]


def test_combining_what_does_not_go_together(tmp_path: Path, run_cli: RunCli) -> None:
    """Different byte orders; a file without DWARF, for which the reference silently writes nothing."""
    out = tmp_path / "out"
    done = run_cli("encode", "--combine", "--detached", out, module("gcc", "reuse"), module("s390x", "reuse"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "a big-endian file; expected the byte order of the first file" in done.stderr
    plain = tmp_path / "plain.o"
    plain.write_bytes(bare([]))
    done = run_cli("encode", "--combine", "--detached", out, module("gcc", "reuse"), plain)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"{plain}: has no DWARF" in done.stderr
    both = [module("gcc", "reuse"), module("gcc", "same")]
    for path in both:
        done = run_cli("encode", "--combine", "--detached", path, *both)
        assert (done.returncode, "--detached OUT is FILE itself" in done.stderr) == (2, True)
    assert not out.exists()


# One base, many encodings


@pytest.mark.parametrize("target", TARGETS)
def test_encodings_on_one_base_do_not_affect_each_other(target: str) -> None:
    """In any order, several at a time, also after one that replaces types of the base and after one that fails."""
    base = pybtf.Base.from_file(base_path(target))
    names = [name for t, name in MODULES if t == target] * 6
    random.Random(target).shuffle(names)

    def encode(name: str) -> tuple[str, bytes]:
        if name == "names":
            with pytest.raises(InputError):
                pybtf.encode(HOME / "src" / "same.c", features=FEATURES, base=base)
            with pytest.raises(InputError, match="no unit has anything to encode"):
                pybtf.encode(module(target, name), features=FEATURES, base=base, lang_exclude="c99,c11,c")
        return name, bytes(pybtf.encode(module(target, name), features=FEATURES, jobs=1, base=base).data)

    with ThreadPoolExecutor(4) as pool:
        for name, data in pool.map(encode, names):
            check(data, target, name, "split")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("raw", [True, False])
def test_a_base_that_was_read_for_one_module_serves_others(target: str, raw: bool, tmp_path: Path) -> None:
    """Such a base is read in another way, from either sort of file."""
    path = base_path(target)
    if not raw:
        path = tmp_path / "vmlinux"
        path.write_bytes(module(target, "reuse").read_bytes())
        put_sections(path, {".BTF": base_path(target).read_bytes()})
    first = pybtf.encode(module(target, "reuse"), features=FEATURES, base=path, force_base=True)
    check(first.data, target, "reuse", "split")
    assert first.base is not None
    assert bytes(first.base.btf.data) == base_path(target).read_bytes()
    for name in (name for t, name in MODULES if t == target):
        check(pybtf.encode(module(target, name), features=FEATURES, base=first.base).data, target, name, "split")


@pytest.mark.parametrize("target", TARGETS)
def test_what_fails_leaves_the_base_as_it_was(target: str, tmp_path: Path) -> None:
    """Wherever the damage of a module is noticed, the next module finds the base unchanged."""
    base = pybtf.Base.from_file(base_path(target))
    good = pybtf.encode(module(target, "reuse"), features=FEATURES, base=base).data
    data = module(target, "reuse").read_bytes()
    places = corruption.regions(data)
    bad = tmp_path / "bad.ko"
    failed = 0
    for seed in range(60):
        bad.write_bytes(corruption.mutate(data, places, f"base {seed}"))
        try:
            pybtf.encode(bad, features=FEATURES, base=base)
        except pybtf.PybtfError:
            failed += 1
        assert pybtf.encode(module(target, "reuse"), features=FEATURES, base=base).data == good
    assert failed > 5


def test_base_as_an_object() -> None:
    base = pybtf.Base.from_file(base_path("s390x"))
    assert not base.little
    assert len(base) == len(pybtf.BTF.from_file(base_path("s390x"))) == len(base.btf)
    again = pybtf.Base.from_bytes(base_path("s390x").read_bytes())
    check(pybtf.encode(module("s390x", "reuse"), features=FEATURES, base=again).data, "s390x", "reuse", "split")


def test_base_in_an_elf_file(tmp_path: Path) -> None:
    """A vmlinux with .BTF, and the result read back through the API."""
    kernel = tmp_path / "vmlinux"
    kernel.write_bytes((HOME / "bin" / "kernel.gcc.elf").read_bytes())
    pybtf.encode(kernel, features=FEATURES).embed(kernel)
    encoded = pybtf.encode(module("gcc", "reuse"), features=FEATURES, base=kernel)
    check(encoded.data, "gcc", "reuse", "split")
    mine = encoded.btf.by_name("mine")
    assert isinstance(mine, Struct)
    assert encoded.btf.type(mine.members[0].type).name == "device"
    assert mine.members[0].type < encoded.btf.first_id


def test_what_belongs_to_other_btf_is_not_left_beside_new_one(tmp_path: Path) -> None:
    """An old distilled base would be read with the new split BTF and be wrong. For `.BTF.ext` there is a warning."""
    path = tmp_path / "m.ko"
    path.write_bytes(module("gcc", "reuse").read_bytes())
    for _ in range(2):
        pybtf.encode(path, features="+distilled_base", base=base_path("gcc")).embed(path)
    before = path.read_bytes()
    split = pybtf.encode(path, base=base_path("gcc"))
    with pytest.raises(pybtf.OutputError, match=r"m\.ko: has a \.BTF\.base, on which the new BTF is not built"):
        split.embed(path)
    assert path.read_bytes() == before
    put_sections(path, {".BTF.ext": b"x"})
    assert pybtf.encode(path, features="+distilled_base", base=base_path("gcc")).embed(path).stale == ()
    assert pybtf.encode(path, features="distilled_base", base=base_path("gcc")).embed(path).stale == (".BTF.ext",)


def test_base_without_types() -> None:
    """Then every type is the module's own, with the ids that it has without a base."""
    path = module("gcc", "reuse")
    split = pybtf.encode(path, features=FEATURES, base=pybtf.Base.from_bytes(raw_btf([])))
    alone = pybtf.encode(path, features=FEATURES)
    assert split.report.types == alone.report.types
    assert [t.id for t in split.btf] == [t.id for t in alone.btf]
    assert bytes(split.data)[-split.report.strings_size :] == bytes(alone.data)[1 - alone.report.strings_size :]


# Bases that are not valid


def damaged(change: Callable[[bytearray], None]) -> bytes:
    data = bytearray(base_path("gcc").read_bytes())
    change(data)
    return bytes(data)


def put(offset: int, *values: int) -> Callable[[bytearray], None]:
    def change(data: bytearray) -> None:
        for i, value in enumerate(values):
            struct.pack_into("<I", data, offset + 4 * i, value)

    return change


def types_to(surplus: int) -> Callable[[bytearray], None]:
    """Types that extend this many bytes past the end of the file."""

    def change(data: bytearray) -> None:
        struct.pack_into("<I", data, 12, len(data) - 24 - struct.unpack_from("<I", data, 8)[0] + surplus)

    return change


def cut(data: bytearray) -> None:
    del data[-40:]


def unterminated(data: bytearray) -> None:
    data[-1] = ord("x")


def no_first(data: bytearray) -> None:
    data[24 + struct.unpack_from("<I", data, 12)[0]] = ord("x")


BAD_BASES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty; expected raw BTF, or an ELF file with BTF, or one of them compressed"),
    "text": (b"int main;", "expected raw BTF, or an ELF file with BTF, or one of them compressed"),
    "magic only": (b"\x9f\xeb\x01\x00", "4 bytes; expected a BTF header of at least 24"),
    "version": (damaged(lambda data: data.__setitem__(2, 9)), "version 9; expected version 1"),
    "cut": (damaged(cut), "string section at"),
    "type length": (damaged(put(12, 0x7FFFFFF0)), "type section at 0x18, 2147483632 bytes long"),
    "type end": (damaged(types_to(4)), "an end within the"),
    "unterminated": (damaged(unterminated), "the last string has no end"),
    "no empty string": (damaged(no_first), "no empty string; expected the string section to begin with one"),
    "kind": (damaged(put(24, 1, 25 << 24)), "has an unknown kind"),
    "reserved bits": (damaged(put(24, 1, 1 << 24 | 1 << 16)), "has reserved bits set"),
    "name": (damaged(put(24, 0x00FFFFFF)), "lies beyond the strings"),
    "reference": (damaged(put(24, 0, 2 << 24, 0x00FFFFFF)), "refers to type 16777215, which does not exist"),
    "split": (golden("gcc", "reuse", "split") or b"", "no empty string"),
}


@pytest.mark.parametrize("name", BAD_BASES)
def test_bad_base(name: str, tmp_path: Path) -> None:
    data, message = BAD_BASES[name]
    path = tmp_path / "base"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        pybtf.encode(module("gcc", "reuse"), features=FEATURES, base=path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_base_of_another_byte_order() -> None:
    message = "reuse.gcc.o: a little-endian file; expected the byte order of the base .*kernel.s390x.btf"
    with pytest.raises(InputError, match=message):
        pybtf.encode(module("gcc", "reuse"), features=FEATURES, base=base_path("s390x"))
    with pytest.raises(InputError, match="a big-endian file"):
        pybtf.encode(module("s390x", "reuse"), features=FEATURES, base=base_path("gcc"))


def test_base_is_missing_or_has_no_btf(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such file"):
        pybtf.encode(module("gcc", "reuse"), base=tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no \.BTF section"):
        pybtf.encode(module("gcc", "reuse"), base=HOME / "bin" / "kernel.gcc.elf")


def test_base_whose_btf_is_elsewhere(tmp_path: Path) -> None:
    """A separate debug file has the header of .BTF, but not its contents."""
    path = tmp_path / "vmlinux.debug"
    path.write_bytes((HOME / "bin" / "kernel.gcc.elf").read_bytes())
    put_sections(path, {".BTF": base_path("gcc").read_bytes()})
    data = bytearray(path.read_bytes())
    (headers,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    (table,) = struct.unpack_from("<Q", data, headers + names * size + 24)
    for at in range(headers, headers + count * size, size):
        name = table + struct.unpack_from("<I", data, at)[0]
        if data[name : name + 5] == b".BTF\0":
            struct.pack_into("<I", data, at + 4, 8)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"a NOBITS section of \d+ bytes: its contents are not in this file"):
        pybtf.encode(module("gcc", "reuse"), base=path)


def test_distilled_without_a_base() -> None:
    with pytest.raises(UsageError, match="distilled_base needs a base"):
        pybtf.encode(module("gcc", "reuse"), features="default,distilled_base")


def test_no_unit_at_all() -> None:
    """All types may be in the base, but something must have been encoded."""
    with pytest.raises(InputError, match=r"no unit has anything to encode.*left out by language, see --lang"):
        pybtf.encode(module("gcc", "same"), base=base_path("gcc"), lang="rust")


# The command line


def test_command_line(tmp_path: Path, run_cli: RunCli) -> None:
    path = tmp_path / "reuse.ko"
    path.write_bytes(module("gcc", "reuse").read_bytes())
    base = base_path("gcc")
    done = run_cli("encode", "--base", base, "--features", FEATURES, path)
    assert (done.returncode, done.stderr.startswith(f"{path}: ")) == (0, True)
    check(read_btf(path)[0], "gcc", "reuse", "split")

    done = run_cli("encode", "-q", "--base", base, "--features", f"{FEATURES},distilled_base", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    check(read_btf(path)[0], "gcc", "reuse", "distilled")
    check(read_btf(path, ".BTF.base")[0], "gcc", "reuse", "distilled_base")

    out = tmp_path / "out.btf"
    done = run_cli(
        "encode", "-q", "--base", base, "--features", f"{FEATURES},distilled_base", "--detached", out, path
    )
    assert done.returncode == 0
    check(out.read_bytes(), "gcc", "reuse", "split")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--features", "distilled_base"], 2, "distilled_base needs a base"),
        (["--base", "BASE", "--detached", "BASE"], 2, "--detached OUT is the base itself"),
        (["--base", "BASE", "--report", "BASE"], 2, "--report JSON is the base itself"),
        (["--base", "/nonexistent/vmlinux"], 1, "/nonexistent/vmlinux: no such file"),
        (["--base", "-", "--detached", "-"], 1, "-: no such file. Standard input cannot take its place"),
    ],
)
def test_command_line_errors(
    tmp_path: Path, run_cli: RunCli, arguments: list[str], status: int, message: str
) -> None:
    path, base = tmp_path / "reuse.ko", tmp_path / "base.btf"
    path.write_bytes(module("gcc", "reuse").read_bytes())
    base.write_bytes(base_path("gcc").read_bytes())
    done = run_cli("encode", *(str(base) if each == "BASE" else each for each in arguments), path)
    assert done.returncode == status
    assert message in done.stderr
    assert path.read_bytes() == module("gcc", "reuse").read_bytes()
    assert base.read_bytes() == base_path("gcc").read_bytes()
