"""Installed commands work whatever the environment says about Python. Also the check of an installation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pybtf.pahole import check
from pybtf.pahole.main import main
from tests.conftest import ROOT, environment
from tools.judge import reference

EXAMPLE = ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf"
COMMANDS = ("pybtf", "pybtf-pahole")
BODY = "import sys\nfrom pybtf.{} import program\nif __name__ == '__main__':\n    sys.exit(program())\n"
MODULES = {"pybtf": "cli.main", "pybtf-pahole": "pahole.main"}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A folder with both commands, as pip writes them."""
    for name, module in MODULES.items():
        (tmp_path / name).write_text(f"#!{sys.executable}\n{BODY.format(module)}")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def poison(folder: Path) -> Path:
    """Modules that end the process, with names of the standard library and of dependencies."""
    folder.mkdir()
    for name in ("array", "struct", "hashlib", "xxhash", "click", "elftools", "re", "json", "threading"):
        (folder / f"{name}.py").write_text("raise SystemExit('poisoned')\n")
    return folder


def arguments(name: str, tmp_path: Path) -> list[str]:
    """Arguments with which a command encodes the example into out.btf and imports all that it may import.

    In place, because pybtf-pahole then needs one of the modules in `poison`.
    """
    out = tmp_path / "out.btf"
    if name == "pybtf":
        return ["encode", "--features=default", f"--report={tmp_path / 'r.json'}", f"--detached={out}", str(EXAMPLE)]
    shutil.copy(EXAMPLE, out)
    return ["-J", str(out)]


def encode(command: Path, tmp_path: Path, **variables: str) -> bytes:
    out = tmp_path / "out.btf"
    argv = arguments(command.name, tmp_path)
    done = subprocess.run([command, *argv], env=environment() | variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out.read_bytes()


@pytest.mark.parametrize("name", COMMANDS)
def test_modules_of_pythonpath_are_not_taken(script: Path, tmp_path: Path, name: str) -> None:
    usual = encode(script / name, tmp_path)
    path = f"{poison(tmp_path / 'poison')}:{ROOT / 'src'}"
    assert encode(script / name, tmp_path, PYTHONPATH=path) == usual
    # Without isolation, the command does import them.
    code = "import runpy, sys, pybtf.support.isolation as i; i.isolate = lambda: None; "
    code += f"runpy.run_path({str(script / name)!r}, run_name='__main__')"
    argv = [sys.executable, "-c", code, *arguments(name, tmp_path)]
    done = subprocess.run(argv, env=environment() | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode != 0


@pytest.mark.parametrize("name", COMMANDS)
def test_a_library_without_its_compiled_modules(script: Path, tmp_path: Path, name: str) -> None:
    """PYTHONHOME names a Python whose compiled modules are elsewhere, as Debian's is for a Python built by hand."""
    home = tmp_path / "home"
    ours = Path(subprocess.__file__).parent
    library = home / "lib" / ours.name
    library.mkdir(parents=True)
    for path in ours.iterdir():
        if path.name not in ("lib-dynload", "site-packages", "dist-packages"):
            (library / path.name).symlink_to(path)
    probe = subprocess.run(
        [sys.executable, "-c", "import array, mmap, fcntl"], env=environment() | {"PYTHONHOME": str(home)}, check=False,
        capture_output=True,
    )  # fmt: skip
    if probe.returncode == 0:
        pytest.skip("the compiled modules are in the interpreter itself")
    # Ignoring the environment, the command finds the package only where it is installed.
    known = subprocess.run([sys.executable, "-Ec", "import pybtf"], check=False, capture_output=True)
    if known.returncode:
        pytest.skip("pybtf is not installed for this interpreter")
    usual = encode(script / name, tmp_path)
    assert encode(script / name, tmp_path, PYTHONHOME=str(home)) == usual


def test_commands_of_the_checkout_ignore_the_environment(tmp_path: Path) -> None:
    """Those that `make build` installs beside this interpreter."""
    folder = Path(sys.executable).parent
    if not (folder / "pybtf").exists() or not (folder / "../installed").exists():
        pytest.skip("not in the environment of `make build`")
    for name in COMMANDS:
        assert (folder / name).read_text().splitlines()[0].endswith(" -IS")
        usual = encode(folder / name, tmp_path)
        poisoned = poison(tmp_path / name)
        assert encode(folder / name, tmp_path, PYTHONHOME="/nowhere", PYTHONPATH=str(poisoned)) == usual


def test_check(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYBTF_PAHOLE_VERSION", raising=False)
    assert main(["--check"]) == 0
    out, err = capfd.readouterr()
    assert out.startswith(f"pybtf-pahole encodes as pahole v1.32; {sys.executable}, ")
    assert err == ""
    monkeypatch.setenv("PYBTF_PAHOLE_VERSION", "v1.24")
    assert main(["--check"]) == 0
    assert "builds are told v1.24" in capfd.readouterr().err


def test_check_fails_where_the_bytes_differ(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = check.example().replace(b"int\0", b"inx\0")
    monkeypatch.setattr(check, "example", lambda: other)
    assert main(["--check"]) == 70
    out, err = capfd.readouterr()
    assert out == ""
    assert "the example became 9feb" in err


def test_the_example_of_check_is_what_the_reference_makes(tmp_path: Path) -> None:
    if not (os.environ.get("PYBTF_REFERENCE") or (reference.cache_root() / "reference").exists()):
        pytest.skip("the reference has not been fetched: tools/judge/reference.py pahole")
    pahole = reference.pahole()
    (tmp_path / "x.o").write_bytes(check.example())
    out = tmp_path / "x.btf"
    argv = [*pahole, "-J", "--btf_features=encode_force", f"--btf_encode_detached={out}", str(tmp_path / "x.o")]
    subprocess.run(argv, check=True)
    assert out.read_bytes() == check.BTF
