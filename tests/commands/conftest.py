"""Objects with values, as `tools.golden.merge_fixtures` has built them, for the tests of merging."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders.archives import unpack
from tests.conftest import ROOT

HOME = ROOT / "fixtures" / "objects"


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(HOME / "objects.tar.xz", tmp_path_factory.mktemp("objects"))


@pytest.fixture
def built(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A copy of a build, which becomes the working folder: the objects' names in their values are relative."""

    def copy(name: str) -> Path:
        shutil.copytree(packed / name, tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        return tmp_path / name

    return copy
