"""`pybtf diff` of two folders of modules, and how it treats their bases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pybtf import BTF
from pybtf.btf import opening
from pybtf.btf.types import Member, Ptr, Struct
from pybtf.btf.writer import BtfBuilder
from pybtf.cli.main import main
from pybtf.core.btf.type_view import View
from pybtf.core.dump.dump_types import dump_types
from pybtf.differences.compare import Differences
from pybtf.errors import InputError
from tests.commands.test_diff import FOLDER, run


def test_folders_of_modules(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Split BTF on two kernels that number their types differently."""
    for side, names in (("old", ("a-b", "gone")), ("new", ("a_b", "come"))):
        kernel = BTF.from_file(FOLDER / f"{side}.btf")
        (tmp_path / f"{side}.btf").write_bytes(kernel.data)
        (tmp_path / side / "kernel").mkdir(parents=True)
        for name in names:
            builder = BtfBuilder(kernel)
            sock = kernel.by_name("sock")
            assert sock is not None
            pointer = builder.add(Ptr(sock.id))
            members = [Member("sk", pointer, 0), Member("n", kernel.by_name("int").id, 64)]  # type: ignore[union-attr]
            builder.add(Struct("m", 16, tuple(members[: 2 if side == "old" else 1])))
            (tmp_path / side / "kernel" / f"{name}.ko").write_bytes(builder.tobytes())
    bases = ["--old-base", str(tmp_path / "old.btf"), "--new-base", str(tmp_path / "new.btf")]
    status, text = run(capsys, *bases, "--fail-on", "kfunc", str(tmp_path / "old"), str(tmp_path / "new"))
    assert status == 0
    assert text.splitlines() == [
        "module a_b: 1 changed", "  ~ struct m", "      - struct m.n: int at 8", "module come: the module is added",
        "module gone: the module is removed", "", "3 modules: 1 added, 1 removed, 1 changed",
    ]  # fmt: skip
    folders = str(tmp_path / "old"), str(tmp_path / "new")
    assert run(capsys, *bases, "--fail-on", "removed", *folders)[0] == 1
    assert run(capsys, *bases, "--fail-on", "kfunc", "-q", *folders) == (0, "")
    quiet = run(capsys, *bases, "--fail-on", "removed", "-q", *folders)[1]
    assert quiet.splitlines()[:3] == ["module a_b: 1 changed", "  ~ struct m", "      - struct m.n: int at 8"]
    assert quiet.splitlines()[3:] == ["module gone: the module is removed", "", "3 modules: 1 removed, 1 changed"]
    whole = json.loads(run(capsys, *bases, "--json", str(tmp_path / "old"), str(tmp_path / "new"))[1])
    assert [each["what"] for each in whole["modules"]] == ["changed", "added", "removed"]
    assert list(whole["modules"][0]) == ["module", "what", "error", "summary", "classes", "changes"]
    assert whole["modules"][0]["summary"]["structs"]["changed"] == 1


def test_a_folder_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder, none, file = tmp_path / "old", tmp_path / "new", FOLDER / "old.btf"
    folder.mkdir()
    for other, status, said in (
        (none, 1, f"{none}: no such folder; expected a folder of modules, as {folder} is"),
        (file, 2, f"the folder {folder} is compared with the file {file}; expected two folders of modules, or two"),
        ("-", 2, "is compared with standard input"),
    ):
        assert main(["diff", str(folder), str(other)]) == status
        assert said in capsys.readouterr().err


def test_the_bases_of_folders_are_read_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bases that are named, and those beside modules. A damaged one is reported for each module, as always."""
    split = FOLDER.parent / "split" / "golden"
    for side in ("old", "new"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "vmlinux").write_bytes((split / "kernel.gcc.btf").read_bytes())
        for name in ("reuse", "complete", "vars", "names"):
            data = (split / f"{name if side == 'old' else 'reuse'}.gcc.split.btf").read_bytes()
            (tmp_path / side / f"{name}.ko").write_bytes(data)
    folders = [str(tmp_path / side) for side in ("old", "new")]
    pairs = [(str(tmp_path / "old" / name), str(tmp_path / "new" / name)) for name in ("vars.ko", "names.ko")]
    each = [run(capsys, *pair)[1] for pair in pairs]
    seen: list[str] = []
    read = opening._read

    def reading(path: str) -> Any:
        seen.append(path)
        return read(path)

    monkeypatch.setattr(opening, "_read", reading)
    kernel = str(tmp_path / "old" / "vmlinux")
    status, text = run(capsys, "-j1", *folders)
    assert status == 0
    assert sorted(path for path in seen if path.endswith("vmlinux")) == sorted(f"{side}/vmlinux" for side in folders)
    for one in each:
        for line in one.splitlines()[:-2]:
            assert f"  {line}" in text.splitlines()
    seen.clear()
    assert run(capsys, "-j1", "--base", kernel, *folders) == (0, text)
    assert [path for path in seen if path.endswith("vmlinux")] == [kernel]
    (tmp_path / "bad").write_bytes(Path(kernel).read_bytes()[:-20])
    status, text = run(capsys, "-j1", "--base", str(tmp_path / "bad"), *folders)
    assert (status, text.splitlines()[-1]) == (1, "4 modules: 4 failed")


def test_folders_without_a_change_are_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for side in ("old", "new"):
        (tmp_path / side).mkdir()
        for name in ("x.ko", "y.ko"):
            (tmp_path / side / name).write_bytes((FOLDER / "old.btf").read_bytes())
    status, text = run(capsys, str(tmp_path / "old"), str(tmp_path / "new"))
    assert (status, text) == (0, "2 modules: 2 without a change\n")


def test_a_view_on_a_view_is_one_on_its_bytes() -> None:
    split = FOLDER.parent / "split" / "golden"
    paths = sorted(split.glob("*.split.btf"))
    assert len(paths) > 30
    for path in paths:
        base = (split / f"kernel.{path.name.split('.')[1]}.btf").read_bytes()
        below = View(base, "base")
        plain, shared = View(path.read_bytes(), "x", base, "base"), View(path.read_bytes(), "x", below)
        assert (len(plain), plain.first_own, plain.sizes()) == (len(shared), shared.first_own, shared.sizes())
        texts: tuple[list[bytes], list[bytes]] = [], []
        for view, text in zip((plain, shared), texts, strict=True):
            dump_types(view, text.append, [])
        assert texts[0] == texts[1]
        with pytest.raises((ValueError, InputError), match="split"):
            View(path.read_bytes(), "y", shared)
        assert not Differences(plain, shared).changes
    for data in (bytes(24), paths[0].read_bytes()[:-1]):
        with pytest.raises(InputError):
            View(data, "x", View(base, "base"))
