"""Files that may not be read: it is the open that fails, with status 1, and the other files of a batch go on.

Root may read everything; so root runs these commands without the capabilities that allow it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, environment

ELF = ROOT / "fixtures" / "bin" / "01_char.gcc-O0-5-obj.elf"
PR_CAPBSET_DROP = 24
CAPABILITIES = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""


def drop() -> None:
    prctl = ctypes.CDLL(None).prctl
    if os.geteuid() == 0 and any(prctl(PR_CAPBSET_DROP, each, 0, 0, 0) for each in CAPABILITIES):
        os._exit(99)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "pybtf", *arguments], capture_output=True, text=True, env=environment(), check=False,
        timeout=60, preexec_fn=drop,
    )  # fmt: skip
    if done.returncode == 99:
        pytest.skip("root may not give up capabilities here")
    return done


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("good", "bad", "other"):
        shutil.copyfile(ELF, name)
    assert run("encode", "-q", "--detached", "ok.btf", "good").returncode == 0
    Path("bad.btf").write_bytes(Path("ok.btf").read_bytes())
    Path("list").write_text("good\n")
    for name in ("bad", "bad.btf", "list"):
        Path(name).chmod(0)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "line",
    [
        "encode -q --detached x bad", "encode -q --detached x -- bad", "encode -q --from-list list --detached-dir x",
        "encode -q --base bad.btf --detached x good", "dump bad.btf", "dump --base bad.btf ok.btf", "show bad.btf",
        "size --against bad.btf ok.btf", "diff bad.btf ok.btf", "verify bad.btf", "decode --btf ok.btf char bad",
        "why x bad", "object bad", "merge --detached x --objects list good", "dedup -o x bad.btf", "reproduce bad",
        "reproduce --lock list", "reproduce --against bad.btf good", "reproduce --base bad.btf good",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_no_mistake_of_usage(line: str) -> None:
    done = run(*line.split())
    error, *more = done.stderr.splitlines()
    assert done.returncode == 1
    assert error.startswith(tuple(f"pybtf: error: {name}: " for name in ("bad", "bad.btf", "list")))
    assert "ermission" in error
    assert not more or line.startswith("object")  # which says how many failed
    assert not Path("x").exists()


@pytest.mark.usefixtures("folder")
def test_the_other_files_of_a_batch_go_on() -> None:
    done = run("encode", "-q", "--detached-dir", "out", "good", "bad", "other")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert sorted(os.listdir("out")) == ["good.btf", "other.btf"]  # noqa: PTH208
    assert run("verify", "-q", "ok.btf", "bad.btf").returncode == 1


@pytest.mark.usefixtures("folder")
def test_what_is_replaced_need_not_be_readable() -> None:
    Path("out").touch()
    Path("out").chmod(0o200)
    for line in (["out", "good"], ["out", "--", "good"]):  # without click, and with it
        assert run("encode", "-q", "--detached", *line).returncode == 0
    assert run("reproduce", "-q", "--rounds", "0", "--write-lock", "out", "good").returncode == 0
