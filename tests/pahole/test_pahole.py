"""`pybtf-pahole`: the command line as pahole reads it, exit statuses, and what is written where.

Expectations about the command line were taken from runs of pahole 1.32; bytes from the golden files of the fixtures.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pybtf import __version__
from pybtf.btf.files import read_btf
from pybtf.errors import InputError, UsageError
from pybtf.features import ALL, DEFAULT, NAMES
from pybtf.options import available_cpus
from pybtf.pahole import manual
from pybtf.pahole.main import main
from pybtf.pahole.request import STANDARD, Answer, Request
from pybtf.pahole.run import _jobs
from pybtf.pahole.table import OPTIONS
from tests.builders.synthetic import load
from tests.conftest import ROOT, environment
from tests.encode.test_features import SUPPORTED

FIXTURES = ROOT / "fixtures"
ELF = FIXTURES / "bin" / "04_integers.gcc-O0-4-exe.elf"
GOLDEN = FIXTURES / "golden" / "04_integers.gcc-O0-4-exe.usual.btf"


class Outcome:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


Run = Callable[..., Outcome]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    for name in ("PAHOLE_LANG_EXCLUDE", "MAKEFLAGS", "POSIXLY_CORRECT", "PYBTF_PAHOLE_VERSION"):
        monkeypatch.delenv(name, raising=False)

    def runner(*arguments: object) -> Outcome:
        status = main([str(argument) for argument in arguments])
        return Outcome(status, *capfd.readouterr())

    return runner


@pytest.fixture
def elf(tmp_path: Path) -> Path:
    path = tmp_path / "vmlinux"
    shutil.copy(ELF, path)
    return path


# Questions


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ("--version", "v1.32"),
        ("--numeric_version", "132"),
        ("--supported_btf_features", SUPPORTED),
        ("-J --version", "v1.32"),
        ("-J --numeric_version x.o", "132"),
        ("--numeric_version --version", "v1.32"),
        ("--version --numeric_version", "v1.32"),
        ("--supported_btf_features --version", SUPPORTED),
        ("--version --supported_btf_features", "v1.32"),
        ("-J --version --btf_features_strict=bogus", "v1.32"),
        ("--vers", "v1.32"),
        ("--version --no_such_option", "v1.32"),
        ("--devel_version", f"v1.32-pybtf-{__version__}"),
    ],
)
def test_questions(run: Run, arguments: str, answer: str) -> None:
    outcome = run(*arguments.split())
    assert (outcome.status, outcome.out, outcome.err) == (0, answer + "\n", "")


def test_the_claimed_version_can_be_set_for_tests_of_build_scripts(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYBTF_PAHOLE_VERSION", "v1.24")
    assert run("--version").out == run("-J", "--version").out == "v1.24\n"
    assert run("--numeric_version").out == "124\n"
    for nonsense in ("", "1.24", "v1.2", "v1.245", "v124", "v1.2x", "x1.24", "v1x24", "v1.2\u0664", "v2.0\n"):
        monkeypatch.setenv("PYBTF_PAHOLE_VERSION", nonsense)
        assert run("--version").out == "v1.32\n"


def test_help(run: Run) -> None:
    assert run("--help").out == run("-?").out == run("-J", "--help", "--bad").out == manual.HELP + "\n"
    assert run("--usage").out == manual.USAGE + "\n"
    assert max(map(len, manual.HELP.splitlines())) <= 115


def test_help_names_every_option_that_does_something_and_no_other() -> None:
    without = ("foreign", "unsupported", "nothing", "not_encoded", "hash_bits")
    known = {f"--{option.name}" for option in OPTIONS if option.effect not in without}
    described = set(re.findall(r"(?<![\w-])--[a-z_0-9]+", manual.HELP))
    assert described == known - {"--usage", "--devel_version"} | {"--check"}


# The version probe of the kernel's build (scripts/pahole-version.sh), written independently


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_version_probe(require: Callable[[str], str], tmp_path: Path, shell: str) -> None:
    digits = r"s/v\([0-9]*\)\.\([0-9]*\)/\1\2/"
    probe = f'command -v "$@" >/dev/null 2>&1 || {{ echo 0; exit; }}; "$@" --version | sed "{digits}"'
    command = tmp_path / "pybtf-pahole"
    command.write_text(f"#!{sys.executable}\nimport sys\nfrom pybtf.pahole.main import main\nsys.exit(main())\n")
    command.chmod(0o755)
    done = subprocess.run(
        [require(shell), "-c", probe, shell, command], env=environment(), capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("132\n", "")


# Features


def features(arguments: str) -> set[str]:
    return {name for name in NAMES if getattr(Request(["-J", *arguments.split(), "x"]).features(), name)}


STANDARD_SET, DEFAULT_SET, ALL_SET = set(STANDARD), set(DEFAULT), set(ALL)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", STANDARD_SET),
        ("--btf_gen_floats", STANDARD_SET | {"float"}),
        ("--skip_encoding_btf_vars", STANDARD_SET - {"var"}),
        ("--skip_encoding_btf_decl_tag --skip_encoding_btf_type_tag", {"var", "enum64"}),
        ("--skip_encoding_btf_enum64", STANDARD_SET - {"enum64"}),
        ("--btf_encode_force", STANDARD_SET | {"encode_force"}),
        (
            "--skip_encoding_btf_inconsistent_proto --btf_gen_optimized",
            STANDARD_SET | {"consistent_func", "optimized_func"},
        ),
        ("--btf_attributes --reproducible_build", STANDARD_SET | {"attributes", "reproducible_build"}),
        ("--btf_gen_all", ALL_SET),
        ("--btf_features=default", DEFAULT_SET),
        ("--btf_features default", DEFAULT_SET),
        ("--features=default", DEFAULT_SET),
        ("--btf_features=all", ALL_SET),
        ("--btf_features=all,default", ALL_SET),
        ("--btf_features=", set()),
        ("--btf_features=var", {"var"}),
        ("--btf_features=+global_var", DEFAULT_SET | {"global_var"}),
        ("--btf_features=var --btf_features=float,enum64", {"var", "float", "enum64"}),
        ("--btf_features=var --btf_features=+reproducible_build", DEFAULT_SET | {"reproducible_build"}),
        ("--btf_features=var,nonsense,,layout", {"var", "layout"}),
        ("--btf_features=Var", set()),
        ("--btf_features_strict=var --btf_features=float,nonsense", {"var", "float"}),
        # The first list switches off what is before it; what is after it counts.
        ("--btf_gen_floats --btf_features=var", {"var"}),
        ("--btf_features=var --btf_gen_floats", {"var", "float"}),
        ("--btf_features=default --skip_encoding_btf_vars", DEFAULT_SET - {"var"}),
        ("--btf_features=float --skip_encoding_btf_vars --btf_features=var", {"float", "var"}),
        ("--btf_gen_all --btf_features=distilled_base", ALL_SET | {"distilled_base"}),
        ("--btf_gen_all --skip_encoding_btf_enum64 --btf_features_strict=float", ALL_SET - {"enum64"}),
        ("--btf_features=distilled_base", {"distilled_base"}),
        ("--btf_features=distilled_base --btf_encode_detached=o", set()),
    ],
)
def test_features(arguments: str, expected: set[str]) -> None:
    assert features(arguments) == expected


@pytest.mark.parametrize("text", ["bogus", "var,bogus", "+bogus", "Default"])
def test_strict_features(run: Run, text: str) -> None:
    outcome = run("-J", "--btf_features_strict", text, "x.o")
    assert outcome.status == 1
    start = r"pybtf-pahole: error: --btf_features_strict: unknown feature '\w+'; expected some of .*\n"
    assert re.fullmatch(start, outcome.err)
    assert SUPPORTED in outcome.err


# Jobs and files


@pytest.mark.parametrize(
    ("arguments", "jobs"),
    [
        ("-J x", 1), ("-J -j x", None), ("-J --jobs x", None), ("-J -j7 x", 7), ("-Jj7 x", 7), ("-J --jobs=7 x", 7),
        ("-J -j7 -j x", None), ("-J -j -j3 -j5 x", 5), ("-J -j0 x", 1), ("-J -j-3 x", 1), ("-jJ x -J", 1),
        ("-J -j99999999999999999999 x", 1024), ("-J --jo=4 x", 4), ("-J --jobs= x", None),
        (f"-J -j{'9' * 5000} x", 1024),
    ],
)  # fmt: skip
def test_jobs(arguments: str, jobs: int | None) -> None:
    request = Request(arguments.split())
    assert (request.jobs, request.files) == (jobs, ["x"])


def test_more_workers_than_a_small_file_keeps_busy_are_not_started(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for size, jobs in ((0, 1), (9 << 20, min(3, available_cpus()))):
        path.write_bytes(b"")
        os.truncate(path, size)
        assert _jobs(Request(["-J", "-j", str(path)])) == jobs
    assert [_jobs(Request(["-J", f"-j{number}", str(path)])) for number in (2, 3, 7)] == [2, 3, 3]


def test_a_detached_file_that_cannot_be_written_is_noticed_first(run: Run, tmp_path: Path) -> None:
    (tmp_path / "damaged.ko").write_bytes(b"no ELF file")
    outcome = run("-J", f"--btf_encode_detached={tmp_path / 'none' / 'out'}", tmp_path / "damaged.ko")
    assert outcome.status == 1
    assert "none/out: cannot be written: the folder " in outcome.err


def test_detached_without_j_encodes(run: Run, elf: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(f"--btf_encode_detached={out}", "--btf_features=default", elf).status == 0
    assert out.read_bytes() == GOLDEN.read_bytes()
    assert elf.read_bytes() == ELF.read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        "-J --btf_encode_detached=OUT --btf_features=default ELF",
        "-J --btf_encode_detached OUT --btf_features default ELF",
        "ELF --btf_encode_detached OUT -J --btf_features default -j",
        "--btf_encode_d=OUT --features=default -- ELF",
        "-VJj1 --btf_encode_detached=OUT --feat=default ELF",
        "-J -F dwarf --hashbits=4 -I --skip_missing --btf_encode_detached=OUT --btf_features=default ELF",
        "-J -Fbtf,dwarf --btf_encode_detached=OUT --btf_features=default -q ELF",
    ],
)
def test_spellings(run: Run, elf: Path, tmp_path: Path, arguments: str) -> None:
    out = tmp_path / "out"
    names = {"OUT": str(out), "ELF": str(elf)}
    assert run(*re.sub("OUT|ELF", lambda match: names[match[0]], arguments).split()).status == 0
    assert out.read_bytes() == GOLDEN.read_bytes()


@pytest.mark.parametrize(
    ("bits", "good"),
    [("0", True), ("31", True), ("007", True), ("-0", True), ("5x", True), ("", True)]
    + [(bits, False) for bits in ("32", "99", "-1", "100", "9" * 5000)],
)
def test_bits_of_a_hash_table(bits: str, good: bool) -> None:
    """The number has no effect, but numbers that pahole refuses are refused."""
    if good:
        Request([f"--hashbits={bits}", "-J", "file"])
        return
    with pytest.raises(InputError, match="expected a number from 0 to 31"):
        Request([f"--hashbits={bits}", "-J", "file"])


def test_what_stays_behind_is_told(run: Run, elf: Path, tmp_path: Path) -> None:
    """Hard links of the file keep the old contents; the `.BTF.ext` of a BPF object refers to BTF that is gone."""
    os.link(elf, tmp_path / "other")
    assert "other hard links of it keep the old contents" in run("-J", elf).err
    program = tmp_path / "program.o"
    shutil.copy(ROOT / "fixtures" / "bpf" / "hash.o", program)
    told = run("-J", program)
    assert (told.status, told.err.count("\n")) == (0, 1)
    assert f"{program}: its .BTF.ext refers to the BTF that was replaced" in told.err
    assert run("-J", program).err == ""


def test_an_owner_that_cannot_be_kept_is_told(run: Run, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_fd: int, _uid: int, _gid: int) -> None:
        raise PermissionError(errno.EPERM, "not yours")

    monkeypatch.setattr(os, "fchown", refuse)
    told = run("-J", elf)
    assert (told.status, told.err.count("\n")) == (0, 1)
    assert f"{elf}: its owner or group could not be kept" in told.err


def test_signatures_of_changed_modules_are_void(run: Run, elf: Path, tmp_path: Path) -> None:
    signed, end = tmp_path / "signed.ko", b"~Module signature appended~\n"
    signed.write_bytes(elf.read_bytes() + end)
    assert f"{signed}: is a signed module, whose signature no longer counts" in run("-J", signed).err
    assert run("-J", elf).err == ""
    signed.write_bytes(elf.read_bytes() + end)
    assert run("-J", signed).err == ""  # it already has this BTF, and stays as it is
    assert signed.read_bytes().endswith(end)


def test_how_much_is_told(run: Run, elf: Path, tmp_path: Path) -> None:
    out, lines = tmp_path / "out", [f"{tmp_path / 'out'}: 15 types, 441 B\n"]
    assert run("-J", "-V", f"--btf_encode_detached={out}", elf).err.splitlines(keepends=True)[-1:] == lines
    assert run("-J", "-V", "-q", f"--btf_encode_detached={out}", elf).err == ""
    assert run("-J", "-V", elf).err.splitlines()[-1].startswith(f"{elf}: 15 types, ")
    os.link(elf, tmp_path / "other")
    assert run("-J", "-q", elf).err == ""
    odd = tmp_path / "odd"
    odd.write_bytes(load()["annotation_empty"].build())
    assert run("-J", f"--btf_encode_detached={out}", odd).err == ""
    first, second, *_ = run("-J", "-V", f"--btf_encode_detached={out}", odd).err.splitlines()
    assert first.startswith("pybtf-pahole: warning: 1 of the units are encoded in part only: ")
    assert second == "units: 2 kept, 0 left out"
    hidden = tmp_path / "module.ko"
    options = [f"--btf_base={BASE}", "--lang=rust", MODULE]
    assert "is empty BTF" in run("-J", f"--btf_encode_detached={hidden}", *options).err
    assert run("-J", "-q", f"--btf_encode_detached={hidden}", *options).err == ""


def test_in_place(run: Run, elf: Path) -> None:
    import pybtf

    outcome = run("-J", "--btf_features=default", elf)
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    assert pybtf.BTF.from_file(elf).data == GOLDEN.read_bytes()
    assert run("-J", "--btf_features=default", elf).status == 0  # again, replacing the section that is there now
    assert pybtf.BTF.from_file(elf).data == GOLDEN.read_bytes()


def test_objcopy_is_not_needed(run: Run, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLVM_OBJCOPY", "ccache no-such-objcopy")
    monkeypatch.setenv("PATH", "")
    assert run("-J", elf).status == 0


def test_posixly_correct_ends_the_options_at_the_first_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSIXLY_CORRECT", "1")
    assert Request(["-J", "--jobs=2", "x"]).jobs == 2
    outcome = run("-J", "x.o", "-j2")
    assert outcome.status == 64
    assert "2 input files are given (x.o, -j2)" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-J --bogus x.o", "there is no option --bogus"),
        ("-J -K x.o", "there is no option -K"),
        ("--check x.o", "--check takes no value and no file, and no other option goes with it"),
        ("-J --check=1", "--check takes no value and no file, and no other option goes with it"),
        ("-J --btf_enc x.o", "--btf_encode, --btf_encode_detached, --btf_encode_force"),
        ("-J --btf_feat=x x.o", "ambiguous: it may be --btf_features, --btf_features_strict"),
        ("-J --btf_encode=3 x.o", "option --btf_encode takes no value"),
        ("-J x.o --btf_base", "option --btf_base needs a value"),
        ("-J x.o -F", "option -F needs a value"),
        ("-J", "no input file is given"),
        ("", "neither -J nor --btf_encode_detached is given. pybtf-pahole stands in for pahole where BTF is encoded"),
        ("--btf_features=default list_head", "neither -J nor --btf_encode_detached is given"),
        ("-j4 list_head", "neither -J nor --btf_encode_detached is given"),
        ("-J -C list_head vmlinux", "-C of pahole has nothing to do with encoding BTF. pybtf-pahole stands in"),
        ("-J --sizes vmlinux", "--sizes of pahole has nothing to do with encoding BTF"),
        ("-J --expand_types vmlinux", "--expand_types of pahole has nothing"),
        ("-J --prettify=x vmlinux", "--prettify of pahole is not supported: pybtf decode --btf FILE"),
        ("-F btf -I -C a vmlinux", "BTF does not say where a type is declared; pybtf show --provenance does"),
        ("-J --count=2 vmlinux", "--count of pahole has nothing to do with BTF, or is not supported"),
        ("--compile -C x vmlinux", "--compile of pahole is not supported: pybtf dump FILE prints C that compiles"),
        ("-J -F btf vmlinux", "from dwarf only"),
        ("--btf_encode_detached=o -F btf vmlinux", "from dwarf only"),
        ("-J --kabi_prefix=x vmlinux", "--kabi_prefix of pahole is not supported"),
        ("-J x.o y.o", r"2 input files are given (x.o, y.o); expected one"),
        ("-J a b c d e f", r"6 input files are given (a, b, c, d, e); expected one"),
        ("-J -j 2 x.o", "2 is taken as an input file, because the number of -j must follow it directly: -j2"),
    ],
)
def test_usage_errors(run: Run, arguments: str, message: str) -> None:
    outcome = run(*arguments.split())
    assert outcome.status == 64
    assert outcome.out == ""
    assert outcome.err.startswith("pybtf-pahole: error: ")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_dash_is_a_file() -> None:
    assert Request(["-J", "-"]).files == ["-"]


def test_a_file_may_have_a_number_for_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("2").touch()
    with pytest.raises(UsageError, match="2 input files are given"):
        Request(["-J", "-j", "2", "x.o"])


def test_every_option_of_pahole_is_known() -> None:
    """The numbers are those of `pahole --usage` of 1.32. (`tools/golden/gates.py verify` compares each option.)"""
    count = {0: 0, 1: 0, 2: 0}
    for option in OPTIONS:
        count[option.value] += 1
    assert count == {0: 59, 1: 32, 2: 1}
    assert len({option.name for option in OPTIONS}) == len(OPTIONS)


@pytest.mark.parametrize("option", ["--btf_encode_detached", "--btf_base"])
def test_names_that_are_empty(run: Run, elf: Path, option: str) -> None:
    outcome = run("-J", f"{option}=", elf)
    assert (outcome.status, outcome.err.count("\n")) == (1, 1)
    assert f"{option}: the name is empty" in outcome.err


@pytest.mark.parametrize("options", [[], ["-J"], ["-F", "btf"], ["-C", "x"]])
def test_an_input_file_whose_name_is_empty(run: Run, options: list[str]) -> None:
    outcome = run(*options, "")
    assert (outcome.status, outcome.err.count("\n")) == (1, 1)
    assert "the input file: the name is empty; expected the name of a file" in outcome.err


# Languages


@pytest.mark.parametrize("text", ["klingon", "c11,", ""])
def test_unknown_languages(run: Run, elf: Path, text: str) -> None:
    for option in ("--lang", "--lang_exclude"):
        outcome = run("-J", f"{option}={text}", elf)
        assert outcome.status == 1
        what = "unknown language 'klingon'" if text == "klingon" else "--lang"
        assert outcome.err.startswith(f"pybtf-pahole: error: {what}")
        assert elf.read_bytes() == ELF.read_bytes()


def test_languages_from_the_environment(run: Run, elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAHOLE_LANG_EXCLUDE", "c99,c11")
    assert Request(["-J", "x"]).lang_exclude == "c99,c11"
    assert Request(["-J", "--lang_exclude=rust", "x"]).lang_exclude == "rust"
    assert (Request(["-J", "--lang=rust", "x"]).lang_exclude, Request(["-J", "--lang=rust", "x"]).lang) == ("", "rust")
    outcome = run("-J", elf)
    assert outcome.status == 1
    assert "no unit has anything to encode" in outcome.err
    assert run("-J", "--lang=c", "--lang_exclude=rust", elf).err.endswith("together: --lang and --lang_exclude\n")
    for text in ("klingon", "rust,"):
        monkeypatch.setenv("PAHOLE_LANG_EXCLUDE", text)
        assert run("-J", elf).status == 1
    monkeypatch.setenv("PAHOLE_LANG_EXCLUDE", "")
    assert run("-J", elf).status == 0


# Exit statuses: never 0 where a needed output was not written


def broken(tmp_path: Path, kind: str) -> Path:
    path = tmp_path / "input"
    if kind == "not elf":
        path.write_bytes(b"int main;\n")
    elif kind == "truncated":
        path.write_bytes(ELF.read_bytes()[:700])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "folder":
        path.mkdir()
    return path


@pytest.mark.parametrize("detached", [False, True])
@pytest.mark.parametrize("kind", ["missing", "not elf", "truncated", "empty", "folder"])
def test_unusable_input(run: Run, tmp_path: Path, kind: str, detached: bool) -> None:
    path = broken(tmp_path, kind)
    out = tmp_path / "out"
    outcome = run("-J", *([f"--btf_encode_detached={out}"] if detached else []), path)
    assert outcome.status == 1
    assert outcome.err.startswith(f"pybtf-pahole: error: {path}: ")
    assert outcome.err.count("\n") == 1
    assert not out.exists()


def test_types_btf_cannot_express(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"before")
    outcome = run("-J", f"--btf_encode_detached={out}", FIXTURES / "bin" / "07_atomic.gcc-O0-5-obj.elf")
    assert outcome.status == 1
    assert "07_atomic.c" in outcome.err
    assert out.read_bytes() == b"before"


@pytest.mark.parametrize("target", ["no/such/folder/out", "", "."])
def test_output_that_cannot_be_written(
    run: Run, elf: Path, tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("-J", f"--btf_encode_detached={target}", elf)
    assert outcome.status == 1
    assert outcome.err.startswith("pybtf-pahole: error: ")


def test_the_detached_file_is_not_the_input(run: Run, elf: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(elf)
    outcome = run("-J", f"--btf_encode_detached={link}", elf)
    assert outcome.status == 1
    assert elf.read_bytes() == ELF.read_bytes()


def test_a_feature_that_needs_a_base(run: Run, elf: Path, tmp_path: Path) -> None:
    outcome = run("-J", "--btf_features=distilled_base", elf)
    assert (outcome.status, outcome.err.endswith("the feature distilled_base needs --btf_base\n")) == (1, True)
    out = tmp_path / "out"
    assert run("-J", "--btf_features=default,distilled_base", f"--btf_encode_detached={out}", elf).status == 0
    assert out.read_bytes() == GOLDEN.read_bytes()


def test_a_signal_ends_the_process_as_if_it_were_not_caught() -> None:
    """make distinguishes an interrupted job from a failed one by this."""
    code = (
        "import os, signal, sys\n"
        "from pybtf.pahole import main\n"
        "main._run = lambda arguments: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(main.main(['-J', 'x']))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_errors_of_requests_have_their_classes() -> None:
    with pytest.raises(UsageError):
        Request(["-J", "--bogus"])
    with pytest.raises(InputError):
        Request(["-J", "--btf_features_strict=bogus"])
    with pytest.raises(Answer):
        Request(["--help"])


# Modules

SPLIT = FIXTURES / "split"
MODULE, BASE = SPLIT / "bin" / "reuse.gcc.o", SPLIT / "golden" / "kernel.gcc.btf"
SPLIT_FEATURES = "--btf_features=default,global_var"


def test_a_module_on_a_base(run: Run, tmp_path: Path) -> None:
    module, out = tmp_path / "reuse.ko", tmp_path / "reuse.btf"
    shutil.copy(MODULE, module)
    golden = {name: (SPLIT / "golden" / f"reuse.gcc.{name}.btf").read_bytes() for name in ("split", "distilled")}
    options = ["-J", f"--btf_base={BASE}", f"{SPLIT_FEATURES},distilled_base"]
    outcome = run(*options, f"--btf_encode_detached={out}", module)
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    assert out.read_bytes() == golden["split"]
    assert run("-J", "--btf_base", BASE, SPLIT_FEATURES, module).status == 0
    assert read_btf(module)[0] == golden["split"]
    assert run(*options, module).status == 0
    assert read_btf(module)[0] == golden["distilled"]
    assert read_btf(module, ".BTF.base")[0] == (SPLIT / "golden" / "reuse.gcc.distilled_base.btf").read_bytes()


@pytest.mark.parametrize(("machine", "start"), [("gcc", b"\x9f\xeb\x01\0\x18\0"), ("s390x", b"\xeb\x9f\x01\0\0\0")])
def test_a_module_of_which_nothing_is_wanted(run: Run, tmp_path: Path, machine: str, start: bytes) -> None:
    """Its empty BTF has the module's byte order."""
    out, base = tmp_path / "out\n.btf", SPLIT / "golden" / f"kernel.{machine}.btf"
    module = SPLIT / "bin" / f"reuse.{machine}.o"
    outcome = run("-J", f"--btf_base={base}", "--lang=rust", f"--btf_encode_detached={out}", module)
    assert outcome.status == 0
    assert (len(out.read_bytes()), out.read_bytes()[:6]) == (24, start)
    assert outcome.err.endswith("out\\n.btf is empty BTF\n")


def test_nothing_waits_for_the_disk(run: Run, elf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: list[int] = []
    monkeypatch.setattr(os, "fsync", forced.append)
    write = f"--btf_encode_detached={tmp_path / 'out'}"
    for arguments in (["-J", elf], ["-J", write, elf], ["-J", f"--btf_base={BASE}", "--lang=rust", write, MODULE]):
        assert run(*arguments).status == 0
    assert not forced


def test_a_base_that_is_none(run: Run, tmp_path: Path) -> None:
    outcome = run("-J", f"--btf_base={MODULE}", f"--btf_encode_detached={tmp_path / 'out'}", MODULE)
    assert outcome.status == 1
    assert "no .BTF section" in outcome.err
    assert list(tmp_path.iterdir()) == []
