"""Bad input: one clear message, status 1, no output made or changed, and no endless run.

Each damaged file goes through the API, where the parts of the place are checked, and through the command line in this
process; a few also go through a real process. `bad.py` explains the two groups of files.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pybtf
from pybtf.btf.types import FuncProto
from pybtf.cli.main import main
from pybtf.errors import InputError, InternalError, PybtfError
from tests.builders import bad
from tests.builders.dwarfwriter import Raw, die
from tests.builders.kernelish import INT, kernel, unit
from tests.conftest import ROOT, RunCli, environment

bad.load()

#: Everything here must end within so many seconds. Machines are slow at times; hangs are slower.
PATIENCE = 30


def encode_error(path: Path, jobs: int = 1) -> InputError:
    with pytest.raises(PybtfError) as caught:
        pybtf.encode(path, features="default", jobs=jobs)
    assert isinstance(caught.value, InputError), repr(caught.value)
    return caught.value


def refuse(capfd: pytest.CaptureFixture[str], path: Path, folder: Path) -> str:
    """Runs the command line on the file twice, with and without a previous output. Returns the message."""
    out = folder / "out.btf"
    messages = []
    for before in (None, b"what was there"):
        if before is not None:
            out.write_bytes(before)
        assert main(["encode", "--detached", str(out), str(path)]) == 1
        captured = capfd.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1, captured.err
        assert "Traceback" not in captured.err
        messages.append(captured.err)
        assert (out.read_bytes() if out.exists() else None) == before
        assert sorted(folder.iterdir()) == sorted({path, out} if before is not None else {path})
    assert messages[0] == messages[1]
    return messages[0]


@pytest.mark.parametrize("name", ["abbreviation_code_endless", "abbreviation_tag_endless"])
def test_numbers_without_an_end(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.elf"
    path.write_bytes(bad.BAD[name].build())
    error = encode_error(path)
    assert (error.found, error.expected) == ("a LEB128 number that does not end", "a number of at most 64 bits")


def test_form_of_llvm_alone(tmp_path: Path) -> None:
    """The message says which option of the compiler to leave out."""
    path = tmp_path / "a.elf"
    path.write_bytes(bad.BAD["form_of_llvm_alone"].build())
    error = encode_error(path)
    assert error.found == "the unknown attribute form 0x2001"
    assert error.hint is not None
    assert "Compile without -mllvm -minimize-addr-in-v5=Form" in error.hint


@pytest.mark.parametrize("at", range(11, 36))
def test_origin_of_a_prototypes_parameter(at: int, tmp_path: Path) -> None:
    """An origin that is not a DIE gives no name, and no fault remains."""
    parameter = die("formal_parameter", ("name", "string", "own"), ("abstract_origin", "ref4", Raw(at)))
    children = [INT, die("subroutine_type", children=[parameter], label="s")]
    path = tmp_path / "a.elf"
    path.write_bytes(kernel([unit([*children, bad.typedef("t", ("type", "ref4", "s"))])]).data)
    protos = [each for each in pybtf.encode(path, jobs=1).btf if isinstance(each, FuncProto)]
    assert [parameter.name for proto in protos for parameter in proto.params] == ["own"]


@pytest.mark.parametrize("name", bad.BAD)
def test_damage(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    case = bad.BAD[name]
    path = tmp_path / f"{name}.elf"
    path.write_bytes(case.build())
    error = encode_error(path)
    text = str(error)
    assert error.place.file == str(path)
    assert text.startswith(str(path))
    assert "\n" not in text
    assert "{" not in text, "a placeholder that was not filled in"
    assert error.found
    assert error.expected
    if case.section is not None:
        assert error.place.section == case.section, text
    if case.offset:
        assert error.place.section is not None, text
        assert error.place.offset is not None, text
    if case.unit is not None:
        assert error.place.unit == case.unit, text
    if case.die:
        assert error.place.die is not None, text
        assert error.place.die > case.unit if case.unit is not None else True
    assert text in refuse(capfd, path, tmp_path)


def limit_memory() -> None:
    """Limits the memory of a child, except with sanitizers, which need terabytes of address space."""
    if "PYBTF_SANITIZED" not in os.environ:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


@pytest.mark.parametrize("name", bad.ODD)
def test_oddity_ends(name: str, tmp_path: Path) -> None:
    """In a process of its own, which may crash, with two workers."""
    path = tmp_path / "odd.elf"
    path.write_bytes(bad.ODD[name]())
    out = tmp_path / "odd.btf"
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pybtf", "encode", "-q", "-j2", "--detached", out, path],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PATIENCE,
        env=environment(),
        check=False,
        preexec_fn=limit_memory,
    )
    assert time.monotonic() - start < PATIENCE
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    assert out.exists() == (done.returncode == 0)
    if done.returncode:
        assert done.stderr.count("\n") == 1, done.stderr
        assert str(path) in done.stderr
    else:
        assert out.read_bytes()[:2] in (b"\x9f\xeb", b"\xeb\x9f")


@pytest.mark.parametrize("jobs", [2, 3])
def test_the_message_does_not_depend_on_the_workers(jobs: int, tmp_path: Path) -> None:
    """Of several damaged units, the first is reported, whichever worker meets it."""
    units = [
        unit([INT._replace(label=f"int{n}"), bad.typedef(f"t{n}", code=900 + n if n >= 40 else None)])
        for n in range(80)
    ]
    path = tmp_path / "many.elf"
    path.write_bytes(kernel(units).data)
    messages = {str(encode_error(path, jobs=jobs)) for _ in range(5)}
    assert messages == {str(encode_error(path, jobs=1))}
    assert "940" in messages.pop()


# -- files ------------------------------------------------------------------------------------------


def message(text: str) -> str:
    """The one line of the message, without the name of the program."""
    assert text.count("\n") == 1, text
    return text


def test_no_such_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.elf"
    assert str(missing) in str(encode_error(missing))
    out = tmp_path / "out.btf"
    assert main(["encode", "--detached", str(out), str(missing)]) == 1
    assert str(missing) in message(capfd.readouterr().err)
    assert list(tmp_path.iterdir()) == []


def test_a_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    assert str(folder) in str(encode_error(folder))
    assert main(["encode", "--detached", str(tmp_path / "out.btf"), str(folder)]) == 1
    assert str(folder) in message(capfd.readouterr().err)
    assert list(tmp_path.iterdir()) == [folder]


def test_part_of_the_path_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert "file/x" in str(encode_error(tmp_path / "file" / "x"))


def test_a_link_to_itself(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("link")
    assert str(link) in str(encode_error(link))


def test_special_files(tmp_path: Path) -> None:
    """The program must not wait for a pipe that nobody writes to."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/null"), Path("/dev/zero")):
        done = subprocess.run(
            [sys.executable, "-m", "pybtf", "encode", "--detached", tmp_path / "out.btf", path],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=environment(),
            check=False,
        )
        assert done.returncode == 1, (path, done.stderr)
        assert str(path) in message(done.stderr)


@pytest.mark.parametrize("target", ["", "link"])
def test_special_files_in_a_folder(tmp_path: Path, run_cli: RunCli, target: str) -> None:
    """They are not named, so they are skipped without waiting; the other files are read."""
    folder = tmp_path / "modules"
    folder.mkdir()
    os.mkfifo((tmp_path if target else folder) / "x.ko")
    if target:
        (folder / "x.ko").symlink_to("../x.ko")
    (folder / "y.ko").write_bytes(b"\x9f\xeb")
    vmlinux = ROOT / "fixtures" / "diff" / "old.btf"
    both = ("--old-base", vmlinux, "--new-base", vmlinux, folder)
    for command in (("verify",), ("diff", *both), ("diff", "--object", vmlinux, *both)):
        done = run_cli(*command, folder, timeout=PATIENCE)
        assert done.returncode == 1
        assert f"{folder / 'x.ko'}: is not a regular file; expected an ELF file." in done.stderr
        assert ("--object" in command) != (f"{folder / 'y.ko'}: " in done.stdout + done.stderr)


def test_a_working_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """No path in it can be resolved, and the system's error names no path."""
    path = tmp_path / "x.elf"
    path.write_bytes(kernel().data)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for command in (["encode", "--detached", "x", str(path)], ["verify", "../x.elf"]):
        assert main(command) == 1
        assert capfd.readouterr().err == "pybtf: error: the working folder: No such file or directory\n"


def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "secret.elf"
    path.write_bytes(kernel().data)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert "ermission" in str(encode_error(path))


def test_name_with_odd_bytes(run_cli: RunCli, tmp_path: Path) -> None:
    """The name in the message is the name of the file, on one line."""
    path = tmp_path / "two\nlines \x1b[31m.elf"
    path.write_bytes(b"")
    done = run_cli("encode", "--detached", tmp_path / "out.btf", path)
    assert done.returncode == 1
    assert "\x1b" not in done.stderr
    message(done.stderr)


@pytest.mark.parametrize(
    "name", ["empty_file", "no_symbol_table", "version_6", "strp_past_the_end", "cycle_of_origins"]
)
def test_as_a_process(name: str, run_cli: RunCli, tmp_path: Path) -> None:
    path = tmp_path / "bad.elf"
    path.write_bytes(bad.BAD[name].build())
    done = run_cli("encode", "--detached", tmp_path / "out.btf", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(re.escape(str(path)), message(done.stderr))
    assert list(tmp_path.iterdir()) == [path]


def test_in_place_leaves_the_file_alone(run_cli: RunCli, tmp_path: Path) -> None:
    path = tmp_path / "bad.elf"
    data = bad.BAD["version_6"].build()
    path.write_bytes(data)
    done = run_cli("encode", path)
    assert done.returncode == 1
    assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_the_sound_files_are_sound(tmp_path: Path) -> None:
    """The files that the tests damage can be encoded when undamaged."""
    path = tmp_path / "sound.elf"
    path.write_bytes(kernel().data)
    assert pybtf.encode(path, features="default", jobs=1).data
    path.write_bytes(bad.three_units(unit([INT._replace(label="again")])))
    assert pybtf.encode(path, features="default", jobs=1).data


def test_no_bad_input_is_an_internal_error() -> None:
    assert issubclass(InternalError, PybtfError)
    assert InternalError.exit_code not in (0, 1, 2)
