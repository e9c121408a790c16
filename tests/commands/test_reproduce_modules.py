"""`pybtf reproduce` with a base: split BTF, also with a distilled base. The expected digests are pahole's."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

import pybtf
from pybtf.btf.files import read_btf
from pybtf.cli.main import main
from pybtf.elf.writer import put_sections
from pybtf.errors import InputError
from pybtf.reproduce.lockfile import read_lock
from pybtf.reproduce.reproduce import circumstances, divide
from tests.conftest import ROOT

SPLIT = ROOT / "fixtures" / "split"
GOLDEN = SPLIT / "golden"
FEATURES = json.loads((SPLIT / "manifest.json").read_text())["features"]
DISTILLED = f"{FEATURES},distilled_base"
ALL = ",".join(each.name for each in circumstances(2))


def golden(name: str) -> bytes:
    return (GOLDEN / f"{name}.btf").read_bytes()


def digest(*pieces: bytes) -> str:
    return hashlib.sha256(b"".join(pieces)).hexdigest()


def quick(*arguments: str) -> int:
    return main(["reproduce", "--skip", ALL, "-j2", "--base", "base", "--features", FEATURES, *arguments])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(GOLDEN / "kernel.gcc.btf", "base")
    for name in ("distill", "reuse"):
        shutil.copyfile(SPLIT / "bin" / f"{name}.gcc.o", f"{name}.ko")
    return tmp_path


@pytest.mark.usefixtures("files")
def test_all_circumstances(capfd: pytest.CaptureFixture[str]) -> None:
    expected = digest(golden("distill.gcc.split"))
    arguments = ["--base", "base", "--features", FEATURES, "--expect", expected]
    assert main(["reproduce", *arguments, "distill.ko"]) == 0
    assert capfd.readouterr().out.startswith("distill.ko: reproducible: ")


@pytest.mark.usefixtures("files")
def test_a_distilled_base() -> None:
    split, below = golden("distill.gcc.distilled"), golden("distill.gcc.distilled_base")
    arguments = ["--base", "base", "--features", DISTILLED, "--expect", digest(split, below)]
    assert main(["reproduce", *arguments, "distill.ko"]) == 0
    assert divide(split + below, "x") == (split, below)
    with pytest.raises(InputError):
        divide(below[1:], "x")


@pytest.mark.usefixtures("files")
def test_against_a_module_with_a_distilled_base(capfd: pytest.CaptureFixture[str]) -> None:
    encoded = pybtf.encode("distill.ko", features=DISTILLED, base="base")
    encoded.embed("distill.ko")
    assert quick("--features", DISTILLED, "--against", "distill.ko", "distill.ko") == 0
    capfd.readouterr()

    # Only the distilled base is different.
    data = bytearray(read_btf("distill.ko", ".BTF.base")[0])
    at = data.index(b"device\0")
    data[at : at + 6] = b"gadget"
    type(encoded)(encoded.data, encoded.report, base_data=bytes(data)).embed("distill.ko")
    assert quick("--features", DISTILLED, "--against", "distill.ko", "distill.ko") == 1
    out = capfd.readouterr().out
    assert "'device'" in out
    assert "'gadget'" in out


def test_a_difference_in_split_btf_is_explained(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data = golden("reuse.gcc.split")
    names = {name for name in data[data.rindex(b"\0\0") :].split(b"\0") if len(name) > 4}
    first = min(names, key=data.index)
    (files / "other.btf").write_bytes(data.replace(first + b"\0", first[:-1] + b"_\0"))
    assert quick("--against", "other.btf", "reuse.ko") == 1
    out = capfd.readouterr().out
    assert "not as expected" in out
    assert first.decode() in out
    assert first.decode()[:-1] + "_" in out


@pytest.mark.usefixtures("files")
def test_lock(capfd: pytest.CaptureFixture[str]) -> None:
    assert quick("--write-lock", "btf.lock", "distill.ko", "reuse.ko") == 0
    entry = read_lock("btf.lock")["distill.ko"]
    assert (entry.question.base, entry.base_sha256) == ("base", digest(golden("kernel.gcc")))
    assert entry.sha256 == digest(golden("distill.gcc.split"))
    check = ["reproduce", "--skip", ALL, "-j2", "--lock", "btf.lock"]
    assert main(check) == 0
    capfd.readouterr()
    shutil.copyfile(GOLDEN / "distill.gcc.distilled_base.btf", "base")
    assert main(check) == 1
    out = capfd.readouterr().out
    assert out.count(f"    the base is another BTF than the one recorded ({entry.base_sha256})\n") == 2
    assert "from the same input" not in out


@pytest.mark.usefixtures("files")
def test_errors(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--base", "none", "reuse.ko"]) == 1
    assert capfd.readouterr().err.startswith("pybtf: error: none: ")
    assert main(["reproduce", "--features", "distilled_base", "reuse.ko"]) == 2
    assert "needs a base" in capfd.readouterr().err
    assert quick("--write-lock", "btf.lock", "reuse.ko") == 0
    assert main(["reproduce", "--lock", "btf.lock", "--base", "base"]) == 2


@pytest.mark.usefixtures("files")
def test_a_module_without_base_needs_no_option_again() -> None:
    """The lock file records that it has none."""
    put_sections("reuse.ko", {".gnu.linkonce.this_module": bytes(8)}, durable=False)
    command = ["reproduce", "--skip", ALL, "-j2"]
    assert main([*command, "reuse.ko"]) == 2
    assert main([*command, "--standalone", "--write-lock", "btf.lock", "reuse.ko"]) == 0
    assert main([*command, "--lock", "btf.lock"]) == 0
