"""What is packed: all sources and none of what is made from them."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from conftest import ROOT

PAGES = ("pybtf.1", "pybtf-pahole.1")
SOURCES = {
    str(path.relative_to(ROOT))
    for path in (ROOT / "src" / "pybtf").rglob("*")
    if path.suffix in (".py", ".pxd", ".pyi", ".typed")
}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an sdist, and in `lib` the files of a wheel that are not compiled."""
    folder = tmp_path_factory.mktemp("packed")
    sdist = ["egg_info", "--egg-base", folder, "sdist", "--dist-dir", folder]
    commands = [*sdist, "build_py", "--build-lib", folder / "lib"]
    subprocess.run([sys.executable, "setup.py", "--quiet", *commands], cwd=ROOT, check=True, capture_output=True)
    return folder


def test_sdist(packed: Path) -> None:
    (archive,) = packed.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert names >= SOURCES
    assert {"setup.py", "pyproject.toml", "README.md", "LICENSE", *(f"docs/man/{page}" for page in PAGES)} <= names
    kinds = {Path(name).suffix for name in names if name.startswith("src/pybtf/")}
    assert kinds == {"", ".py", ".pxd", ".pyi", ".typed"}  # "": folders


def test_wheel(packed: Path) -> None:
    names = {
        str(Path("src") / path.relative_to(packed / "lib")) for path in (packed / "lib").rglob("*") if path.is_file()
    }
    assert names == SOURCES
