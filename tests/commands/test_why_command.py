"""`pybtf why` as a command, and `encode --report-detail`."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

import pybtf
from pybtf.btf.kinds import Kind
from pybtf.explain.asking import inquire, kernel_options
from pybtf.explain.inquiry import Inquiry
from tests.builders.kernelish import INT, kernel, unit
from tests.builders.reasons import RETURNS, everything, register
from tests.builders.synthetic import COUNTER, X86, functions, named, parameter, subprogram
from tests.commands.test_why import inquiry_of
from tests.commands.test_why_evidence import at
from tests.conftest import ROOT, RunCli


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("why") / "vmlinux"
    path.write_bytes(everything())
    return path


def test_the_command(run_cli: RunCli, path: Path) -> None:
    run = run_cli("why", "-j1", "good", path)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("BTF with the features encode_force,")
    assert "without units in rust" in run.stdout.split("\n")[0]
    assert "kfunc, flags ACQUIRE SLEEPABLE; tagged bpf_kfunc" in run.stdout


def test_the_difference_is_marked(run_cli: RunCli, path: Path) -> None:
    run = run_cli("why", "-j1", "differs", path)
    lines = run.stdout.split("\n")
    at = next(i for i, text in enumerate(lines) if "2. int differs(long b)" in text)
    assert run.returncode == 1
    assert lines[at + 1] == " " * lines[at].index("long b") + "^" * len("long b)")


def test_json(run_cli: RunCli, path: Path) -> None:
    run = run_cli("why", "-j1", "--json", "good", "moved", path)
    found = json.loads(run.stdout)
    assert run.returncode == 1
    assert [(each["name"], each["in_btf"], each["reason"]) for each in found] == [
        ("good", True, None), ("moved", False, "unexpected_register")
    ]  # fmt: skip
    keys = ["name", "kind", "in_btf", "reason", "verdict", "advice", "evidence", "like"]
    assert all(list(each) == keys for each in found)


def test_the_summary(run_cli: RunCli, path: Path) -> None:
    run = run_cli("why", "-j1", path)
    assert run.returncode == 0
    assert "functions: 3 in BTF\n" in run.stdout
    assert "variables: 1 in BTF\n" in run.stdout
    assert "        1  inconsistent: units disagree about the prototype\n" in run.stdout
    rows = json.loads(run_cli("why", "-j1", "--json", path).stdout)
    assert {"kind", "reason", "names", "descriptions", "means"} == set(rows[0])
    left_out = [(each["kind"], each["descriptions"]) for each in rows if each["reason"] == "language"]
    assert left_out == [("function", 2), ("variable", 1)]


def test_no_language_is_left_out_if_none_is_named(run_cli: RunCli, path: Path) -> None:
    run = run_cli("why", "-j1", "--lang-exclude", "", "rusty", "only_in_rust", path)
    assert "rusty is in BTF" in run.stdout
    assert "only_in_rust is in BTF" in run.stdout
    assert (run.returncode, "without units in" in run.stdout) == (0, False)


def test_lists(run_cli: RunCli, path: Path) -> None:
    run = run_cli("why", "-j1", "--list", "no_symbol", path)
    assert (run.returncode, run.stdout) == (0, "halved\npieces\nremoved\ntiny\n")
    assert run_cli("why", "-j1", "--list", "no_symbol", "t*", path).stdout == "tiny\n"
    assert run_cli("why", "-j1", "--list", "variable:language", path).stdout == "RUSTY\n"


def test_names_of_symbols_alone_are_listed(run_cli: RunCli, path: Path) -> None:
    """Clones and parts are not counted, so the summary has no row for them."""

    def listed(*arguments: str) -> list[str]:
        return run_cli("why", "-j1", "--list", *arguments, path).stdout.splitlines()

    assert listed("clone") == ["dropped.constprop.0"]
    assert listed("part") == ["good.cold", "halved.part.0", "halved.part.0.cold", "pieces.part.0", "pieces.part.1"]
    assert listed("part", "*.cold") == ["good.cold", "halved.part.0.cold"]
    assert listed("padding") == ["__pfx_good"]
    counted = {row["reason"] for row in json.loads(run_cli("why", "-j1", "--json", path).stdout)}
    assert {"clone", "part", "padding"} & counted == {"padding"}


def test_the_names_in_btf_are_collected_once(path: Path) -> None:
    """A kernel has 50,000 functions, and each name of a pattern asks for them."""

    def ask(inquiry: Inquiry) -> None:
        assert inquiry.own(Kind.FUNC) is inquiry.own(Kind.FUNC)

    inquire(str(path), kernel_options(jobs=1), ask)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "missing argument 'FILE'"),
        (("f", "-"), "cannot be standard input"),
        (("struct", "sock", "x"), "needs a name; write both as one argument: 'struct sock'"),
        (("", "x"), "a name is empty"),
        (("--list", "inconsistant", "x"), "did you mean 'inconsistent'?"),
        (("--lang", "", "x"), "--lang names no language"),
        (("--features", "foo", "x"), "foo"),
    ],
)
def test_usage(run_cli: RunCli, arguments: tuple[str, ...], said: str) -> None:
    run = run_cli("why", *arguments)
    assert run.returncode == 2
    assert said in run.stderr


def test_hostile_names_stay_on_their_line(run_cli: RunCli, tmp_path: Path) -> None:
    """Names of units, functions and parameters. A terminal gets no escape sequences."""
    bad = "f\x1b[31m\nin BTF"
    path = tmp_path / "vmlinux"
    children = [INT, subprogram(bad, 16, children=[parameter(bad, "int", register(4))])]
    path.write_bytes(kernel([unit(children)], symbols=[COUNTER, *functions(bad)]).data)
    run = run_cli("why", "-j1", bad, path)
    assert run.returncode in (0, 1)
    assert "\x1b" not in run.stdout
    assert not any(line.startswith("in BTF") for line in run.stdout.split("\n"))
    run = run_cli("why", "-j1", "--list", "unexpected_register", path)
    assert run.stdout.splitlines() == [r"f\x1b[31m\nin BTF"]


def test_the_report_with_names(run_cli: RunCli, path: Path, tmp_path: Path) -> None:
    """`encode --report-detail` says the same about each name as `why`, and encodes the same."""
    report, out = tmp_path / "report.json", tmp_path / "out.btf"
    options = ("-q", "-j1", "--lang-exclude", "rust", "--detached", out)
    run = run_cli("encode", *options, "--report", report, "--report-detail", path)
    assert (run.returncode, run.stderr) == (0, "")
    assert out.read_bytes() == pybtf.encode(path, jobs=1, lang_exclude="rust").data
    detail = json.loads(report.read_text())["detail"]
    found, _ = inquiry_of(path)
    for kind in ("functions", "variables"):
        assert detail[kind] == {reason or "in_btf": names for reason, names in found[kind].items()}
    assert run_cli("encode", *options, "--report", report, path).returncode == 0
    assert json.loads(report.read_text())["detail"] is None
    for arguments in (("--report-detail", path), ("--report-detail", "--combine", "--report", report, path, path)):
        assert run_cli("encode", *options, *arguments).returncode == 2


def test_names_on_a_base(run_cli: RunCli, tmp_path: Path) -> None:
    """What the base has is in BTF as well, and is said to belong to the base."""
    from tests.encode.test_split import module

    kernel_like = ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf"
    base = tmp_path / "base.btf"
    pybtf.encode(kernel_like, jobs=1).write(base)
    name = sorted(pybtf.encode(kernel_like, jobs=1).btf.index.named(12))[0]
    run = run_cli("why", "-j1", "--base", base, name, module("gcc", "reuse"))
    assert run.returncode == 0, run.stderr
    assert " of the base, " in run.stdout


def test_a_distilled_base(run_cli: RunCli, tmp_path: Path) -> None:
    """Split BTF that comes with its own base cannot be read on the base it was made from. The answers and the names are
    those without it, what the base has included. The database is about the BTF that is written.
    """
    from tests.encode.test_split import module

    base, file = tmp_path / "base.btf", tmp_path / "module.ko"
    pybtf.encode(ROOT / "fixtures" / "bin" / "00_kernel_like.gcc-O2-5-exe.elf", jobs=1).write(base)
    name = sorted(pybtf.btf.BTF.from_file(base).index.named(Kind.FUNC))[0]
    found = []
    for features in ("default", "default,distilled_base"):
        file.write_bytes(module("gcc", "reuse").read_bytes())
        options = ("-j1", "--base", base, "--features", features)
        run = run_cli("why", *options, "--json", name, "*", "struct *", file)
        assert run.stderr == ""
        report, database = tmp_path / "report", tmp_path / "database"
        written = ("--report", report, "--report-detail", "--provenance", database)
        assert run_cli("encode", "-q", *options, *written, file).stderr == ""
        found.append((json.loads(run.stdout), json.loads(report.read_text())["detail"]))
        made = pybtf.encode(file, features=features, base=base, jobs=1).btf
        with sqlite3.connect(database) as connection:
            rows = dict(connection.execute("SELECT id, name FROM type"))
        assert rows == {type.id: type.name or None for type in made if type.id >= made.first_id}
    assert found[0] == found[1]


def test_what_the_file_has_itself_is_not_the_base(run_cli: RunCli, tmp_path: Path) -> None:
    """Lists and the database are about the file alone. A function of the file is judged by its own code, whatever the
    base has by that name; a function that is only declared belongs to the base.
    """
    base, file, out = tmp_path / "base.btf", tmp_path / "file", tmp_path / "out.btf"
    report, database = tmp_path / "report", tmp_path / "database"
    names = ("both", "declared", "elsewhere")
    there = [subprogram(name, 16 + 16 * number, RETURNS) for number, name in enumerate(names)]
    place = ("location", "exprloc", [("addr", X86.percpu)])
    there.append(named("variable", "counter", RETURNS, ("external", "flag", 1), place))
    file.write_bytes(kernel([unit([INT, *there])], symbols=[COUNTER, *at(both=16, declared=32, elsewhere=48)]).data)
    pybtf.encode(file, jobs=1).write(base)
    odd = subprogram("both", 16, RETURNS, children=[parameter("a", "int", register(4))])
    declared = subprogram("declared", None, RETURNS, ("declaration", "flag", 1))
    here = unit([INT, odd, subprogram("own", 32, RETURNS), declared])
    file.write_bytes(kernel([here], symbols=at(both=16, own=32)).data)

    run = run_cli("why", "-j1", "--json", "--base", base, *names, "own", "counter", file)
    reasons = [each["reason"] for each in json.loads(run.stdout)]
    assert reasons == ["unexpected_register", None, None, None, None]
    for reason, found in (("in_btf", ["own"]), ("variable:in_btf", [])):
        assert run_cli("why", "-j1", "--list", reason, "--base", base, file).stdout.splitlines() == found

    written = ("--detached", out, "--report", report, "--provenance", database)
    run = run_cli("encode", "-q", "-j1", "--base", base, *written, "--report-detail", file)
    assert (run.returncode, run.stderr) == (0, "")
    detail = json.loads(report.read_text())["detail"]
    assert (detail["functions"]["in_btf"], detail["variables"]["in_btf"]) == (["own"], [])
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT name, type IS NULL, reason FROM function ORDER BY name").fetchall()
    assert rows == [("both", 1, "unexpected_register"), ("own", 0, None)]
