"""`pybtf verify --btf-ids`: names looked up in BTF. fixtures/verify/btf_ids records what resolve_btfids does."""

from __future__ import annotations

import gzip
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pybtf.cli.main import main
from pybtf.elf.image import ElfImage
from pybtf.elf.writer import put_sections
from tests.conftest import ROOT

FOLDER = ROOT / "fixtures" / "verify" / "btf_ids"
UNRESOLVED, RESOLVED = FOLDER / "unresolved.elf", FOLDER / "resolved.elf"
#: Where the words of fixtures/verify/btf_ids/ids.c are in .BTF_ids.
KSET, MISSING, KNOWN, PLAIN = 0, 24, 32, 56

Verify = Callable[..., tuple[int, Any]]


@pytest.fixture
def verify(capfd: pytest.CaptureFixture[str]) -> Verify:
    def call(*arguments: str | Path) -> tuple[int, Any]:
        status = main(["verify", "--btf-ids", "--json", *map(str, arguments)])
        out = capfd.readouterr().out
        return status, json.loads(out)["files"] if out else None

    return call


def rows(result: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(each["rule"], each["severity"], each["name"]) for each in result["findings"]}


def changed(tmp_path: Path, offset: int, *words: int, source: Path = RESOLVED) -> Path:
    with ElfImage.open(str(source)) as image:
        section = image.section(".BTF_ids")
        assert section is not None
        place = section.offset
    data = bytearray(source.read_bytes())
    struct.pack_into(f"<{len(words)}I", data, place + offset, *words)
    path = tmp_path / "changed.elf"
    path.write_bytes(data)
    return path


def test_what_resolve_btfids_warns_of(verify: Verify) -> None:
    said = (FOLDER / "warnings.txt").read_text()
    unresolved = set(re.findall(r"unresolved symbol (\w+)", said))
    several = re.findall(r"multiple IDs found for '(\w+)': (.*) - using (\d+)", said)
    status, (result,) = verify(UNRESOLVED)
    found = result["findings"]
    assert {each["name"] for each in found if each["rule"] == "IDS1"} == unresolved
    texts = [(each["name"], each["text"]) for each in found if each["rule"] == "IDS2"]
    assert texts == [(name, f"2 types of this name, {ids}: {used} is used") for name, ids, used in several]
    assert {each["unit"] for each in found} == {"ids.c"}
    assert (status, result["resolved"], result["ids"], result["sets"]) == (1, False, 11, 2)


def test_a_name_of_a_file_is_no_line_of_its_own(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "a\nb"
    path.write_bytes(UNRESOLVED.read_bytes())
    assert main(["verify", "--btf-ids", "-q", str(path)]) == 1
    out = capfd.readouterr().out
    assert (out.count("\n"), out.startswith(rf"{tmp_path}/a\nb: ")) == (1, True)


def test_a_set_of_kfuncs_with_a_hole_is_refused(verify: Verify) -> None:
    by_version = {}
    for version in ("5.10", "6.3", "6.4", "7.2"):
        _, (result,) = verify("--kernel", version, UNRESOLVED)
        by_version[version] = rows(result)
    rejected = ("IDS1", "rejected", "kf_missing")
    assert [rejected in by_version[version] for version in ("6.3", "6.4", "7.2")] == [False, True, True]
    assert ("IDS1", "rejected", "nowhere") in by_version["5.10"]
    assert ("IDS1", "loaded, with losses", "nowhere") in by_version["6.3"]


def test_of_several_ids_the_last_was_taken_before_5_11(verify: Verify) -> None:
    said = (FOLDER / "warnings.txt").read_text()
    ((ids, used),) = re.findall(r"multiple IDs found for 'twice': (.*) - using (\d+)", said)
    last = ids.split(", ")[-1]
    assert last != used
    for version, taken in (("5.10", last), ("5.11", used)):
        _, (result,) = verify("--kernel", version, RESOLVED)
        texts = {(each["rule"], each["name"]): each["text"] for each in result["findings"]}
        assert texts["IDS2", "twice"].endswith(f": {taken} is used")
        assert (("IDS4", "twice") in texts) == (taken == last)


def test_before_6_9_every_set_of_pairs_is_one_of_kfuncs(verify: Verify, tmp_path: Path) -> None:
    unflagged = changed(tmp_path, KSET + 4, 0, source=UNRESOLVED)
    for version, severity in (("6.8", "rejected"), ("6.9", "loaded, with losses")):
        _, (result,) = verify("--kernel", version, unflagged)
        assert ("IDS1", severity, "kf_missing") in rows(result)


def test_what_resolve_btfids_stored_is_right(verify: Verify) -> None:
    _, before = verify(UNRESOLVED)
    _, after = verify(RESOLVED)
    assert after[0]["resolved"]
    assert rows(after[0]) == rows(before[0])


@pytest.mark.parametrize(
    ("offset", "words", "finding"),
    [
        (KNOWN, [2], ("IDS4", "rejected", "known")),
        (KSET, [9], ("IDS5", "rejected", "kset")),
        (PLAIN + 4, [15, 12], ("IDS5", "rejected", "plain")),
        (PLAIN + 4, [12, 16], ("IDS4", "rejected", "plain")),
    ],
)
def test_words_that_cannot_be(
    offset: int, words: list[int], finding: tuple[str, str, str], verify: Verify, tmp_path: Path
) -> None:
    status, (result,) = verify(changed(tmp_path, offset, *words))
    _, (sound,) = verify(RESOLVED)
    assert (status, rows(result) - rows(sound)) == (1, {finding})


def test_a_kfunc_without_a_tag(verify: Verify, tmp_path: Path) -> None:
    """The flag of the set makes its members kfuncs, and the tags are already in the BTF."""
    _, (result,) = verify(UNRESOLVED)
    assert not [each for each in result["findings"] if each["rule"] == "IDS3"]
    data = UNRESOLVED.read_bytes()
    untagged = tmp_path / "untagged.elf"
    untagged.write_bytes(data.replace(b"bpf_kfunc\0", b"bpf_kfunk\0"))
    _, (result,) = verify("--kernel", "7.2", untagged)
    assert {each["name"] for each in result["findings"] if each["rule"] == "IDS3"} == {"kf_good", "kf_plain"}
    _, (result,) = verify("--kernel", "7.3", untagged)  # its resolve_btfids makes them
    assert not [each for each in result["findings"] if each["rule"] == "IDS3"]
    untagged.write_bytes(RESOLVED.read_bytes().replace(b"bpf_kfunc\0", b"bpf_kfunk\0"))
    _, (result,) = verify("--kernel", "7.3", untagged)
    assert {each["name"] for each in result["findings"] if each["rule"] == "IDS3"} == {"kf_good", "kf_plain"}


def test_btf_from_elsewhere(verify: Verify) -> None:
    """The BTF of another file, as kernel builds have it before 7.0's resolve_btfids runs."""
    golden = next((ROOT / "fixtures" / "golden").glob("00_kernel_like*.btf"))
    status, (result,) = verify("--btf", golden, UNRESOLVED)
    assert status == 1
    names = {each["name"] for each in result["findings"] if each["rule"] == "IDS1"}
    assert {"twice", "kf_good"} <= names


def test_without_btf_the_dwarf_is_encoded(verify: Verify) -> None:
    status, (result,) = verify(ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf")
    assert (status, result["ids"], result["findings"]) == (0, 7, [])
    status, (result,) = verify(ROOT / "fixtures" / "corruption" / "gcc-O2-dwarf4-obj.elf")
    assert status == 1
    assert "no .BTF_ids section" in result["error"]


def test_of_a_folder_the_modules_that_look_up_ids(
    verify: Verify, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "drivers").mkdir()
    module = tmp_path / "drivers" / "ids.ko.gz"
    module.write_bytes(gzip.compress(UNRESOLVED.read_bytes()))
    (tmp_path / "none.ko").write_bytes((ROOT / "fixtures" / "corruption" / "gcc-O2-dwarf4-obj.elf").read_bytes())
    (tmp_path / "other").write_bytes(UNRESOLVED.read_bytes())
    status, results = verify(tmp_path)
    _, (alone,) = verify(UNRESOLVED)
    assert (status, results) == (1, [{**alone, "file": str(module)}])
    assert main(["verify", "--btf-ids", str(tmp_path)]) == 1
    assert capfd.readouterr().out.endswith("\n1 module of a folder without .BTF_ids\n")
    assert main(["verify", "--btf-ids", str(tmp_path / "none.ko")]) == 1  # it was named
    assert "none.ko: no .BTF_ids section" in capfd.readouterr().err
    assert main(["verify", "--btf-ids", "--btf", str(UNRESOLVED), str(tmp_path)]) == 2
    (tmp_path / "empty").mkdir()
    assert main(["verify", "--btf-ids", str(tmp_path / "empty")]) == 1
    assert "a folder without modules" in capfd.readouterr().err


@pytest.mark.parametrize("more", [[], ["--btf-ids"]])
def test_with_json_errors_are_on_standard_error_too(
    more: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("no BTF")
    assert main(["verify", "--json", *more, str(UNRESOLVED), str(tmp_path / "text")]) == 1
    out, err = capfd.readouterr()
    (said,) = [each["error"] for each in json.loads(out)["files"] if each["error"] is not None]
    assert err == f"pybtf: error: {said}\n"


def test_an_empty_section_is_no_btf(verify: Verify, tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes((ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf").read_bytes())
    put_sections(path, {".BTF": b""})
    status, (result,) = verify(path)
    assert (status, result["ids"], result["findings"]) == (0, 7, [])


def test_damage(verify: Verify, tmp_path: Path) -> None:
    data = UNRESOLVED.read_bytes()
    with ElfImage.open(str(UNRESOLVED)) as image:
        table = next(section for section in image.sections if section.name == ".symtab")
        names = image.sections[table.link]
        at = data.index(b"__BTF_ID__struct__known__4", names.offset) - names.offset
        ids = image.section(".BTF_ids")
        assert ids is not None
        size = ids.addr + ids.size
    for entry in range(table.offset, table.offset + table.size, 24):
        if struct.unpack_from("<I", data, entry)[0] == at:
            for value in (size - 2, size, 1 << 63):
                damaged = bytearray(data)
                struct.pack_into("<Q", damaged, entry + 8, value)
                path = tmp_path / "damaged.elf"
                path.write_bytes(damaged)
                status, (result,) = verify(path)
                assert status == 1
                assert "a symbol of an id at" in result["error"]
            return
    raise AssertionError("the symbol was not found")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--loader", "user"], ["--kernel", "all"], ["--base", "a", "--base", "b"], ["--fix", "x"],
        ["--fix", "x", "--rebase", "y"], ["--rebase", "y"],
    ],
)  # fmt: skip
def test_what_does_not_go_together(arguments: list[str]) -> None:
    assert main(["verify", "--btf-ids", *arguments, str(UNRESOLVED)]) == 2
    assert main(["verify", "--btf", str(UNRESOLVED), str(UNRESOLVED)]) == 2
