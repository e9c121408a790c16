"""Objects with values, as `tools.golden.merge_fixtures` builds them, for the tests of merging; and programs that run in
this process, for those of printing and verify.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf.cli.main import main
from tests.builders.archives import unpack
from tests.conftest import ROOT

HOME = ROOT / "fixtures" / "objects"


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(HOME / "objects.tar.xz", tmp_path_factory.mktemp("objects"))


@pytest.fixture
def built(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A copy of a build, which becomes the working folder, because the values have relative names of objects."""

    def copy(name: str) -> Path:
        shutil.copytree(packed / name, tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        return tmp_path / name

    return copy


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., str]:
    """`run(program, "show", "pair", path)`: standard output, with the status 0 and nothing on standard error."""

    def call(program: Callable[[list[str]], int], *arguments: object) -> str:
        status = program([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        assert (status, err) == (0, b"")
        return out.decode()

    return call


@pytest.fixture
def refused(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., str]:
    """The one message of a program that fails, with nothing on standard output."""

    def call(program: Callable[[list[str]], int], *arguments: object, status: int = 1) -> str:
        assert program([str(argument) for argument in arguments]) == status
        out, err = capfdbinary.readouterr()
        assert out == b""
        assert err.count(b"\n") == 1
        return err.decode()

    return call


@pytest.fixture
def verify(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., tuple[int, str]]:
    def call(*arguments: str | Path) -> tuple[int, str]:
        status = main(["verify", *map(str, arguments)])
        return status, capfdbinary.readouterr().out.decode()

    return call
