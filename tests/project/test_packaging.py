"""Packages: an sdist with everything for building, tests and documentation, and a wheel with only what runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = ("pybtf.1", "pybtf-pahole.1")
TRACKED = ("src", "tests", "fixtures", "docs", "tools", "contrib", ".ci")
TOP = ("setup.py", "setup.cfg", "pyproject.toml", "Makefile", "MANIFEST.in", "README.md", "CHANGELOG.md", "LICENSE")


def tracked() -> set[str]:
    """The files of the repository, or those of an unpacked sdist, without build products."""
    git = shutil.which("git")
    if git is not None and (ROOT / ".git").exists():
        argv = [git, "-c", "safe.directory=*", "ls-files", "-z", *TRACKED, *TOP]
        listed = subprocess.run(argv, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
        return {name for name in listed if name and (ROOT / name).exists()}
    built = re.compile(r"(src|tests/probe)/.*\.(so|c|html)$|.*\.pyc$|src/pybtf.egg-info/")
    files = {str(path.relative_to(ROOT)) for folder in TRACKED for path in (ROOT / folder).rglob("*") if path.is_file()}
    return {name for name in files if not built.match(name)} | set(TOP)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an sdist and, in `lib`, the files of a wheel that are not compiled."""
    folder = tmp_path_factory.mktemp("packed")
    sdist = ["egg_info", "--egg-base", str(folder), "sdist", "--dist-dir", str(folder)]
    commands = [*sdist, "build_py", "--build-lib", str(folder / "lib")]
    done = subprocess.run(
        [sys.executable, "setup.py", "--quiet", *commands], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def members(packed: Path) -> dict[str, bytes]:
    (archive,) = packed.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        files = [each for each in tar.getmembers() if each.isfile()]
        return {each.name.partition("/")[2]: tar.extractfile(each).read() for each in files}  # type: ignore[union-attr]


def test_the_sdist_has_all_that_is_tracked(packed: Path) -> None:
    found = members(packed)
    made = {"PKG-INFO", "setup.cfg"}
    known = {name for name in found if not name.startswith("src/pybtf.egg-info/")}
    assert known - made == tracked() - {".gitignore", ".gitattributes"} - made


def test_the_sdist_is_the_same_each_time(packed: Path, tmp_path: Path) -> None:
    """Whenever, wherever and with whichever umask it is made."""
    made = []
    for zone, umask in (("UTC", 0o022), ("Asia/Tokyo", 0o077)):
        copy, out = tmp_path / str(umask) / "copy", tmp_path / str(umask)
        (archive,) = packed.glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(copy, filter="data")
        (sources,) = copy.iterdir()
        argv = [sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", str(out)]
        env = os.environ | {"SOURCE_DATE_EPOCH": "1700000000", "TZ": zone}
        subprocess.run(argv, cwd=sources, env=env, umask=umask, capture_output=True, check=True)
        (again,) = out.glob("*.tar.gz")
        made.append(again.read_bytes())
        with tarfile.open(again) as tar:
            assert {(each.mtime, each.uid, each.uname) for each in tar.getmembers()} == {(1700000000, 0, "")}
            names = [each.name for each in tar.getmembers()]
            assert names == sorted(names, key=Path)
            assert {each.mode for each in tar.getmembers()} == {0o755, 0o644}
    assert made[0] == made[1]


def test_the_wheel_has_what_runs_and_nothing_else(packed: Path) -> None:
    folder = packed / "lib"
    names = {str(Path("src") / path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    sources = {name for name in tracked() if name.startswith("src/") and Path(name).suffix in (".py", ".pyi", ".typed")}
    core = {name for name in sources if name.startswith("src/pybtf/core/") and name.endswith(".py")}
    assert names == sources - core | {"src/pybtf/core/__init__.py"}
    assert len(core) > 50


def test_the_long_description_has_no_links_into_the_repository(packed: Path) -> None:
    """An index shows it alone: relative links, and pictures in the repository, would be dead."""
    text = members(packed)["PKG-INFO"].decode()
    assert "## Two commands" in text
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert [target for target in targets if not target.startswith("https://")] == []
    readme = (ROOT / "README.md").read_text()
    assert re.search(r"\]\(docs/cli.md\)", readme)
    assert "docs/cli.md" in text


def bounds(requirement: str) -> tuple[str, set[str]]:
    """`click>=8.1,<9`: the name, and the bounds."""
    name = re.split("[<>=]", requirement)[0]
    return name, set(requirement.removeprefix(name).split(","))


def test_the_documentation_names_what_the_project_needs() -> None:
    """docs/packaging.md says how to fetch it beforehand."""
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = whole["project"]
    needed = [bounds(each) for each in [*whole["build-system"]["requires"], *project["dependencies"]]]
    text = (ROOT / "docs" / "packaging.md").read_text()
    (line,) = re.findall(r"pip download -d wheels (.*)", text)
    fetched = [bounds(each) for each in line.replace("'", "").split()]
    assert [name for name, _ in fetched] == [name for name, _ in needed]
    assert all(some <= every for (_, some), (_, every) in zip(fetched, needed, strict=True))
    least = [f"{name} {each.removeprefix('>=')}" for name, every in needed for each in every if each.startswith(">=")]
    assert [each for each in least if each not in text] == []
    versions = [each.rpartition(" ")[2] for each in project["classifiers"] if ":: 3." in each]
    assert project["requires-python"] == f">={versions[0]}"


def test_a_32_bit_python_is_told_so() -> None:
    code = "import runpy, sys; sys.maxsize = 2**31 - 1; sys.argv = ['setup.py', '--name']; runpy.run_path('setup.py')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("pybtf needs a 64-bit Python.")
