"""The recipes of contrib/: their scripts run, with the commands of this checkout in front of the PATH.

Steps that need another machine (a runner's own actions, downloads) are not tested here;
tools/kernels/kernel_build_check.py tests the steps that build a kernel.
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

from tests.builders.elfwriter import Section, elf
from tests.builders.rawbtf import raw_btf
from tests.conftest import ROOT, environment
from tools.golden.minimal_btf import Maker

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
    """An environment in which `pybtf` and `pybtf-pahole` are those of this checkout."""
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
    assert len(found) == 4
    for script in found:
        subprocess.run([require("bash"), "-n", "-c", script], check=True)


def test_verify_btf(commands: dict[str, str], tmp_path: Path) -> None:
    """For a folder of modules that are on the kernel's BTF, and for one that are not."""
    kernel, other = Maker().add(2, 0, 0).proto(1, ("x", 1)), Maker().add(2, 0, 1).add(2, 0, 0)
    (tmp_path / "module.btf").write_bytes(raw_btf([len(kernel.strings), 12 << 24, 3], b"init\0"))
    for name, made in (("vmlinux", kernel), ("other", other)):
        (tmp_path / name).write_bytes(made.make())

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [str(CONTRIB / "ci" / "verify-btf"), *arguments]
        return subprocess.run(argv, cwd=tmp_path, env=commands, capture_output=True, text=True, check=False)

    assert run("vmlinux", "module.btf").returncode == 0
    wrong = run("other", "module.btf")
    assert wrong.returncode == 1
    assert "module.btf: does not belong to other" in wrong.stdout
    assert run("vmlinux").returncode == 2
    (tmp_path / "modules").mkdir()
    names = [".modinfo", ".gnu.linkonce.this_module"]
    sections = [Section(name, b"name=bare\0", flags=2) for name in names]
    (tmp_path / "modules" / "bare.ko").write_bytes(elf(sections, type="ET_REL").data)
    bare = run("vmlinux", "module.btf", "modules")
    assert bare.returncode == 1
    assert "modules/bare.ko: has no BTF (kernel" in bare.stdout
    assert "2 files: 1 accepted, 1 without BTF\n" in bare.stdout
    assert run("--allow-no-btf", "vmlinux", "module.btf", "modules").returncode == 0
    assert run("--allow-no-btf", "vmlinux").returncode == 2


def test_both_workflows_do_the_same() -> None:
    """Their build and check steps must stay alike."""
    assert scripts(CI[0])[2:] == scripts(CI[1])[2:]


@pytest.mark.parametrize("path", CI, ids=lambda path: str(path.stem))
def test_pybtf_is_taken_from_a_pinned_commit(require: Callable[[str], str], tmp_path: Path, path: Path) -> None:
    """From a repository, not from an index. If that fails, the job ends. A stand-in for Python installs nothing."""
    git = [require("git"), "-c", "user.name=x", "-c", "user.email=x", "-C", str(tmp_path / "repository")]
    (tmp_path / "repository").mkdir()
    subprocess.run([*git, "init", "-q"], check=True)
    for subject in ("first", "second"):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", subject], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD~"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run([*git, "config", "uploadpack.allowAnySHA1InWant", "true"], check=True)
    log = tmp_path / "log"
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(
        '#!/bin/sh\nmkdir -p "$3/bin"\nfor each in pip pybtf-pahole; do printf \'#!/bin/sh\\n'
        f'echo "${{0##*/}} $*" >>{log}\\n\' >"$3/bin/$each"; chmod +x "$3/bin/$each"; done\n'
    )
    python.chmod(0o755)
    script = next(each for each in scripts(path) if "PYBTF_COMMIT" in each)

    def run(name: str, wanted: str) -> int:
        (tmp_path / name).mkdir()
        env = {
            **environment(), "PATH": f"{python.parent}:{os.environ['PATH']}", "RUNNER_TEMP": str(tmp_path / name),
            "GITHUB_PATH": str(tmp_path / "path"), "PYBTF_COMMIT": wanted,
            "PYBTF_REPOSITORY": f"file://{tmp_path / 'repository'}",
        }  # fmt: skip
        argv = ["bash", "-e", "-o", "pipefail", "-c", script]
        return subprocess.run(argv, env=env, capture_output=True, check=False).returncode

    assert run("good", commit) == 0
    assert log.read_text() == f"pip install --quiet {tmp_path}/good/source\npybtf-pahole --check\n"
    assert run("a branch", "HEAD") != 0
    assert run("nothing", "0" * 40) != 0


def test_limits() -> None:
    """Jobs have a time limit, and may not write to the repository."""
    github, gitlab = (path.read_text() for path in CI)
    assert re.search(r"^permissions:\n  contents: read$", github, re.MULTILINE)
    assert re.search(r"^    timeout-minutes: \d+$", github, re.MULTILINE)
    assert re.search(r"^  timeout: .*$", gitlab, re.MULTILINE)


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
    """Built from this checkout, twice the same, and run unpacked. This compiles the core, so only on request."""
    if not os.environ.get("PYBTF_TEST_PACKAGE"):
        pytest.skip("PYBTF_TEST_PACKAGE is not set; it takes minutes")
    require("dpkg-deb")
    build = {**environment(), "PYTHON": sys.executable}
    build.pop("PYTHONPATH")
    build["SOURCE_DATE_EPOCH"] = "1700000000"
    packages: list[Path] = []
    for zone, umask in (("UTC", 0o022), ("Asia/Tokyo", 0o077)):
        folder = tmp_path / zone.replace("/", "_")
        folder.mkdir()
        argv = [str(CONTRIB / "debian" / "build-deb"), str(folder)]
        subprocess.run(argv, env=build | {"TZ": zone}, umask=umask, check=True)
        packages += folder.glob("pybtf_*.deb")
    package, again = packages
    assert package.read_bytes() == again.read_bytes()
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
