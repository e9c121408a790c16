"""The recipes of contrib/: their scripts run, with the commands of this checkout in front of the PATH.

What needs another machine (a runner's own actions, downloads) is not tried here; what builds a kernel is tried by
tools/kernel_build_check.py.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT, environment

CONTRIB = ROOT / "contrib"
VMLINUX = ROOT / "fixtures" / "gates" / "bin" / "vmlinux.le64.elf"
OTHER = ROOT / "fixtures" / "gates" / "bin" / "module.le64.elf"


def scripts(path: Path) -> list[str]:
    """The literal blocks (`|`) of a YAML file that are shell scripts, in order."""
    lines = path.read_text().splitlines()
    found = []
    for number, line in enumerate(lines):
        if not re.fullmatch(r"\s*(run:|-) \|", line):
            continue
        indent = len(line) - len(line.lstrip())
        block = []
        for each in lines[number + 1 :]:
            if each.strip() and len(each) - len(each.lstrip()) <= indent:
                break
            block.append(each)
        found.append(textwrap.dedent("\n".join(block)) + "\n")
    return found


def variable(path: Path, name: str) -> str:
    found = re.search(rf"^ *{name}: (.*)$", path.read_text(), re.MULTILINE)
    assert found
    return found[1]


@pytest.fixture
def commands(tmp_path: Path) -> dict[str, str]:
    """An environment in which `pybtf` and `pybtf-pahole` are this checkout's."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, module in (("pybtf", "pybtf"), ("pybtf-pahole", "pybtf.pahole")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        (folder / name).chmod(0o755)
    known = environment()
    return {**known, "PATH": f"{folder}:{known['PATH']}"}


CI = [CONTRIB / "ci" / "github.yml", CONTRIB / "ci" / "gitlab.yml"]


@pytest.mark.parametrize("path", CI, ids=lambda path: str(path.stem))
def test_the_check_of_a_workflow(commands: dict[str, str], tmp_path: Path, path: Path) -> None:
    """Without a lock file it writes one; with it, it passes until the kernel changes, and then says so."""
    script = next(each for each in scripts(path) if "pybtf reproduce" in each)
    commands |= {name: variable(path, name) for name in ("BTF_FILES", "BTF_FEATURES")}
    tree = tmp_path / "tree"
    tree.mkdir()

    def run() -> subprocess.CompletedProcess[str]:
        argv = ["bash", "-e", "-o", "pipefail", "-c", script]
        return subprocess.run(argv, cwd=tree, env=commands, capture_output=True, text=True, check=False)

    shutil.copyfile(VMLINUX, tree / "vmlinux")
    first = run()
    assert (first.returncode, first.stderr) == (0, "")
    assert (tree / "btf.lock").exists()
    second = run()
    assert (second.returncode, second.stderr) == (0, "")
    assert "  the same as btf.lock\n" in second.stdout
    shutil.copyfile(OTHER, tree / "vmlinux")
    third = run()
    assert third.returncode == 1
    assert "not as expected" in third.stdout


@pytest.mark.parametrize("path", CI, ids=lambda path: str(path.stem))
def test_scripts_of_a_workflow_are_sound(require: Callable[[str], str], path: Path) -> None:
    found = scripts(path)
    assert len(found) == 3
    for script in found:
        subprocess.run([require("bash"), "-n", "-c", script], check=True)


def test_both_workflows_do_the_same() -> None:
    """Build and check are to be kept alike."""
    assert scripts(CI[0])[1:] == scripts(CI[1])[1:]


def test_the_hook_of_a_tree(commands: dict[str, str], tmp_path: Path) -> None:
    tree = tmp_path / "a tree"
    (tree / "scripts").mkdir(parents=True)
    shutil.copy(CONTRIB / "kernel" / "pahole", tree / "scripts")
    shutil.copyfile(VMLINUX, tree / "vmlinux")

    def run(*arguments: str) -> str:
        argv = [str(tree / "scripts" / "pahole"), *arguments]
        return subprocess.run(argv, cwd=tree, env=commands, capture_output=True, text=True, check=True).stdout

    assert run("--version") == "v1.32\n"
    run("-J", "--btf_encode_detached=an out", "vmlinux")
    assert (tree / "an out").stat().st_size > 1000
    own = tree / ".pybtf" / "bin" / "pybtf-pahole"
    own.parent.mkdir(parents=True)
    own.write_text('#!/bin/sh\necho "own $2"\n')
    own.chmod(0o755)
    assert run("-J", "a b") == "own a b\n"


def test_the_debian_package(require: Callable[[str], str], tmp_path: Path) -> None:
    """Built from this checkout, unpacked, and run from there. It compiles the core: only when asked for."""
    if not os.environ.get("PYBTF_TEST_PACKAGE"):
        pytest.skip("PYBTF_TEST_PACKAGE is not set; it takes minutes")
    require("dpkg-deb")
    build = {**environment(), "PYTHON": sys.executable}
    build.pop("PYTHONPATH")
    subprocess.run([CONTRIB / "debian" / "build-deb", tmp_path], env=build, check=True)
    (package,) = tmp_path.glob("pybtf_*.deb")
    root = tmp_path / "root"
    subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    assert {page.name for page in (root / "usr/share/man/man1").iterdir()} == {"pybtf.1.gz", "pybtf-pahole.1.gz"}
    assert not [*root.rglob("*.c")]
    known = {**build, "PYTHONPATH": str(root / "usr/lib/python3/dist-packages")}
    for name in ("usr/bin/pybtf-pahole", "usr/lib/pybtf/bin/pahole"):
        argv = [sys.executable, str(root / name), "-J", "--btf_encode_detached=out", str(VMLINUX)]
        subprocess.run(argv, env=known, cwd=tmp_path, check=True)
        assert (tmp_path / "out").stat().st_size > 1000
        (tmp_path / "out").unlink()
