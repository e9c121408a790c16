"""Report, tallies, timings, and the number of CPUs: facts for people and machines."""

from __future__ import annotations

import hashlib
import json
import re
import time
from pathlib import Path

import pytest
import xxhash

from pybtf import report as report_module
from pybtf.cli.summary import batch_line, closing_line
from pybtf.core.codes import COUNT_NAMES, FATE_NAMES
from pybtf.errors import UsageError
from pybtf.features import Features
from pybtf.options import EncodeOptions, available_cpus, make_options
from pybtf.report import (
    FUNCTION_REASONS,
    REASON_OF_DESCRIPTION,
    REASON_OF_FATE,
    REASON_OF_VARIABLE,
    VARIABLE_REASONS,
    Report,
    Tally,
)
from pybtf.support.timings import NS, Pass, Timings, peak_memory, render, since_process_start

DOCS = Path(__file__).parents[2] / "docs"


def filled(path: Path) -> tuple[Report, bytes]:
    header, types, strings = b"H" * 24, b"T" * 16, b"\0int\0"
    path.write_bytes(b"an input")
    report = Report(path=str(path), input_size=8, byte_order="little", features=["var"], jobs=2)
    report.types = {"INT": 2, "PTR": 3}
    report.types_size, report.strings_size, report.output_size = 16, 5, 45
    report.functions.kept = 7
    report.functions.leave_out("reordered", 2)
    report.functions.leave_out("reordered")
    report.units.kept = 4
    report.units.leave_out("language", 1)
    return report, header + types + strings


def test_json_has_the_facts(tmp_path: Path) -> None:
    report, data = filled(tmp_path / "in")
    report.add_digests(data)
    facts = json.loads(report.to_json())
    assert facts["units"] == {
        "total": 5,
        "encoded": 4,
        "left_out": {"language": 1, "partial": 0, "damaged": 0},
    }
    assert facts["types"] == {"total": 5, "by_kind": {"INT": 2, "PTR": 3}}
    assert facts["functions"]["kept"] == 7
    assert facts["functions"]["left_out"]["reordered"] == 3
    assert facts["functions"]["left_out"]["inconsistent"] == 0
    assert facts["input"]["xxh3_128"] == xxhash.xxh3_128(b"an input").hexdigest()
    assert facts["output"]["sha256"] == hashlib.sha256(data).hexdigest()
    sections = facts["output"]["sections"]
    assert {name: part["size"] for name, part in sections.items()} == {
        "header": 24,
        "types": 16,
        "strings": 5,
    }
    for name, part in (("header", b"H" * 24), ("types", b"T" * 16), ("strings", b"\0int\0")):
        assert sections[name]["xxh3_128"] == xxhash.xxh3_128(part).hexdigest()
    assert facts["peak_memory_bytes"] > 0
    assert facts["timings"]["name"] == "total"


def test_without_digests_they_are_null(tmp_path: Path) -> None:
    report, _ = filled(tmp_path / "in")
    facts = report.to_dict()
    assert facts["input"]["xxh3_128"] is None
    assert facts["output"]["sections"]["types"]["xxh3_128"] is None


def test_every_key_and_reason_is_documented(tmp_path: Path) -> None:
    report, _ = filled(tmp_path / "in")
    text = (DOCS / "report.md").read_text()
    documented = set(re.findall(r"`([a-z_0-9]+)`", text))

    def keys(value: object, inside: str = "") -> set[str]:
        if isinstance(value, dict) and inside != "by_kind":
            return set(value) | {key for name, each in value.items() for key in keys(each, name)}
        if isinstance(value, list):
            return {key for each in value for key in keys(each)}
        return set()

    assert keys(report.to_dict()) - documented == set()
    for reasons in ("UNIT_REASONS", "FUNCTION_REASONS", "VARIABLE_REASONS"):
        for reason, meaning in getattr(report_module, reasons).items():
            assert f"| `{reason}` | {meaning} |" in text


def test_tally_knows_its_reasons() -> None:
    tally = Tally({"a": "first", "b": "second"}, kept=1)
    with pytest.raises(KeyError):
        tally.leave_out("misspelt")
    tally.leave_out("a", 0)
    assert tally.left_out == {}
    tally.leave_out("a", 2)
    tally.leave_out("b", 5)
    assert (tally.total, tally.total_left_out) == (8, 7)
    assert tally.by_frequency() == [("b", 5), ("a", 2)]


def test_timings_nest_and_add_up() -> None:
    timings = Timings()
    for _ in range(2):
        with timings.pass_("outer"), timings.pass_("inner"):
            time.sleep(0.01)
    timings.add("elsewhere", 5 * NS, 3 * NS)
    root = timings.finish()
    outer, elsewhere = root.children
    assert (outer.name, outer.calls, outer.children[0].calls) == ("outer", 2, 2)
    assert root.wall >= outer.wall >= outer.children[0].wall >= 0.02 * NS
    assert outer.peak > 0
    assert (elsewhere.wall, elsewhere.cpu) == (5 * NS, 3 * NS)


def test_passes_need_not_be_timed() -> None:
    timings = Timings(of_thread=True, passes=False)
    with timings.pass_("outer"), timings.pass_("inner"):
        time.sleep(0.01)
    root = timings.finish()
    assert root.children == []
    assert root.wall >= 0.01 * NS


def test_a_failing_pass_is_closed() -> None:
    timings = Timings()
    with pytest.raises(ValueError, match="x"), timings.pass_("fails"):
        raise ValueError("x")
    with timings.pass_("next"):
        pass
    assert [each.name for each in timings.finish().children] == ["fails", "next"]


def test_start_of_the_process_can_be_included() -> None:
    timings = Timings()
    timings.include_start(2 * NS)
    root = timings.finish()
    assert root.children[0].name == "start"
    assert root.wall >= 2 * NS
    assert root.cpu >= root.children[0].cpu > 0
    assert timings.elapsed() >= 2 * NS


def test_rendering() -> None:
    root = Pass("total", 4 * NS, 6 * NS, 1, 2_500_000)
    root.children = [Pass("decode", 3 * NS, 5 * NS, 1), Pass("write", NS // 2, NS // 2, 3)]
    assert render(root, "#").splitlines() == [
        "pass          wall s     cpu s   share",
        "total          4.000     6.000   100 %  ####################",
        "  decode       3.000     5.000    75 %  ###############",
        "  write x3     0.500     0.500    12 %  ##",
        "  (rest)       0.500     0.500    12 %  ##",
        "peak memory 2 MB",
    ]


def test_rendering_of_a_short_run() -> None:
    root = Pass("total", 20_500_000, 20_000_000, 1, 9_000_000, [Pass("start", 20_400_000, 20_000_000, 1)])
    assert render(root, "#").splitlines() == [
        "pass      wall ms    cpu ms   share",
        "total      20.500    20.000   100 %  ####################",
        "  start    20.400    20.000   100 %  ####################",
        "peak memory 9 MB",
    ]


def test_memory_that_is_not_known_is_not_told(tmp_path: Path) -> None:
    """As if /proc is not mounted."""
    report, _ = filled(tmp_path / "input")
    assert closing_line(report, "x.btf", 1, 0).endswith("; 1.00 s, 2 jobs")
    assert closing_line(report, "x.btf", 1, 9_000_000).endswith("; 1.00 s, 2 jobs, 9 MB peak memory")
    assert batch_line(3, 0, 5, 45, 1, 2, 0).endswith("; 1.00 s, 2 jobs")
    assert "peak memory" not in render(Pass("total", NS, NS, 1, 0))


def test_process_facts() -> None:
    block = bytearray(64 << 20)
    block[::4096] = b"x" * len(block[::4096])
    assert peak_memory() > len(block)
    assert since_process_start() >= 0


def test_options_are_checked() -> None:
    assert make_options(jobs=3) == EncodeOptions(Features.parse("default"), 3)
    assert make_options(["var", "float"], 1).features == Features.parse("var,float")
    assert make_options(Features(var=True), 1, lang_exclude="rust").lang_exclude == frozenset({0x1C})
    with pytest.raises(UsageError, match="number of jobs is 0"):
        make_options(jobs=0)
    with pytest.raises(UsageError, match="do not go together"):
        make_options(jobs=1, lang="c11", lang_exclude="rust")


def test_cpus_without_a_quota_are_the_affinity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 2, 3, 5})
    assert available_cpus(str(tmp_path), str(tmp_path / "none")) == 4


@pytest.mark.parametrize(
    ("quota", "cpus"),
    [
        ("max 100000", 8),
        ("150000 100000", 2),
        ("50000 100000", 1),
        ("900000 100000", 8),
        ("0 100000", 8),
        ("nonsense", 8),
        ("", 8),
    ],
)
@pytest.mark.parametrize("at", ["group/inner", "group"])
def test_cpus_under_a_quota_of_version_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, cpus: int, at: str
) -> None:
    """A quota of a parent applies to its children."""
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)))
    (tmp_path / "group/inner").mkdir(parents=True)
    (tmp_path / at / "cpu.max").write_text(f"{quota}\n")
    proc = tmp_path / "proc"
    proc.write_text("0::/group/inner\n")
    assert available_cpus(str(tmp_path), str(proc)) == cpus


@pytest.mark.parametrize(("quota", "cpus"), [(-1, 8), (0, 8), (250_000, 3)])
def test_cpus_under_a_quota_of_version_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: int, cpus: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)))
    folder = tmp_path / "cpu,cpuacct" / "job"
    folder.mkdir(parents=True)
    (folder / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    (folder / "cpu.cfs_period_us").write_text("100000\n")
    proc = tmp_path / "proc"
    proc.write_text("4:memory:/job\n3:cpu,cpuacct:/job\nnonsense\n")
    assert available_cpus(str(tmp_path), str(proc)) == cpus


NO_REASON = {
    "unseen", "emitted",
    # Functions and variables: how many there are, how many are kept, and functions that nobody can ask for.
    "functions", "remembered", "nameless", "variables", "var_kept",
    # Units, and what their types lack. The report does not mention skipped tags.
    "partial", "damaged", "left_out", "signatures_lost", "tags_cut", "alternate_lost", "skipped_tags",
}  # fmt: skip
"""Fates and counts of the core that leave no function and no variable out."""


def test_what_the_core_counts_has_a_reason() -> None:
    known = [*REASON_OF_FATE, *REASON_OF_DESCRIPTION, *REASON_OF_VARIABLE]
    assert sorted([*known, *NO_REASON]) == sorted([*FATE_NAMES, *COUNT_NAMES])
    assert set(REASON_OF_FATE) <= set(FATE_NAMES)
    assert {*REASON_OF_FATE.values(), *REASON_OF_DESCRIPTION.values()} == set(FUNCTION_REASONS)
    # The missing one belongs to merging BTF of compilers (merging/compiler_btf.py).
    assert {*REASON_OF_VARIABLE.values(), "ambiguous_symbol"} == set(VARIABLE_REASONS)
