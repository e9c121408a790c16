"""Objects with values, as `tools.golden.merge_fixtures` has built them, for the tests of merging."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT

HOME = ROOT / "fixtures" / "objects"


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("objects")
    with tarfile.open(HOME / "objects.tar.xz") as archive:
        for entry in archive:
            content = archive.extractfile(entry)
            assert content is not None
            path = folder / entry.name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content.read())
    return folder


@pytest.fixture
def built(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A copy of a build, which becomes the working folder: the objects' names in their values are relative."""

    def copy(name: str) -> Path:
        shutil.copytree(packed / name, tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        return tmp_path / name

    return copy
