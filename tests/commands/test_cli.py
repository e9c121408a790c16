"""The command line: options, messages, exit statuses and outputs, with a pipeline that records what it was asked.

Other tests cover the real pipeline with real files. Here it is replaced, to test every way in which a run ends.
"""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import pybtf
from pybtf.cli import habits, manual
from pybtf.cli.app import group
from pybtf.cli.main import COMMANDS, main
from pybtf.elf.writer import Written
from pybtf.encoded import Encoded
from pybtf.errors import InputError, InternalError, Place
from pybtf.features import DEFAULT, NAMES
from pybtf.options import EncodeOptions, available_cpus
from pybtf.pahole import table
from pybtf.report import Report

DATA = b"H" * 24 + b"T" * 16 + b"\0int\0"
Tick = Callable[[int, int], None]


class Pipeline:
    """Stands in for `pybtf.pipeline.passes`: remembers its arguments, then raises `error` or returns `DATA`."""

    def __init__(self) -> None:
        self.path = ""
        self.options: EncodeOptions | None = None
        self.error: BaseException | None = None
        self.warnings: list[str] = []

    def encode_file(self, path: str, options: EncodeOptions, progress: Tick | None = None) -> Encoded:
        self.path, self.options = path, options
        if self.error is not None:
            raise self.error
        if progress is not None:
            progress(1, 2)
            progress(2, 2)
        report = Report(path=path, features=options.features.names(), jobs=options.jobs)
        report.units.kept = 2
        report.types = {"INT": 1200, "PTR": 34}
        report.functions.kept = 5
        report.functions.leave_out("inconsistent", 12)
        report.functions.leave_out("reordered", 3)
        report.types_size, report.strings_size, report.output_size = 16, 5, 45
        report.warnings = self.warnings
        return Encoded(DATA, report)


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    fake = Pipeline()
    module = types.ModuleType("pybtf.pipeline.passes")
    module.encode_file = fake.encode_file  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pybtf.pipeline.passes", module)
    monkeypatch.delenv("PAHOLE_LANG_EXCLUDE", raising=False)
    return fake


@pytest.fixture
def elf(tmp_path: Path) -> str:
    """A file to name as FILE. Nothing reads it."""
    path = tmp_path / "vmlinux"
    path.write_bytes(b"the input")
    return str(path)


class Outcome:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def runner(*arguments: str) -> Outcome:
        status = main(arguments)
        return Outcome(status, *capfd.readouterr())

    return runner


Run = Callable[..., Outcome]


# Help and version


def test_version(run: Run) -> None:
    assert run("--version").out == f"pybtf {pybtf.__version__}\n"
    # The quick answer and click's must be the same.
    assert run("--version", "encode").out == f"pybtf {pybtf.__version__}\n"


@pytest.mark.parametrize("name", [*COMMANDS])
def test_help_is_the_manual_page_however_it_is_asked_for(run: Run, name: str) -> None:
    assert run(name, "--help").out == run(name, "-h").out == manual.COMMANDS[name]
    assert run(name, "--help", "more").out == manual.COMMANDS[name]
    assert run("--help").out == run("--help", "encode", "x").out == manual.PYBTF
    assert f"  {name} " in manual.PYBTF


@pytest.mark.parametrize("name", [*COMMANDS])
def test_the_manual_has_exactly_the_options_click_knows(name: str) -> None:
    command = group().get_command(click.Context(group()), name)
    assert command is not None
    known = {option for param in command.params for option in [*param.opts, *param.secondary_opts]}
    known = {option for option in known if option.startswith("-")} | {"-h", "--help"}
    options = manual.COMMANDS[name].split("Examples:")[0] + manual.COMMANDS[name].split("\nOptions:")[-1]
    lines = [line for line in options.splitlines() if line.startswith("  -")]
    described = {
        word for line in lines for word in re.findall(r"(?<!\S)(--?[A-Za-z][a-z-]*)", line.split("   ")[0])
    }
    assert described == known


def test_the_manual_names_all_features() -> None:
    words = set(re.findall(r"[a-z0-9_]+", manual.ENCODE))
    assert set(NAMES) <= words


def test_manual_fits_a_terminal() -> None:
    for page in (manual.PYBTF, *manual.COMMANDS.values()):
        assert max(map(len, page.splitlines())) <= 110


# Usage errors: status 2, one message, nothing encoded


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing command; see pybtf --help"),
        (["frob"], f"there is no command 'frob'; there are {', '.join(COMMANDS)}; see pybtf --help$"),
        (["encod", "x"], r"there is no command 'encod' \(did you mean 'encode'\?\); see"),
        (["-J", "x"], r"no such option '-J' \(for pahole's there is 'pybtf encode FILE'\); see pybtf --help$"),
        (["encode", "--btf_base", "b", "x"], r"'--btf_base' \(for pahole's there is 'pybtf encode --base BTF FILE'\)"),
        (["show", "-C", "list_head", "x"], r"'-C' \(for pahole's there is 'pybtf show NAME FILE'\); see pybtf show"),
        (["show", "-q", "a", "x"], r"'-q' \(for pahole's there is 'pybtf show --no-comments NAME FILE'\); see"),
        (["-T", "x"], r"'-T' \(for pahole's there is 'pybtf duplicates FILE'\); see pybtf --help$"),
        (["dump", "-q", "x"], "no such option '-q'; see pybtf dump --help$"),
        (["show", "--quiet", "a", "x"], r"'--quiet' \(for pahole's there is 'pybtf show --no-comments NAME FILE'\);"),
        (["show", "-y", "list_", "x"], r"'-y' \(pahole's is in 'pybtf-pahole -F btf -y PREFIX FILE'\); see pybtf show"),
        (["--structs", "x"], r"'--structs' \(pahole's is in 'pybtf-pahole -F btf --structs FILE'\); see pybtf --help$"),
        (["dump", "-a", "x"], "no such option '-a'; see pybtf dump --help$"),
        (["btf"], r"no command 'btf' \(for bpftool's there is 'pybtf dump FILE'\); see"),
        (["btf", "dump", "file", "x"], r"no command 'btf' \(for bpftool's there is 'pybtf dump --format raw x'\); see"),
        (["btf", "dump", "file", "x", "format", "c"], r"'btf' \(for bpftool's there is 'pybtf dump --format c x'\)"),
        (["btf", "dump", "file"], r"no command 'btf' \(for bpftool's there is 'pybtf dump FILE'\); see"),
        *((["btf", *words.split()], "no command 'btf': pybtf asks no kernel what is loaded; the BTF of the kernel ")
          for words in ("list", "show", "dump id 5", "dump prog name x")),
        (["gen", "min_core_btf", "x", "y", "z"], r"'gen' \(for bpftool's there is 'pybtf min-core BTF OBJECT"),
        (["resolve_btfids", "x"], "no command 'resolve_btfids': it is of the kernel's own tools; 'pybtf verify"),
        (["gen", "skeleton", "x"], "no command 'gen'; there are encode, dump, "),
        (["dump", "file", "x", "format", "c"], r"one FILE at a time \(for bpftool's there is 'pybtf dump --format c x"),
        (["dump", "file", "x"], r"one FILE at a time \(for bpftool's there is 'pybtf dump --format raw x'\)"),
        (["dump", "file", "x", "root_id", "5", "root_id", "7", "format", "c", "unsorted"],
         r"\(for bpftool's there is 'pybtf dump --format c --root 5 --root 7 --unsorted x'\)"),
        (["dump", "x", "root_id", "5"], r"\(for bpftool's there is 'pybtf dump --format raw --root 5 x'\)"),
        (["dump", "file", "x", "root_id"], "one FILE at a time$"),
        (["dump", "file", "x", "for", "mat"], "one FILE at a time$"),
        (["dump", "-B", "b", "x"], r"'-B' \(for bpftool's there is 'pybtf dump --base BTF FILE'\); see pybtf dump"),
        (["dump", "-j", "x"], r"'-j' \(for bpftool's there is 'pybtf dump --json FILE'\)"),
        (["--json", "btf", "dump"], r"'--json' \(for bpftool's there is 'pybtf dump --json FILE'\)"),
        (["encode", "-p", "x"], "no such option '-p'; see pybtf encode --help$"),
        (["version"], r"there is no command 'version' \(for bpftool's there is 'pybtf --version'\)"),
        (["-s", "x"], r"no such option '-s' \(for pahole's there is 'pybtf show --sizes FILE'\); see pybtf --help$"),
        (["encode", "-o", "x", "y"], r"'-o' \('pybtf encode --detached OUT FILE' writes the BTF to OUT\); see pybtf"),
        (["cc", "gcc", "-g", "-c", "x.c"], "'-g', the compiler and its options come after --: pybtf cc -- gcc"),
        (["show", "-o", "x", "y"], r"no such option '-o'; see pybtf show --help$"),
        (["dump", "x", "y"], "one FILE at a time$"),
        (["completion"], r"missing argument '\{bash\|zsh\|fish\}'. Choose from: bash, zsh, fish; see pybtf completion"),
        (["encode", "-j", "k.elf"], "-j expects the number of workers, 1 to 1024, not 'k.elf'; see pybtf encode"),
        (["encode", "-q", "--timings", "x"], "--quiet and --timings do not go together"),
        *(([*words.split(","), ""], "the name of a FILE is empty") for words in (
            "encode", "encode,x", "dump", "show", "show,x", "size", "duplicates", "object", "merge", "why",
            "dedup,-o,x", "min-core,-o,x,y", "decode,int", "verify", "diff,x", "reproduce"
        )),
        *(([name, "", "x"], "a name is empty") for name in ("show", "why", "decode")),
        *(([name, option, "", "x"], f"{option}: the name is empty") for name, option in (
            ("dump", "--base"), ("decode", "--btf"), ("size", "--against"), ("verify", "--base"), ("diff", "--old-base")
        )),
        (["encode", "--base", "", "x"], "--base: the name is empty"),
        (["encode", "--features", "globalvar", "x"], r"unknown feature 'globalvar' \(did you mean 'global_var'\?\)"),
        (["encode", "--features", "default,-var", "x"], "unknown feature '-var': no list takes a feature away; name "),
        (["encode", "--lang", "rst", "x"], r"unknown language 'rst' \(did you mean 'rust'\?\)"),
        (["encode", "--base", "b", "--standalone", "x"], "--base and --standalone do not go together"),
        (["encode", "--force-base", "x"], "--force-base is about a --base, and none is given"),
        (["encode", "--features", "+distilled_base", "x"], "the feature distilled_base needs a base BTF"),
        (["encode", "--features", "+distilled_base", "--detached", "y", "x"], "distilled_base needs a base BTF"),
        (["encode"], "missing argument 'FILE...'; see pybtf encode --help"),
        (["dump", "--root"], "option '--root' requires an argument; see pybtf dump --help"),
        (["encode", "--bad", "x"], "no such option '--bad'; see pybtf encode --help$"),
        (["encode", "--bogus", "x"], "no such option '--bogus'; see pybtf encode --help$"),
        (["encode", "--det", "x"], r"'--det'\. Did you mean '--detached' or '--detached-dir'\? See pybtf encode"),
        (["encode", "--featrues", "x"], r"'--featrues'\. Did you mean '--features'\? See"),
        (["encode", "--no-prog", "x"], r"'--no-prog'\. Did you mean '--no-progress'\? See"),
        (["dump", "--hlep", "x"], r"'--hlep'\. Did you mean '--help'\? See"),
        (["encode", "x", "y.btf"], r"y\.btf: no such file; to write BTF there: pybtf encode --detached y\.btf x$"),
        (["encode", "--detached", "x", "a", "b"], "--detached is about one FILE; --detached-dir"),
        (["encode", "--detached", "x", "--detached-dir", "d", "a"], "--detached and --detached-dir do not go"),
        (["encode", "--combine", "--detached-dir", "d", "a", "b"], "--combine and --detached-dir do not go"),
        (["encode", "-j", "0", "x"], "-j expects the number of workers, 1 to 1024, not '0'; see pybtf encode"),
        (["encode", "-j", "many", "x"], "-j expects the number of workers, 1 to 1024, not 'many'"),
        (
            ["encode", "--features", "foo", "x"],
            "unknown feature 'foo'; expected one of encode_force, var, .*, default, all$",
        ),
        (["encode", "--lang", "klingon", "x"], "unknown language 'klingon'; expected one of "),
        (["encode", "--lang", "", "x"], "--lang names no language"),
        (["encode", "--lang", "c11", "--lang-exclude", "rust", "x"], "do not go together: --lang and --lang-exclude$"),
        (["encode", "-q", "-v", "x"], "--quiet and --verbose do not go together"),
        (["encode", "--features", "distilled_base", "x"], "needs a base BTF"),
        (["encode", "--detached", "-", "--report", "-", "x"], "name the same file"),
        (["completion", "tcsh"], "unknown shell 'tcsh'; expected one of bash, zsh, fish$"),
    ],
)
def test_usage_errors(run: Run, pipeline: Pipeline, arguments: list[str], message: str) -> None:
    outcome = run(*arguments)
    assert outcome.status == 2
    assert re.match(f"pybtf: error: .*{message}", outcome.err), outcome.err
    assert outcome.err.count("\n") == 1
    assert (outcome.out, pipeline.path) == ("", "")


@pytest.mark.parametrize(("name", "option"), [("-x y.elf", "-x"), ("--y.elf", "--y.elf")])
def test_a_file_whose_name_looks_like_an_option(
    name: str, option: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).touch()
    there = f"'./{name}'" if " " in name else f"./{name}"
    said = f"pybtf: error: no such option '{option}'; the file of that name is {there}; see pybtf encode --help\n"
    assert run("encode", name).err == said


@pytest.mark.usefixtures("pipeline")
@pytest.mark.parametrize("options", [["--detached"], ["--report"]])
@pytest.mark.parametrize("alias", [False, True])
def test_no_output_may_be_the_input(
    run: Run, elf: str, options: list[str], alias: bool, tmp_path: Path
) -> None:
    target = elf
    if alias:
        target = str(tmp_path / "link")
        Path(target).symlink_to(elf)
    outcome = run("encode", *options, target, elf)
    assert outcome.status == 2
    assert "FILE itself" in outcome.err
    assert Path(elf).read_bytes() == b"the input"


@pytest.mark.usefixtures("pipeline")
def test_report_and_detached_must_differ(run: Run, elf: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    assert run("encode", "--detached", out, "--report", f"{tmp_path}/./out", elf).status == 2


@pytest.mark.usefixtures("pipeline")
def test_btf_does_not_go_to_a_terminal(
    run: Run, elf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for arguments in (["--detached", "-"], ["--detached", os.devnull, "--provenance", "-"]):
        outcome = run("encode", *arguments, elf)
        assert outcome.status == 2
        assert f"{arguments[-2]} -: standard output is a terminal" in outcome.err


# What reaches the pipeline


def asked(run: Run, pipeline: Pipeline, elf: str, *arguments: str) -> EncodeOptions:
    assert run("encode", "--detached", os.devnull, *arguments, elf).status == 0
    assert pipeline.path == elf
    assert pipeline.options is not None
    return pipeline.options


def test_defaults(run: Run, pipeline: Pipeline, elf: str) -> None:
    options = asked(run, pipeline, elf)
    assert options.features.names() == list(DEFAULT)
    assert options.jobs == available_cpus()
    assert (options.lang, options.lang_exclude) == (None, None)


def test_options_arrive(run: Run, pipeline: Pipeline, elf: str) -> None:
    options = asked(
        run, pipeline, elf, "-j3", "--features", "var", "--features", "float", "--lang", "C11,rust"
    )
    assert options.features.names() == ["var", "float"]
    assert (options.jobs, options.lang) == (3, frozenset({0x1D, 0x1C}))
    assert asked(run, pipeline, elf, "--features", "").features.names() == []


def test_environment_excludes_languages_unless_an_option_speaks(
    run: Run, pipeline: Pipeline, elf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAHOLE_LANG_EXCLUDE", "rust,asm")
    assert asked(run, pipeline, elf).lang_exclude == frozenset({0x1C, 0x8001})
    assert asked(run, pipeline, elf, "--lang-exclude", "c11").lang_exclude == frozenset({0x1D})
    assert asked(run, pipeline, elf, "--lang", "c11").lang_exclude is None
    monkeypatch.setenv("PAHOLE_LANG_EXCLUDE", "")
    assert asked(run, pipeline, elf).lang_exclude is None


@pytest.mark.parametrize("command", ["encode", "merge", "reproduce", "why"])
def test_the_environment_is_named_if_it_is_wrong(
    command: str, run: Run, elf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAHOLE_LANG_EXCLUDE", "klingon")
    outcome = run(command, elf)
    assert outcome.status == 2
    assert outcome.err.startswith("pybtf: error: PAHOLE_LANG_EXCLUDE: unknown language 'klingon'; expected one of ")


# Outputs


@pytest.mark.usefixtures("pipeline")
def test_detached(run: Run, elf: str, tmp_path: Path) -> None:
    out = tmp_path / "out.btf"
    outcome = run("encode", "--detached", str(out), elf)
    assert (outcome.status, outcome.out) == (0, "")
    assert out.read_bytes() == DATA
    assert Path(elf).read_bytes() == b"the input"


@pytest.mark.usefixtures("pipeline")
@pytest.mark.parametrize(
    ("links", "told", "warning"),
    [
        (0, "", ""),
        (1, "", "1 other hard link of it"),
        (2, "", "2 other hard links"),
        (0, "signed", "signature"),
        (0, "disowned", "its owner or group could not be kept"),
    ],
)
def test_in_place(run: Run, elf: str, monkeypatch: pytest.MonkeyPatch, links: int, told: str, warning: str) -> None:
    embedded = []

    def embed(self: Encoded, path: str) -> Written:
        embedded.append((self.data, path))
        return Written(path, {".BTF": "added"}, True, 54, links, signed=told == "signed", disowned=told == "disowned")

    monkeypatch.setattr(Encoded, "embed", embed)
    outcome = run("encode", elf)
    assert outcome.status == 0
    assert embedded == [(DATA, elf)]
    assert warning in outcome.err
    assert ("warning" in outcome.err) == (links > 0 or told != "")


@pytest.mark.usefixtures("pipeline")
def test_detached_to_standard_output(run: Run, elf: str) -> None:
    outcome = run("encode", "--detached", "-", elf)
    assert (outcome.status, outcome.out.encode()) == (0, DATA)
    assert outcome.err.startswith("standard output: ")


@pytest.mark.usefixtures("pipeline")
def test_report(run: Run, elf: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    assert run("encode", "-q", "--detached", os.devnull, "--report", str(path), elf).status == 0
    facts = json.loads(path.read_text())
    assert facts["functions"]["left_out"]["inconsistent"] == 12
    assert len(facts["output"]["sha256"]) == 64
    names = [each["name"] for each in facts["timings"]["passes"]]
    assert names == ["start", "digests", "write"]


@pytest.mark.usefixtures("pipeline")
def test_report_of_an_in_place_run_has_the_digest_of_the_input_before(
    run: Run, elf: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def embed(_self: Encoded, path: str) -> Written:
        Path(path).write_bytes(b"changed")
        return Written(path, {".BTF": "added"}, True, 7, 0)

    monkeypatch.setattr(Encoded, "embed", embed)
    digests = []
    for target in ([], ["--detached", os.devnull]):
        Path(elf).write_bytes(b"the input")
        path = tmp_path / "report.json"
        assert run("encode", *target, "--report", str(path), elf).status == 0
        digests.append(json.loads(path.read_text())["input"]["xxh3_128"])
    assert digests[0] == digests[1]


@pytest.mark.usefixtures("pipeline")
def test_output_that_cannot_be_written(run: Run, elf: str, tmp_path: Path) -> None:
    outcome = run("encode", "--detached", str(tmp_path / "no" / "such"), elf)
    assert outcome.status == 1
    assert outcome.err.startswith(f"pybtf: error: {tmp_path}/no/such: ")
    assert outcome.err.count("\n") == 1


# Messages


@pytest.mark.usefixtures("pipeline")
def test_closing_line(run: Run, elf: str) -> None:
    outcome = run("encode", "-j2", "--detached", os.devnull, elf)
    assert re.fullmatch(
        r"/dev/null: 1,234 types, 5 functions, 0 variables, 45 B from 2 units; "
        r"\d+\.\d\d s, 2 jobs, [\d.]+ [MG]B peak memory\n",
        outcome.err,
    )


def test_quiet(run: Run, pipeline: Pipeline, elf: str) -> None:
    pipeline.warnings = ["odd"]
    outcome = run("encode", "-q", "--detached", os.devnull, elf)
    assert (outcome.out, outcome.err) == ("", "")


@pytest.mark.usefixtures("pipeline")
def test_verbose_says_what_was_left_out(run: Run, elf: str) -> None:
    lines = run("encode", "-v", "--detached", os.devnull, elf).err.splitlines()
    assert lines[:3] == [
        "units: 2 kept, 0 left out",
        "functions: 5 kept, 15 left out",
        "  12  inconsistent: units disagree about the prototype",
    ]


def test_warnings_are_shown_but_not_without_end(run: Run, pipeline: Pipeline, elf: str) -> None:
    pipeline.warnings = [f"odd {i}" for i in range(12)]
    lines = run("encode", "--detached", os.devnull, elf).err.splitlines()
    assert lines[:10] == [f"pybtf: warning: odd {i}" for i in range(10)]
    assert lines[10] == "pybtf: warning: 2 more warnings; -v shows them"
    assert "odd 11" in run("encode", "-v", "--detached", os.devnull, elf).err


@pytest.mark.usefixtures("pipeline")
def test_timings(run: Run, elf: str) -> None:
    err = run("encode", "--timings", "--detached", os.devnull, elf).err
    assert [line.split()[0] for line in err.splitlines()][:3] == ["pass", "total", "start"]
    assert re.search(r"^peak memory \d+ MB$", err, re.MULTILINE)


# Errors: one message, no traceback, the right status


BAD = InputError(Place("vmlinux", ".debug_info", 0x1F), "unit length 0xfff0", "at most 0x20")


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (BAD, 1, "vmlinux: .debug_info+0x1f: unit length 0xfff0; expected at most 0x20"),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "vmlinux"),
            1,
            "vmlinux: No such file or directory",
        ),
        (OSError(errno.EIO, "Input/output error"), 1, "Input/output error"),
        (OSError("mmap length is greater than file size"), 1, "mmap length is greater than file size"),
        (
            PermissionError(errno.EACCES, "Permission denied", b"vm\xfflinux"),
            1,
            r"vm\xfflinux: Permission denied",
        ),
        (MemoryError("vmlinux: not enough memory"), 1, "vmlinux: not enough memory"),
        (OSError(errno.EMFILE, "Too many", "part.py"), 1, "too many open files; raise the limit (ulimit -n)"),
        (
            BrokenPipeError(errno.EPIPE, "Broken pipe"),
            1,
            "standard output: the reader at the other end is gone",
        ),
        (ImportError("the core is missing"), 1, "the core is missing"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors(
    run: Run, pipeline: Pipeline, elf: str, tmp_path: Path, error: BaseException, status: int, message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("pybtf.cli.faults.forget_stdout", lambda: None)
    pipeline.error = error
    out = tmp_path / "out"
    outcome = run("encode", "-q", "-j1", "--detached", str(out), elf)
    assert (outcome.status, outcome.out, outcome.err) == (status, "", f"pybtf: error: {message}\n")
    assert not out.exists()


@pytest.mark.parametrize("words", ["", "Unable to allocate output buffer."])
def test_too_little_memory_for_several_jobs(run: Run, pipeline: Pipeline, elf: str, words: str) -> None:
    pipeline.error = MemoryError(words)
    for jobs, hint in [(1, ""), (2, "; fewer jobs (-j) need less")]:
        outcome = run("encode", "-q", f"-j{jobs}", "--detached", os.devnull, elf)
        assert (outcome.status, outcome.err) == (1, f"pybtf: error: {elf}: not enough memory{hint}\n")


@pytest.mark.parametrize("error", [InternalError("ids out of order"), ZeroDivisionError("division by zero")])
def test_bugs_are_called_bugs(
    run: Run, pipeline: Pipeline, elf: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.error = error
    outcome = run("encode", "--detached", os.devnull, elf)
    assert outcome.status == 70
    assert re.match(r"pybtf: error: internal error: .*\. This is a bug in pybtf", outcome.err)
    assert "Traceback" not in outcome.err
    monkeypatch.setenv("PYBTF_TRACEBACK", "1")
    assert "Traceback (most recent call last)" in run("encode", "--detached", os.devnull, elf).err


def test_names_from_the_input_cannot_drive_the_terminal(run: Run, pipeline: Pipeline, elf: str) -> None:
    pipeline.error = InputError(Place(elf, unit=0, unit_name="\x1b[2J\r\u202e.c"), "bad")
    err = run("encode", "--detached", os.devnull, elf).err
    assert r"(\x1b[2J\r\u202e.c)" in err
    assert "\x1b" not in err


def test_module_and_status_reach_the_shell() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pybtf", "encode", "--features", "x", "y"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("pybtf: error: unknown feature 'x'")


# The Python API


def test_public_names() -> None:
    assert set(pybtf.__all__) <= set(dir(pybtf))
    assert pybtf.InputError is InputError
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        pybtf.nonsense  # noqa: B018


def test_encode(pipeline: Pipeline, elf: str, tmp_path: Path) -> None:
    ticks: list[tuple[int, int]] = []
    encoded = pybtf.encode(
        Path(elf), features="+global_var", jobs=2, lang_exclude="rust", progress=lambda *n: ticks.append(n)
    )
    assert encoded.data == DATA
    assert encoded.report.path == elf
    assert ticks == [(1, 2), (2, 2)]
    assert pipeline.options is not None
    assert pipeline.options.features.global_var
    assert pipeline.options.lang_exclude == frozenset({0x1C})
    encoded.write(tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == DATA


def test_encode_ignores_the_environment(
    pipeline: Pipeline, elf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAHOLE_LANG_EXCLUDE", "rust")
    pybtf.encode(elf)
    assert pipeline.options is not None
    assert pipeline.options.lang_exclude is None


def test_encode_raises_what_is_wrong(pipeline: Pipeline, elf: str) -> None:
    with pytest.raises(pybtf.UsageError, match="unknown feature"):
        pybtf.encode(elf, features="nonsense")
    pipeline.error = BAD
    with pytest.raises(pybtf.PybtfError, match="unit length"):
        pybtf.encode(elf)


def test_hints_for_habits_exist() -> None:
    """Replacements that are proposed for an option of pahole or a word of bpftool are valid."""
    for proposal in (*habits.PAHOLE.values(), *habits.SHOWN.values(), *habits.BPFTOOL.values()):
        command, *words = proposal.split()
        text = manual.COMMANDS.get(command, manual.PYBTF)
        assert all(word in text for word in (command, *words) if word.startswith("-"))


def test_options_that_only_pybtf_pahole_has_are_its_own() -> None:
    """Each prints types, and takes a value if the hint says so."""
    letters = {f"-{letter}": option for letter, option in table.BY_LETTER.items()}
    known = letters | {f"--{name}": option for name, option in table.BY_NAME.items()}
    for name, value in habits.ONLY_PAHOLE.items():
        assert known[name].effect == "print"
        assert bool(value) == (known[name].value == table.REQUIRED)
