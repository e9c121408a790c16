"""`pybtf verify`: the rules from both sides, as kernels answer; what is printed; damage."""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import re
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.btf.types import Struct
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.verify import rules
from pybtf.verify.header import check_header
from pybtf.verify.judge import MODULE, USER, VERSIONS, VMLINUX, judge
from pybtf.verify.task import version_of
from pybtf.verify.words import kernel_message
from tests.builders.elfwriter import Section, elf
from tests.builders.rawbtf import raw_btf
from tests.conftest import ROOT
from tools.generate import randbtf
from tools.golden.minimal_btf import (
    ARRAY,
    CASES,
    CONST,
    FUNC,
    INT,
    KERNELS,
    PROTO,
    PTR,
    TYPEDEF,
    VAR,
    Case,
    Maker,
)

RECORDED = {
    name: json.loads((ROOT / "fixtures" / "verify" / f"{name}-6.18.json").read_text()) for name in ("kernel", "fields")
}

Verify = Callable[..., tuple[int, str]]


# The rules


def test_the_numbers_of_the_core_are_those_of_the_table() -> None:
    text = (ROOT / "src" / "pybtf" / "core" / "accept" / "accept.pxd").read_text()
    names = re.findall(r"^    R_(\w+)", text, re.M)
    assert names == [rule.key for rule in rules.RULES]


@pytest.mark.parametrize("version", KERNELS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.label}")
def test_kernels_answer_so(case: Case, version: int) -> None:
    assert judge(case.data, USER, version, pointer=8).errno == case.expected(version)


@pytest.mark.parametrize("name", RECORDED)
def test_answers_of_a_kernel(name: str) -> None:
    """Recorded by tools/compare/verify_compare.py."""
    version, cases = RECORDED[name]["version"], RECORDED[name]["cases"]
    assert len(cases) == 500
    wrong = []
    for number, (packed, errno) in enumerate(cases):
        data = zlib.decompress(base64.b64decode(packed))
        if judge(data, USER, version, pointer=8).errno != errno:
            wrong.append(number)
    assert not wrong
    assert len({errno for _, errno in cases}) > 4


def test_each_rule_of_records_and_references_is_met() -> None:
    met = {finding[0] for case in CASES for version in VERSIONS for finding in judge(case.data, USER, version).found}
    missing = {rule.key for number, rule in enumerate(rules.RULES) if number not in met}
    assert missing <= {"SEC_SUM", "SURPLUS", "SEC_VAR_TYPE", "CHAIN", "CHAIN_MISSING", "MIDDLE", "OVERLAP", "UNSORTED",
                       "TYPES_ALIGN"}  # fmt: skip


def test_only_a_program_is_asked_about_references() -> None:
    """A kernel loads its own BTF and that of modules without checking references."""
    made = Maker().struct("s", 4, ("a", 1, 32)).add(PTR, 0, 99).add(VAR, "v", 99, 0)
    data = made.make()
    assert judge(data, USER).errno
    for loader in (VMLINUX, MODULE):
        judged = judge(data, loader)
        assert judged.errno == 0
        assert len(judged.found) >= 3


def test_chains_of_modifiers_are_looked_at_for_all() -> None:
    row = Maker()
    for i in range(33):
        row.add(CONST, 0, i + 3 if i < 32 else 1)
    assert [judge(row.make(), VMLINUX, version).errno for version in (518, 519)] == [0, 40]
    missing = Maker().add(CONST, 0, 9).make()
    assert judge(missing, VMLINUX, 602).errno == 22
    assert kernel_message(judge(missing, VMLINUX, 602).first or (0, 0, 0, 0)) == ""
    circle = Maker().add(CONST, 0, 3).add(CONST, 0, 2).make()
    assert judge(circle, MODULE).errno == 40


@pytest.mark.parametrize(("version", "most"), [(500, 64), (501, 128)])
def test_the_most_bits_of_a_number(version: int, most: int) -> None:
    whole = Maker().add(INT, "i", 32, 8 << 16 | most).make()
    member = Maker().add(INT, "i", most // 8, most).struct("s", 64, ("a", 2, 1)).make()
    for data, message in ((whole, f"nr_bits exceeds {most}"), (member, f"nr_copy_bits exceeds {most}")):
        first = judge(data, USER, version).first
        assert first is not None
        assert kernel_message(first, version) == message


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "is empty"),
        (b"all of it is text\n", "starts with 61 6c 6c 20: a text file"),
        (b"MZ" + bytes(100), "starts with 4d 5a 00 00: an EFI program"),
        (gzip.compress(gzip.compress(b"x")), "starts with 1f 8b 08 00: data compressed with gzip"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("way", ["a file", "standard input", "a base"])
def test_files_that_are_no_btf(
    way: str, data: bytes, found: str, tmp_path: Path, capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Raw BTF is accepted, too, and the message says so."""
    path = tmp_path / "file"
    path.write_bytes(data)
    with path.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        arguments = {"a file": [str(path)], "standard input": ["-"], "a base": ["--base", str(path), str(path)]}
        assert main(["verify", *arguments[way]]) == 1
    said = capfd.readouterr().err
    assert f": {found}" in said
    assert "expected raw BTF, or an ELF file with BTF, or one of them compressed" in said


def test_raw_btf_may_be_compressed(verify: Verify, tmp_path: Path) -> None:
    path = tmp_path / "x.btf.gz"
    path.write_bytes(gzip.compress(Maker().make()))
    status, said = verify(path)
    assert status == 0
    assert said.startswith(f"{path}: accepted")


def test_an_int_of_128_bits(verify: Verify, tmp_path: Path) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(Maker().add(INT, "__int128", 16, 1 << 24 | 128).make())
    status, said = verify("--kernel", "5.0", path)
    assert status == 1
    assert 'EINVAL "nr_bits exceeds 64"' in said
    assert "offset and bits add up to 128; at most 128 (before 5.1: 64)" in said
    assert verify("--kernel", "5.1", path)[0] == 0


def test_all_defects_are_listed_and_the_first_is_marked() -> None:
    made = Maker().add(TYPEDEF, "a-b", 1).add(PTR, 0, 99).add(TYPEDEF, "c-d", 1).add(INT, "i", 4, 99)
    judged = judge(made.make())
    keys = [rules.RULES[finding[0]].key for finding in judged.found]
    assert keys == ["NAME_BAD", "NAME_BAD", "INT_SIZE", "REF_MISSING"]
    assert judged.first == judged.found[0]
    assert judged.counts[rules.NUMBERS["NAME_BAD"]] == 2


def test_what_depends_on_a_bad_type_is_not_judged() -> None:
    made = Maker().add(TYPEDEF, "t", 99).struct("s", 4, ("a", 2, 0)).add(ARRAY, 0, 0, 2, 1, 3).proto(2, ("p", 2))
    assert [rules.RULES[finding[0]].key for finding in judge(made.make()).found] == ["REF_MISSING"]


def test_types_behind_one_that_nobody_knows_are_not_judged() -> None:
    judged = judge(Maker().add(25, 0, 0).add(PTR, 0, 99).make())
    assert [rules.RULES[finding[0]].key for finding in judged.found] == ["KIND"]


def test_kinds_of_newer_versions_are_stepped_over() -> None:
    made = Maker().add(19, "e", 8, "x", 1, 0, vlen=1).add(TYPEDEF, "a-b", 1)
    keys = [rules.RULES[finding[0]].key for finding in judge(made.make(), USER, 517).found]
    assert keys == ["KIND", "NAME_BAD"]


def test_unsorted_types_since_7_0() -> None:
    made = Maker().struct("b", 4).struct("a", 4).make()
    for version, expected in ((615, []), (700, ["UNSORTED"])):
        assert [rules.RULES[finding[0]].key for finding in judge(made, VMLINUX, version).found] == expected
        assert judge(made, VMLINUX, version).errno == 0


def test_byte_order() -> None:
    made = Maker().add(PTR, 0, 1)
    data = raw_btf(made.words, bytes(made.strings), order=">")
    assert judge(data, little=False).errno == 0
    assert judge(data, little=True).errno == 22


def test_pointers_of_four_bytes() -> None:
    pair = Maker().add(PTR, 0, 0).struct("s", 8, ("a", 2, 0), ("b", 2, 32))
    assert judge(pair.make(), pointer=4).errno == 0
    assert judge(pair.make(), pointer=8).errno == 22
    told = Maker().add(INT, "long unsigned int", 4, 32).add(PTR, 0, 0).struct("s", 8, ("a", 3, 0), ("b", 3, 32))
    assert judge(told.make()).errno == 0
    clang = Maker().add(INT, "unsigned long", 4, 32).add(PTR, 0, 0).struct("s", 8, ("a", 3, 0), ("b", 3, 32))
    assert judge(clang.make()).errno == 0


def test_a_layout_is_known_since_7_1() -> None:
    made = Maker().make(extra=struct.pack("<II", 0, 0))
    told = Maker().make(extra=struct.pack("<II", 20, 4), tail=bytes(4))
    assert [judge(made, version=version).errno for version in (700, 701)] == [0, 0]
    assert rules.RULES[judge(told, version=700).found[0][0]].key == "HDR_LONG"
    assert "HDR_LONG" not in {rules.RULES[finding[0]].key for finding in judge(told, version=701).found}


def test_strings_had_64_kilobytes_before_5_4() -> None:
    made = Maker()
    made.strings += b"a" * (1 << 16) + b"\0"
    assert [judge(made.make(), version=version).errno for version in (502, 504)] == [22, 0]


def test_what_is_split_may_have_no_strings_of_its_own() -> None:
    base = judge(Maker().make(), VMLINUX).layer
    data = raw_btf((0, PTR << 24, 1), b"")
    assert judge(data, MODULE, base=base).errno == 0
    assert judge(data, VMLINUX).errno == 22


def test_parameters_count_from_one() -> None:
    made = Maker().add(FUNC, "f", 3, vlen=0).proto(1, ("", 1))
    first = judge(made.make()).first
    assert first is not None
    assert (rules.RULES[first[0]].key, kernel_message(first)) == ("FUNC_ARG", "Invalid arg#1")


# What is printed


def test_text(verify: Verify, tmp_path: Path) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(Maker().add(TYPEDEF, "a-b", 1).add(PTR, 0, 99).make())
    status, text = verify("--kernel", "6.1", path)
    assert status == 1
    assert text.splitlines() == [
        f"{path}: rejected: EINVAL (kernel 6.1, loader user); the program has no BTF, and fails if it needs it",
        '  rejected, rule N1 (the first that the kernel meets; EINVAL "Invalid name"):',
        "    [2] TYPEDEF 'a-b': the name is not an identifier",
        '  rejected, rule REF2 (EINVAL "Invalid type_id"):',
        "    [3] PTR: type 99 does not exist",
    ]
    status, text = verify("--quiet", path)
    assert (status, len(text.splitlines())) == (1, 1)
    path.write_bytes(b"\x9f\xeb\2" + Maker().make()[3:])
    text = verify("-q", "--loader", "vmlinux", path)[1]
    assert text.endswith("; no BPF program is loaded, and no module that has BTF\n")


def test_only_some_examples_of_a_rule_are_shown(verify: Verify, tmp_path: Path) -> None:
    """And only the beginning of long names."""
    path, made = tmp_path / "x.btf", Maker()
    for number in range(4):
        made.add(TYPEDEF, f"a-{'b' * 78}{number}", 1)
    path.write_bytes(made.make())
    shown = [f"    [{id}] TYPEDEF 'a-{'b' * 78}': the name is not an identifier" for id in (2, 3, 4)]
    assert verify(path)[1].splitlines()[2:] == [*shown, "    and 1 more"]
    assert json.loads(verify("--json", path)[1])["files"][0]["findings"][0]["count"] == 4


HEADER = Maker().make(extra=b"\1" + bytes(7))
CUT = Maker()
CUT.words += [0, 4 << 24 | 2, 4, 0]
NAMED = Maker().struct("s", 4, ("a-b", 1, 0)).make()
LOCKS = Maker().struct("bpf_spin_lock", 4, ("val", 1, 0)).struct("s", 8, ("a", 2, 0), ("b", 2, 32)).make()


@pytest.mark.parametrize(
    ("data", "head", "place", "what"),
    [
        (HEADER, 'H3 (the first that the kernel meets; E2BIG "Unsupported btf_header")', None,
         "byte 24 of the header, past the known fields, is not 0"),
        (CUT.make(), 'T7 (the first that the kernel meets; EINVAL "meta_left:4 meta_needed:24")', (2, None, None),
         "4 bytes are left, the record needs 24 more"),
        (NAMED, 'MEM1 (the first that the kernel meets; EINVAL "Invalid name")', (2, "STRUCT", "s"),
         "member 0: the name is not an identifier"),
        (LOCKS, "SPC (the first that the kernel meets; E2BIG, without a message)", (3, "STRUCT", "s"),
         "a struct with two locks, or more than 11 fields that the kernel knows"),
    ],
    ids=["header", "cut", "name", "locks"],
)  # fmt: skip
def test_what_is_said_of_a_finding(
    data: bytes, head: str, place: tuple[object, ...] | None, what: str, verify: Verify, tmp_path: Path
) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(data)
    _, line, example, *_ = verify("--kernel", "6.18", path)[1].splitlines()
    assert line == f"  rejected, rule {head}:"
    id, kind, name = place or (None, None, None)
    where = f"[{id}] {kind or 'record'}{f' {name!r}' if name else ''}: " if place else ""
    assert example == f"    {where}{what}"
    found = json.loads(verify("--kernel", "6.18", "--json", path)[1])["files"][0]["findings"][0]
    assert (found["examples"], found["since"]) == (
        [{"id": id, "kind": kind, "name": name, "text": what}], "6.2" if data is LOCKS else "4.18",
    )  # fmt: skip


def test_a_table_of_versions(verify: Verify, tmp_path: Path) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(Maker().add(16, "float", 4).add(17, "t", 4, 0xFFFFFFFF).struct("s", 4).make())
    status, text = verify("--kernel", "all", path)
    assert status == 0
    assert text.splitlines()[1:4] == [
        "  4.18 before 5.13  EINVAL: T4, [2] FLOAT 'float': bits that no kind has are set in 0x10000000",
        "  5.13 before 5.16  EINVAL: T5, [3] DECL_TAG 't': kind 17, which the kernel does not know",
        "  5.16 and newer    accepted",
    ]


def test_json(verify: Verify, tmp_path: Path) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(Maker().add(TYPEDEF, "a-b", 1).make())
    status, text = verify("--json", path)
    (result,) = json.loads(text)["files"]
    assert (status, result["verdict"], result["errno"]) == (1, "rejected", "EINVAL")
    (group,) = result["findings"]
    assert group["first"]
    assert group["examples"] == [{"id": 2, "kind": "TYPEDEF", "name": "a-b", "text": "the name is not an identifier"}]


def test_strict(verify: Verify, tmp_path: Path) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(Maker().add(PTR, 0, 99).make())
    assert verify("--loader", "vmlinux", path)[0] == 0
    assert verify("--loader", "vmlinux", "--strict", path)[0] == 1


def test_a_module_without_btf(verify: Verify, tmp_path: Path) -> None:
    """Kernels load it. Before 5.11, they do not read BTF of modules."""
    path = tmp_path / "x.ko"
    path.write_bytes(elf([Section(".gnu.linkonce.this_module", bytes(8), flags=2)], type="ET_REL").data)
    status, text = verify(path)
    assert (status, text.splitlines()[1:]) == (0, ["  no BTF; the module is loaded without it"])
    status, text = verify("--require-btf", "--kernel", "6.1", path)
    assert (status, text) == (1, f"{path}: has no BTF (kernel 6.1, loader module); it is loaded without it\n")
    status, text = verify("--require-btf", "--json", path)
    (found,) = json.loads(text)["files"]
    assert (status, found["verdict"], found["error"]) == (1, "missing", None)
    assert verify("--require-btf", "--kernel", "5.10", path)[0] == 0


def test_a_name_that_is_no_utf_8_is_that_byte_in_json(verify: Verify, tmp_path: Path) -> None:
    """As in the JSON of other commands. A name with a backslash is another. Long names are cut at a whole character."""
    path = tmp_path / "odd.btf"
    builder = BtfBuilder()
    builder.extend([Struct(name, 4, ()) for name in ("\udcff-", "\\xff-", "é" * 100)])
    path.write_bytes(builder.tobytes(True))
    (names,) = json.loads(verify("--json", path)[1])["files"][0]["findings"]
    assert [each["name"] for each in names["examples"]] == ["\udcff-", "\\xff-", "é" * 80]
    assert r"STRUCT '\xff-'" in verify(path)[1]


def test_an_empty_section_is_no_btf(
    verify: Verify, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """To kernels, a module with one is a module without BTF. The first link of a kernel by lld leaves one."""
    module, plain, dwarf = tmp_path / "x.ko", tmp_path / "x", tmp_path / "y"
    sections = [Section(".BTF", b""), Section(".gnu.linkonce.this_module", bytes(8), flags=2)]
    module.write_bytes(elf(sections, type="ET_REL").data)
    status, text = verify(module)
    assert (status, text.splitlines()[1:]) == (0, ["  no BTF; the module is loaded without it"])
    assert verify("--require-btf", module)[0] == 1
    for type in ("ET_EXEC", "ET_REL"):
        plain.write_bytes(elf(sections[:1], type=type).data)
        dwarf.write_bytes(elf([sections[0], Section(".debug_info", bytes(16))], type=type).data)
        packed = tmp_path / "y.gz"
        packed.write_bytes(gzip.compress(dwarf.read_bytes()))
        tells = {plain: "", dwarf: f". It has DWARF: `pybtf encode {dwarf}` makes BTF of that."}
        tells[packed] = f". It has DWARF: `pybtf encode --detached OUT {packed}` makes BTF of that."
        for path, hint in tells.items():
            assert main(["verify", str(path)]) == 1
            line = f"pybtf: error: {path}: an empty .BTF section; expected an ELF file with BTF{hint}\n"
            assert capfdbinary.readouterr() == (b"", line.encode())


def test_a_name_of_a_file_is_no_line_of_its_own(verify: Verify, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"f\xff\n.btf: accepted")
    path.write_bytes(Maker().add(TYPEDEF, "a-b", 1).make())
    status, text = verify("-q", path)
    assert (status, text.count("\n")) == (1, 1)
    assert text.startswith(rf"{tmp_path}/f\xff\n.btf: accepted: rejected: EINVAL ")


def test_many_files_are_counted(verify: Verify, tmp_path: Path) -> None:
    good, bad = Maker().make(), Maker().add(PTR, 0, 99).make()
    for number in range(20):
        (tmp_path / f"{number:02}.btf").write_bytes(bad if number == 7 else good)
    paths = sorted(tmp_path.iterdir())
    for jobs in ("1", "2"):
        status, text = verify("-j", jobs, *paths)
        assert (status, text.splitlines()[-1]) == (1, "20 files: 19 accepted, 1 rejected")
        assert text.startswith(f"{tmp_path}/07.btf: rejected: EINVAL")


@pytest.mark.parametrize("source", ["a file", "standard input"])
def test_files_of_a_list(source: str, verify: Verify, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `encode`."""
    given, listed, names = tmp_path / "a", tmp_path / "b", tmp_path / "list"
    given.write_bytes(Maker().make())
    listed.write_bytes(Maker().add(PTR, 0, 99).make())
    names.write_text(f"{listed}\n\n{given}\n")
    with names.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        status, text = verify("--from-list", names if source == "a file" else "-", given)
    assert (status, text.splitlines()[-1]) == (1, "2 files: 1 accepted, 1 rejected")


def test_a_list_of_no_files_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = tmp_path / "list"
    names.touch()
    assert main(["verify", "--from-list", str(names)]) == 1
    assert "names no file; expected one path in each line" in capfd.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [[], ["--kernel", "6", "x"], ["--kernel", "4.17", "x"], ["--kernel", "x.y", "x"], ["--loader", "me", "x"],
     ["--loader", "user", "--base", "b", "x"], ["--base", "-", "-"], ["--from-list", "-", "-"],
     ["--from-list", "x", "--fix", "y"],
     ["--btf-ids", "--require-btf", "x"]],
)  # fmt: skip
def test_usage(arguments: list[str]) -> None:
    assert main(["verify", *arguments]) == 2


def test_versions_have_minor_numbers_below_100() -> None:
    assert [version_of(text) for text in ("6.99", "v4.18")] == [699, 418]
    assert [version_of(text) for text in ("6.100", "4.17", "6", "6.x")] == [None] * 4


def test_names_of_versions(verify: Verify, tmp_path: Path) -> None:
    path = tmp_path / "x.btf"
    path.write_bytes(Maker().make())
    assert "(kernel 6.1, " in verify("--kernel", "6.1.0-50-amd64", path)[1]


# Damage


def test_damage_gives_findings() -> None:
    """Whatever the words and the header contain, there is an answer, for each loader, and on a base."""
    chooser = random.Random(16)
    base = judge(Maker().add(PTR, 0, 0).struct("list_head", 16, ("next", 2, 0)).make(), VMLINUX).layer
    broken: set[int] = set()
    for seed in range(150):
        made = randbtf.RandomBtf(seed)
        source = made.make()
        for _ in range(4):
            data = bytearray(source)
            for _ in range(chooser.randrange(1, 8)):
                at = chooser.randrange(len(data))
                data[at] = chooser.choice((0, 1, 0x7F, 0xFF, chooser.randrange(256)))
            cut = bytes(data[: chooser.choice((len(data), chooser.randrange(len(data))))])
            for loader in (USER, VMLINUX, MODULE):
                version = chooser.choice(VERSIONS)
                found = judge(cut, loader, version, little=made.order == "<")
                again = judge(cut, loader, version, little=made.order == "<")
                assert (found.found, found.counts) == (again.found, again.counts)
                assert all(each[0] in found.counts for each in found.found)
                broken |= found.counts.keys()
            judge(cut, MODULE, base=base)
    assert len(broken) > 30


def test_a_prototype_that_many_functions_share_is_looked_through_once() -> None:
    count = 20_000
    made = Maker().add(PROTO, 0, 0, *(word for _ in range(60_000) for word in (1, 1)), vlen=60_000)
    made.words += (1, FUNC << 24, 2) * count
    assert judge(made.make(), USER, 618).layer is not None


def test_sections_outside_of_the_file() -> None:
    for field in (8, 12, 16, 20):
        for value in (0xFFFFFFFF, 0x80000000, 1000):
            data = bytearray(Maker().make())
            data[field : field + 4] = value.to_bytes(4, "little")
            assert judge(bytes(data)).errno == 22


def test_the_header_is_a_table_of_lies() -> None:
    header = check_header(b"\x9f\xeb\1\0" + b"\xff" * 28, True, 702, True, False)
    assert header.types is None
    assert header.found
