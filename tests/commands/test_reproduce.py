"""`pybtf reproduce`: faults in every circumstance are planted and must be found; changed BTF must be explained."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import pybtf
from pybtf.btf import BTF, Kind
from pybtf.cli.main import main
from pybtf.errors import InputError, NothingToEncode
from pybtf.reproduce import lockfile, trial
from pybtf.reproduce.lockfile import read_lock
from pybtf.reproduce.reproduce import Circumstance, Question, _environment, circumstances, reproduce
from tests.conftest import ROOT, environment

ELF = ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf"
GOLDEN = (ROOT / "fixtures" / "golden" / "00_kernel_like.gcc-O2-5-exe.usual.btf").read_bytes()
DIGEST = hashlib.sha256(GOLDEN).hexdigest()
ALL = ",".join(each.name for each in circumstances(2))


def circumstance(name: str) -> Circumstance:
    return next(each for each in circumstances(4) if each.name == name)


# Faults, and the circumstance that must show each. `p` is the path, `k` the arguments of `encode`.
FAULTS = [
    ("jobs 2", "k['jobs'] == 2"),
    ("jobs 4", "k['jobs'] == 4"),
    ("crowd", "k['jobs'] > 2"),
    ("scheduling 1", "k['progress'] is not None"),
    ("folder", "'another folder' in os.getcwd()"),
    ("folder", "not p.startswith('/')"),
    ("copy", "'copy' in p"),
    ("locale", "os.environ.get('LC_ALL', '').startswith('tr')"),
    ("locale", "time.strftime('%z') == '+1400'"),
    ("locale", "sys.flags.utf8_mode == 0 and os.environ.get('PYTHONUTF8') == '0'"),
    ("hashing", "os.environ.get('PYTHONHASHSEED') == '4242'"),
    ("umask", "os.umask(0o77) == 0o77"),
    ("environment", "'PATH' not in os.environ"),
    ("environment", "'SOURCE_DATE_EPOCH' in os.environ"),
    ("little memory", "resource.getrlimit(resource.RLIMIT_AS)[0] > 0"),
    ("much memory", "'MALLOC_PERTURB_' in os.environ"),
]

PLANT = """
import os, resource, sys, time
if "pybtf.reproduce.trial" in " ".join(sys.orig_argv):
    import dataclasses, pybtf.api
    real = pybtf.api.encode
    def encode(p, **k):
        encoded = real(p, **k)
        if {fault}:
            {deed}
        return encoded
    pybtf.api.encode = encode
"""


DEED = "encoded = dataclasses.replace(encoded, data=encoded.data[:-2] + b'!' + b'\\0')"


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes trials misbehave if a condition holds."""

    def planted(fault: str, deed: str = DEED) -> None:
        (tmp_path / "sitecustomize.py").write_text(PLANT.format(fault=fault, deed=deed))
        monkeypatch.syspath_prepend(str(tmp_path))

    return planted


@pytest.mark.parametrize(("name", "fault"), FAULTS)
def test_planted_faults_are_found(plant: Callable[..., None], name: str, fault: str) -> None:
    plant(fault)
    result = reproduce(Question(str(ELF)), [circumstance(name)])
    assert result.sha256 == DIGEST
    first, trial = result.trials
    assert first.same
    assert trial.name == name
    assert not trial.same
    assert not result.reproducible
    assert trial.difference is not None
    assert trial.difference.strings is not None


def test_a_trial_that_fails_is_a_difference(plant: Callable[..., None]) -> None:
    plant("k['jobs'] == 2", "raise MemoryError('none left')")
    trial = reproduce(Question(str(ELF)), [circumstance("jobs 2")]).trials[1]
    assert (trial.same, trial.sha256, trial.problem) == (False, None, "none left")


def test_a_trial_that_crashes_is_a_difference(plant: Callable[..., None]) -> None:
    plant("k['jobs'] == 2", "os.kill(os.getpid(), 9)")
    trial = reproduce(Question(str(ELF)), [circumstance("jobs 2")]).trials[1]
    assert (trial.same, trial.problem) == (False, "ended by signal 9")
    plant("k['jobs'] == 2", "raise KeyError('oops')")
    trial = reproduce(Question(str(ELF)), [circumstance("jobs 2")]).trials[1]
    assert (trial.same, trial.problem) == (False, "ended with status 1: KeyError: 'oops'")


def test_what_failed_is_not_said_to_differ(plant: Callable[..., None], capfd: pytest.CaptureFixture[str]) -> None:
    skip = ",".join(each.name for each in circumstances(3, 0) if not each.name.startswith("jobs"))
    argv = ["reproduce", "-j3", "--rounds", "0", "--skip", skip, "-v", str(ELF)]
    plant("k['jobs'] == 2", "raise MemoryError")
    assert main(argv) == 1
    out, err = capfd.readouterr()
    said = "not known to be reproducible: 1 of 3 encodings failed, the others are the same"
    assert out.splitlines()[0] == f"{ELF}: {said}"
    assert "  jobs 2 (2 workers): failed: not enough memory\n" in out
    assert (err.count("FAILED: not enough memory\n"), "DIFFERENT" in err) == (1, False)
    plant("k['jobs'] == 3", f"raise MemoryError\n        elif k['jobs'] == 2:\n            {DEED}")
    assert main(argv) == 1
    out, err = capfd.readouterr()
    assert out.startswith(f"{ELF}: not reproducible: 1 of 3 encodings differ from the first, and 1 failed\n")
    assert (err.count("FAILED: "), err.count("DIFFERENT: ")) == (1, 1)


def test_what_is_tried_is_the_pybtf_that_asks() -> None:
    """Not another installed one: the folder of this one comes first, wherever the process starts."""
    first = Path(_environment({})["PYTHONPATH"].split(os.pathsep)[0])
    assert first / "pybtf" / "__init__.py" == Path(str(pybtf.__file__)).resolve()


def test_a_trial_that_cannot_start_is_a_difference() -> None:
    """The last line that Python then prints may be empty or useless."""
    unseeded = Circumstance("unseeded", "with a seed that is none", environment={"PYTHONHASHSEED": "x"})
    trial = reproduce(Question(str(ELF)), [unseeded]).trials[1]
    assert trial.problem.startswith("ended with status 1: Fatal Python error: ")


def test_little_memory_is_really_little(plant: Callable[..., None]) -> None:
    plant("resource.getrlimit(resource.RLIMIT_AS)[0] > 0", "hoard = bytearray(256 << 20)")
    trial = reproduce(Question(str(ELF)), [circumstance("little memory")]).trials[1]
    assert not trial.same
    assert trial.problem == "not enough memory"


def test_all_circumstances_together(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "-v", "--expect", f"sha256:{DIGEST.upper()}", str(ELF)]) == 0
    out, err = capfd.readouterr()
    tried = len(circumstances()) + 1
    assert out.splitlines() == [
        f"{ELF}: reproducible: {tried} encodings, all the same, 12 kB",
        f"  sha256 {DIGEST}",
        "  the same as --expect",
    ]
    assert len(err.splitlines()) == tried


def test_input_that_cannot_be_encoded(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"^/no/such/file: no such file$"):
        reproduce(Question("/no/such/file"), [])
    path = tmp_path / "x"
    path.write_bytes(b"nonsense")
    assert main(["reproduce", str(path)]) == 1
    assert capfd.readouterr().err.startswith(f"pybtf: error: {path}: ")
    with pytest.raises(NothingToEncode):
        reproduce(Question(str(ELF), lang="rust"), [])


def test_a_file_that_cannot_be_encoded_does_not_stop_the_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    gone, lock = tmp_path / "gone", tmp_path / "lock"
    command = ["reproduce", "--skip", ALL, str(gone), str(ELF)]
    assert main([*command, "--write-lock", str(lock)]) == 1
    out, err = capfd.readouterr()
    assert err == f"pybtf: error: {gone}: no such file\n"
    assert out.startswith(f"{ELF}: reproducible: ")
    assert not lock.exists()
    assert main([*command, "--json"]) == 1
    found = json.loads(capfd.readouterr().out)
    assert not found["same"]
    assert found["files"][0] == {"path": str(gone), "error": f"{gone}: no such file"}
    assert found["files"][1]["sha256"] == DIGEST
    assert main([*command, "--base", str(gone)]) == 1
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)


def test_a_name_that_is_shown_escaped_is_shown_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a\n\udcffb"
    path.write_bytes(b"nonsense")
    for command in "reproduce", "object":
        assert main([command, str(path)]) == 1
        said = capfd.readouterr().err.splitlines()[0]
        assert said.startswith(f"pybtf: error: {tmp_path}/a\\n\\xffb: ")
        assert said.count("\\xffb") == 1


def test_no_room_for_the_copy(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("shutil.copyfile", full)
    assert main(["reproduce", "--skip", ",".join(set(ALL.split(",")) - {"copy"}), str(ELF)]) == 1
    said = capfd.readouterr().err
    assert "the copy cannot be made: No space left on device; expected room for 46," in said
    assert said.endswith("Name a folder that has it in TMPDIR, or leave the copy out: --skip copy.\n")


def test_address_space_that_is_limited_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process cannot raise its own limit; this is no difference."""
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr("resource.setrlimit", lambda _, limits: asked.append(limits))
    for hardest in (resource.RLIM_INFINITY, 1 << 30, 1 << 20):
        monkeypatch.setattr("resource.getrlimit", lambda _, hardest=hardest: (hardest, hardest))
        trial._limit(1 << 25)
    assert asked == [(1 << 25,) * 2, (1 << 25,) * 2, (1 << 20,) * 2]


def test_no_room_for_the_result_of_a_trial(plant: Callable[..., None], capfd: pytest.CaptureFixture[str]) -> None:
    """What is too large is not the FILE, but the output of a trial."""
    limit = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
    plant("True", f"{limit}; resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))")
    assert main(["reproduce", "--skip", ALL, str(ELF)]) == 1
    said = capfd.readouterr().err
    assert re.match(rf"pybtf: error: {ELF}: \S*/pybtf-reproduce-\w+/out: File too large; expected room for 11,", said)
    assert said.endswith("Name a folder that has it in TMPDIR, or raise the limit of file sizes (ulimit -f).\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_leave_nothing(number: signal.Signals, tmp_path: Path) -> None:
    """Neither the folder, which may contain a copy of a kernel, nor the process that works in it."""
    told, temporary = tmp_path / "told", tmp_path / "temporary"
    temporary.mkdir()
    hang = f"print(os.getpid(), file=open({str(told)!r}, 'w'), flush=True); time.sleep(600)"
    (tmp_path / "sitecustomize.py").write_text(PLANT.format(fault="True", deed=hang))
    start = "import signal; [signal.signal(each, signal.SIG_DFL) for each in (1, 15)]; "
    start += "signal.signal(2, signal.default_int_handler); import pybtf.support.isolation as isolation; "
    # If isolated, a trial would find the system's `sitecustomize` before ours. Debian's Python has one.
    start += "isolation.isolate = lambda: None; import pybtf.cli.main as main; main.program()"
    path = os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])
    child = subprocess.Popen(
        [sys.executable, "-c", start, "reproduce", str(ELF)],
        env={**environment(), "PYTHONPATH": path, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
    )
    while not (told.exists() and told.read_text().endswith("\n")):
        assert child.poll() is None, child.communicate()
        time.sleep(0.01)
    worker = int(told.read_text())
    assert len(list(temporary.iterdir())) == 1
    child.send_signal(number)
    _, said = child.communicate(timeout=60)
    assert (child.returncode, said) == ((130, b"pybtf: error: interrupted\n") if number == 2 else (-number, b""))
    assert list(temporary.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


# A difference is explained


def change_struct() -> tuple[bytes, int, str]:
    """The golden BTF with a changed struct size; the id and the name of the struct."""
    btf = BTF.from_bytes(GOLDEN)
    type = next(type for type in btf if type.kind is Kind.STRUCT and type.name)
    at = btf.header.section("type")[0] + 4 * btf.starts[type.id - 1] + 8
    return GOLDEN[:at] + struct.pack("<I", 12345) + GOLDEN[at + 4 :], type.id, type.name


def test_against_a_changed_btf(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data, id, name = change_struct()
    other = tmp_path / "other.btf"
    other.write_bytes(data)
    assert main(["reproduce", "--skip", ALL, "-j2", "--against", str(other), str(ELF)]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert lines[2] == f"  not as expected: {hashlib.sha256(data).hexdigest()} {other}"
    assert re.fullmatch(rf"    types: the first that differs is {id}, STRUCT {name}, from \S+\.c", lines[3])
    assert re.fullmatch(rf"      encoded   \[{id}\] STRUCT( \+flag)? '{name}' size=\d+ vlen=.*", lines[4])
    assert re.fullmatch(rf"      expected  \[{id}\] STRUCT( \+flag)? '{name}' size=12345 vlen=.*", lines[5])
    assert len(lines) == 6


def test_against_an_elf_file_and_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    import pybtf

    same, changed = tmp_path / "same", tmp_path / "changed"
    data, id, name = change_struct()
    for path, content in ((same, GOLDEN), (changed, data)):
        shutil.copy(ELF, path)
        encoded = pybtf.encode(path)
        type(encoded)(content, encoded.report).embed(path)
    assert main(["reproduce", "--json", "--skip", ALL, "-j2", "--against", str(same), str(ELF)]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["same"] is True
    (facts,) = document["files"]
    assert facts["expected"] == {"origin": f"{same}: .BTF", "sha256": DIGEST, "same": True}
    assert (facts["sha256"], facts["size"], facts["reproducible"]) == (DIGEST, len(GOLDEN), True)
    assert [trial["name"] for trial in facts["trials"]] == ["first"]
    assert main(["reproduce", "--json", "--skip", ALL, "-j2", "--against", str(changed), str(ELF)]) == 1
    (facts,) = json.loads(capfd.readouterr().out)["files"]
    assert facts["expected"]["same"] is False
    difference = facts["difference"]["types"]
    assert (difference["id"], difference["name"], difference["kind"]) == (id, name, "STRUCT")
    assert difference["unit"].endswith(".c")


def test_expect_another_digest(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "-q", "--skip", ALL, "-j2", "--expect", "0" * 64, str(ELF)]) == 1
    assert f"  not as expected: {'0' * 64} --expect\n" in capfd.readouterr().out
    assert main(["reproduce", "-q", "--skip", ALL, "-j2", "--expect", DIGEST, str(ELF)]) == 0
    assert capfd.readouterr() == ("", "")


# Lock files


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for name, source in (("a", ELF), ("b", ROOT / "fixtures" / "bin" / "05_floats.gcc-O0-5-obj.elf")):
        shutil.copy(source, name)
    return ["a", "b"]


def quick(*arguments: str) -> int:
    return main(["reproduce", "--skip", ALL, "-j2", *arguments])


def test_lock(files: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert quick("--write-lock", "btf.lock", "--features", "default", "--features", "global_var", *files) == 0
    text = (tmp_path / "btf.lock").read_text()
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"
    assert list(read_lock("btf.lock")) == files
    assert read_lock("btf.lock")["a"].question.features == ("default", "global_var")
    assert quick("--lock", "btf.lock") == 0
    assert quick("--lock", "btf.lock", "b") == 0
    capfd.readouterr()

    # Another digest, same input.
    locked = json.loads(text)
    right = locked["files"]["a"]["sha256"]
    locked["files"]["a"]["sha256"] = "1" * 64
    (tmp_path / "btf.lock").write_text(json.dumps(locked))
    assert quick("--lock", "btf.lock") == 1
    out = capfd.readouterr().out
    assert f"  sha256 {right}\n  not as expected: {'1' * 64} btf.lock\n    from the same input\n" in out
    assert "b: reproducible" in out
    assert "the same as btf.lock" in out
    assert quick("--lock", "btf.lock", "b") == 0
    capfd.readouterr()

    # Another input.
    (tmp_path / "btf.lock").write_text(text)
    shutil.copy("b", "a")
    assert quick("--lock", "btf.lock") == 1
    assert "the input is another file than the one recorded" in capfd.readouterr().out


@pytest.mark.usefixtures("files")
def test_no_lock_is_written_if_something_differs(plant: Callable[..., None]) -> None:
    plant("k['jobs'] == 2")
    skip = ALL.replace("jobs 2,", "")
    assert main(["reproduce", "--skip", skip, "-j2", "--write-lock", "btf.lock", "a"]) == 1
    assert not Path("btf.lock").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--write-lock", "a", "a"],
        ["--write-lock", "./a", "b", "a"],
        ["--write-lock", "link", "a"],
        ["--write-lock", "hard", "a"],
        ["--write-lock", "b", "--base", "b", "a"],
        ["--write-lock", "link", "--against", "hard", "b"],
    ],
)
def test_no_lock_is_written_over_what_is_read(
    arguments: list[str], files: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    Path("link").symlink_to("a")
    os.link("a", "hard")
    before = [Path(name).read_bytes() for name in files]
    assert quick(*arguments) == 2
    assert "error: --write-lock LOCK is the input " in capfd.readouterr().err
    assert [Path(name).read_bytes() for name in files] == before


def test_a_lock_for_standard_output_is_all_that_is_printed_there(
    files: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert quick("--write-lock", "-", *files) == 0
    out, err = capfd.readouterr()
    assert list(json.loads(out)["files"]) == files
    assert err.startswith("a: reproducible: ")
    assert quick("--write-lock", "-", "--expect", "1" * 64, "a") == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert "not as expected" in err


def test_a_lock_is_replaced(files: list[str]) -> None:
    assert quick("--write-lock", "btf.lock", "a") == 0
    assert quick("--write-lock", "btf.lock", *files) == 0
    assert list(read_lock("btf.lock")) == files


def lock_of(name: str = '"a"', **changes: str) -> str:
    """A lock file in which JSON texts replace values of its only entry."""
    facts = {
        "features": '["var"]', "lang": '""', "lang_exclude": '""', "base": "null", "input_sha256": f'"{"0" * 64}"',
        "sha256": f'"{"0" * 64}"', "size": "1", **changes,
    }  # fmt: skip
    return f'{{"schema": 1, "files": {{{name}: {{{", ".join(f"{key!r}: {facts[key]}" for key in facts)}}}}}}}'.replace(
        "'", '"'
    )


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; expected a lock file of pybtf reproduce"),
        ("a\xff", "not JSON: byte 0xff at offset 0x1 is not UTF-8; expected"),
        ('{\n"schema" 1}', "not JSON: line 2, column 10; expected"),
        ("[" * 100_000, "not JSON; expected"),
        ("[]", "another format"),
        ("{}", "another format"),
        ('{"schema": 2, "files": {}}', "another format"),
        ('{"schema": 1}', "no object `files`"),
        ('{"schema": 1, "files": []}', "no object `files`"),
        ('{"schema": 1, "files": {}}', "no entries; expected one for each file"),
        ('{"schema": 1, "files": {"a": {}}}', "the entry of 'a' has no 'features'"),
        ('{"schema": 1, "files": {"a": 3}}', "the entry of 'a' is damaged: it is not an object"),
        (lock_of(size="1e999"), "the entry of 'a' is damaged: inf is not a size"),
        (lock_of(size="-1"), "-1 is not a size"),
        (lock_of(size="true"), "True is not a size"),
        (lock_of(size="9" * 5000), "not JSON"),
        (lock_of(sha256='"y"'), "'y' is not a SHA-256"),
        (lock_of(sha256=f'"{"y" * 5000}"'), f"'{'y' * 99}... is not a SHA-256"),
        (lock_of(features='"var"'), "'var' is not a list"),
        (lock_of(features="[3]"), "3 is not a string"),
        (lock_of(features='["moon"]'), "unknown feature 'moon'"),
        (lock_of(lang='"\\ud800"'), "unknown language"),
        (lock_of(features=f'["{"y" * 5000}"]'), f"unknown feature '{'y' * 256}...{'y' * 256}'; expected one of"),
        (lock_of(lang=f'"{"y" * 5000}"'), f"unknown language '{'y' * 256}...{'y' * 256}'; expected one of"),
        (lock_of(name='"a\\u0000b"'), "no file is called 'a\\x00b'"),
        (lock_of(name='"\\ud800"'), "no file is called '\\ud800'"),
        (lock_of(name='""'), "no file is called ''"),
        (lock_of(base='"\\u0000"'), "no file is called '\\x00'"),
        (lock_of(base='"\\udfff"'), "no file is called '\\udfff'"),
    ],
)
def test_damaged_locks(tmp_path: Path, text: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "btf.lock").write_text(text, encoding="latin-1")
    assert quick("--lock", "btf.lock") == 1
    err = capfd.readouterr().err
    assert err.startswith("pybtf: error: btf.lock: " if "unknown" not in message else "pybtf: error: a: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.usefixtures("files")
def test_a_lock_of_a_file_whose_name_is_not_utf_8() -> None:
    os.rename(b"a", b"\xff")  # noqa: PTH104
    assert quick("--write-lock", "btf.lock", os.fsdecode(b"\xff")) == 0
    assert quick("--lock", "btf.lock") == 0


# Usage errors: status 2, nothing encoded


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing argument 'FILE...'"),
        (["--expect", "1", "a"], "--expect expects a SHA-256, 64 hexadecimal digits, not '1'"),
        (["--expect", "1" * 64, "--against", "b", "a"], "do not go together"),
        (["--expect", "1" * 64, "a", "b"], "are about one FILE"),
        (["a", "a"], "named twice"),
        (["--features", "foo", "a"], "unknown feature 'foo'"),
        (["--lang", "klingon", "a"], "unknown language"),
        (["--skip", "copy,moon", "a"], "unknown value 'moon'; expected one of jobs 2, "),
        (["--rounds", "x", "a"], "--rounds expects a number, not 'x'"),
        (["--rounds=1001", "a"], "--rounds expects a number of at most 1,000"),
        (["-q", "-v", "a"], "do not go together"),
        (["--json", "--write-lock", "-", "a"], "--json and --write-lock - do not go together"),
        (["--lock", "btf.lock", "--features", "var"], "--lock goes with no other option"),
        (["--lock", "btf.lock", "c"], "btf.lock has no entry of c; it has entries of a; --write-lock records a file"),
        (["-j", "0", "a"], "-j expects the number of workers, 1 to 1024, not '0'"),
    ],
)
def test_usage_errors(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("btf.lock").write_text(lock_of())
    assert main(["reproduce", *arguments]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert message in err


def test_what_a_lock_file_may_hold() -> None:
    digest = "0123456789abcdef" * 4
    assert lockfile.is_digest(digest)
    for other in (digest[:-1], digest + "0", digest.upper(), "g" + digest[1:], list(digest), None):
        assert not lockfile.is_digest(other)
    assert lockfile._size(0) == 0
    for size in (-1, True, 1.0, "1"):
        with pytest.raises(ValueError, match="is not a size"):
            lockfile._size(size)
    assert lockfile._shown("x" * 98) == repr("x" * 98)
    assert lockfile._shown("x" * 99) == repr("x" * 99)[:100] + "..."
