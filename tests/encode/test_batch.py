"""Many files in one run: each gets the same result as in a run of its own, and a bad file harms no other.

The expected bytes are the reference's (fixtures/split) or, where the reference has no such run, those of single runs.
"""

from __future__ import annotations

import gzip
import itertools
import json
import lzma
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.btf.files import read_btf
from pybtf.elf.packed import compression, open_module
from pybtf.errors import InputError, UsageError
from pybtf.inputs import RealPaths, find_inputs, read_list
from pybtf.support.threads import SideBySide, Stopped
from tests.conftest import Require, RunCli, environment
from tests.encode.test_split import FEATURES, HOME, TARGETS, base_path, check, golden, module

TARGET = "gcc"
NAMES = list(TARGETS[TARGET]["golden"])
BASE = base_path(TARGET)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder like /lib/modules/VERSION: modules in folders, other files, and a link that leads out of it."""
    root = tmp_path / "modules"
    for number, name in enumerate(NAMES):
        folder = root / ("kernel", "kernel/net", "updates")[number % 3]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.ko").write_bytes(module(TARGET, name).read_bytes())
    (root / "modules.order").write_text("kernel/same.ko\n")
    (root / "kernel" / "vmlinux").write_bytes(b"not a module")
    outside = tmp_path / "sources"
    outside.mkdir()
    (outside / "other.ko").write_bytes(b"not ours")
    (root / "build").symlink_to(outside)
    return root


def modules(tree: Path) -> dict[str, Path]:
    found = {path.stem: path for path in tree.rglob("*.ko")}
    assert set(found) == set(NAMES)
    return found


# The Python API


@pytest.mark.parametrize("jobs", [1, 2, 5, 100])
def test_encode_many(jobs: int) -> None:
    """The results have the requested order and the reference's bytes, for any number of workers."""
    base = pybtf.Base.from_file(BASE)
    names = NAMES * 4
    seen: list[tuple[int, int]] = []
    outcomes = pybtf.encode_many(
        [module(TARGET, name) for name in names],
        features=FEATURES,
        base=base,
        jobs=jobs,
        progress=lambda done, total: seen.append((done, total)),
    )
    for name, outcome in zip(names, outcomes, strict=True):
        assert (outcome.path, outcome.error) == (str(module(TARGET, name)), None)
        check(outcome.get().data, TARGET, name, "split")
    assert sorted(seen) == [(done, len(names)) for done in range(1, len(names) + 1)]


def test_encode_many_distilled() -> None:
    """The base is given as a path. A module that the reference cannot distil fails alone."""
    target = "clang"
    names = list(TARGETS[target]["golden"])
    outcomes = pybtf.encode_many(
        [module(target, name) for name in names],
        features=[FEATURES, "distilled_base"],
        base=base_path(target),
        jobs=3,
    )
    failed = set()
    for name, outcome in zip(names, outcomes, strict=True):
        if outcome.error is not None:
            failed.add(name)
            continue
        check(outcome.get().data, target, name, "distilled")
        check(outcome.get().base_data, target, name, "distilled_base")
    assert failed == {name for name in names if golden(target, name, "distilled") is None} == {"tags"}


def test_encode_many_without_a_base() -> None:
    paths = [module(target, "reuse") for target in TARGETS]
    for path, outcome in zip(paths, pybtf.encode_many(paths, features=FEATURES, jobs=2), strict=True):
        assert outcome.get().data == pybtf.encode(path, features=FEATURES, jobs=1).data


def test_a_bad_file_is_an_outcome(tmp_path: Path) -> None:
    bad = tmp_path / "bad.ko"
    bad.write_bytes(module(TARGET, "vars").read_bytes()[:2000])
    paths = [module(TARGET, "reuse"), bad, tmp_path / "missing.ko", module("s390x", "same"), module(TARGET, "names")]
    outcomes = list(pybtf.encode_many(paths, features=FEATURES, base=BASE, jobs=2))
    assert [outcome.error is None for outcome in outcomes] == [True, False, False, False, True]
    for outcome, message in zip(outcomes[1:4], ("truncated", "no such file", "byte order of the base"), strict=True):
        assert message in str(outcome.error)
        assert outcome.path in str(outcome.error)
        with pytest.raises(InputError, match=message):
            outcome.get()


def test_mistakes_in_the_call_are_raised_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown feature"):
        pybtf.encode_many([], features="nonsense")
    with pytest.raises(InputError, match="nowhere"):
        pybtf.encode_many([module(TARGET, "same")], base=tmp_path / "nowhere")
    assert list(pybtf.encode_many([], base=BASE)) == []
    for bad in ({"jobs": "2"}, {"jobs": 1.5}, {"for_kernel": 5.15}):
        arguments: Any = bad
        with pytest.raises(UsageError, match=str(next(iter(bad.values())))):
            pybtf.encode_many([], **arguments)


def test_leaving_early_ends_the_work() -> None:
    before = threading.active_count()
    outcomes = pybtf.encode_many([module(TARGET, "reuse")] * 200, features=FEATURES, base=BASE, jobs=2)
    assert next(outcomes).error is None
    outcomes.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


# Tasks side by side


def test_only_so_many_are_begun_ahead() -> None:
    begun: list[int] = []

    def work(task: int, _: object) -> int:
        begun.append(task)
        return task * task

    with SideBySide(range(100), work, workers=3, ahead=5) as batch:
        results = iter(batch)
        first = [next(results) for _ in range(5)]
        time.sleep(0.05)
        assert sorted(begun) == [0, 1, 2, 3, 4]
        assert sorted(first) == [(n, n * n) for n in range(5)]
        batch.proceed()
        assert next(results) == (5, 25)


def test_a_task_is_told_when_nobody_wants_it_any_more() -> None:
    running = threading.Event()
    ended: list[BaseException] = []

    def work(_task: int, check: Callable[[int, int], None]) -> None:
        running.set()
        try:
            while True:
                check(0, 0)
                time.sleep(0.001)
        except Stopped as error:
            ended.append(error)
            raise

    with SideBySide([1, 2], work, workers=1):
        assert running.wait(10)
    assert len(ended) == 1


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_threads_refused(monkeypatch: pytest.MonkeyPatch, allowed: int) -> None:
    """Fewer threads give the same results. If none can be started, the work is done without."""
    start = threading.Thread.start
    started: list[threading.Thread] = []

    def some(self: threading.Thread) -> None:
        if len(started) == allowed:
            raise RuntimeError("can't start new thread")
        started.append(self)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", some)
    tasks = SideBySide(range(9), lambda task, _: -task, workers=3, ahead=2)
    if allowed == 0:
        with pytest.raises(RuntimeError), tasks:
            pass
        return
    with tasks as batch:
        found = {}
        for number, result in batch:
            found[number] = result
            batch.proceed()
    assert found == {number: -number for number in range(9)}
    assert not any(thread.is_alive() for thread in started)


# Which files


def test_a_folder_means_its_modules(tree: Path) -> None:
    found = find_inputs([str(tree)])
    assert [each.path for each in found] == sorted(map(str, tree.rglob("*.ko")))
    assert {each.name for each in found} == {str(path.relative_to(tree)) for path in tree.rglob("*.ko")}
    assert not any("sources" in os.path.realpath(each.path) for each in found)


def test_a_file_counts_once(tree: Path) -> None:
    one = modules(tree)["same"]
    link = tree.parent / "link.ko"
    link.symlink_to(one)
    found = find_inputs([str(one), str(tree), str(link), f"{one.parent}/./{one.name}"])
    assert len(found) == len(NAMES)
    assert found[0].path == str(one)


def test_real_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are resolved as the standard library does, whatever they lead through."""
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_bytes(b"")
    links = {
        "l": "a/b", "a/up": "..", "a/b/back": "../../l/../b", "file": "l/file", "loop": "loop", "gone": "no/where",
        "a/abs": str(root / "l"),
    }  # fmt: skip
    for name, leads_to in links.items():
        (root / name).symlink_to(leads_to)
    monkeypatch.chdir(root / "a")
    parts = ["a", "b", "l", "up", "back", "abs", "file", "loop", "gone", "none", "..", ".", "", "x" * 300]
    paths = ["/".join(three) for three in itertools.product(parts, repeat=3)]
    paths += [f"{start}{path}" for path in paths for start in ("../", "/", f"{root}/")]
    paths += ["a/" * 200 + "file", "../" * 150 + "tmp", ""]
    paths = [path for path in paths if "loop//" not in path]  # the standard library forgets what is in front of this
    real_path = RealPaths()
    assert {path: real_path(path) for path in paths} == {path: os.path.realpath(path) for path in paths}


def test_a_folder_without_modules(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder without modules"):
        find_inputs([str(tmp_path)])


def test_a_folder_without_modules_does_not_stop_the_others(tree: Path, tmp_path: Path, run_cli: RunCli) -> None:
    """Its error is in the report like the errors of files, and does not take up the name of a result."""
    one, empty, report = modules(tree)["same"], tmp_path / "empty", tmp_path / "report"
    empty.mkdir()
    wanted = f"{empty}: a folder without modules; expected files whose names end in .ko"
    for options in ([], ["--detached-dir", tmp_path / "out", tmp_path / "out"], ["-j1"]):
        (tmp_path / "out").mkdir(exist_ok=True)
        before = one.read_bytes()
        done = run_cli("encode", "--base", BASE, "--report", report, empty, *options, one)
        assert done.returncode == 1
        assert f"pybtf: error: {wanted}\n" in done.stderr
        assert "encoded (" in done.stderr
        files = {each["path"]: each["error"] for each in json.loads(report.read_text())["files"]}
        assert files[str(empty)] == wanted
        assert files[str(one)] is None
        assert (one.read_bytes() != before) != ("--detached-dir" in options)
        one.write_bytes(before)
    assert [each.name for each in (tmp_path / "out").iterdir()] == [f"{one.name}.btf"]
    done = run_cli("encode", "--base", BASE, empty)
    assert (done.returncode, done.stderr) == (1, f"pybtf: error: {wanted}\n")


@pytest.mark.parametrize("separator", [b"\n", b"\r\n", b"\0"])
def test_lists(tmp_path: Path, separator: bytes) -> None:
    path = tmp_path / "list"
    names = [b"a.ko", b"folder/with blank/b.ko", b"\xff.ko"]
    path.write_bytes(separator.join([*names, b"", b""]))
    assert list(map(os.fsencode, read_list(str(path)))) == names
    path.write_bytes(separator)
    with pytest.raises(InputError, match="names no file"):
        read_list(str(path))
    with pytest.raises(InputError, match="no such file"):
        read_list(str(tmp_path / "nowhere"))


@pytest.mark.parametrize("start", [b"\x7fELF\x02\x01\x01", b"!<arch>\n", b"\x9f\xeb\x01\x00", b"\xeb\x9f\x01\x00"])
def test_a_binary_file_is_no_list(tmp_path: Path, start: bytes) -> None:
    """`--from-list vmlinux` must not encode, in place, the interpreter that the file names between two NUL bytes."""
    source = tmp_path / "vmlinux"
    source.write_bytes(start + b"\x00\x00/lib64/ld-linux-x86-64.so.2\x00")
    with pytest.raises(InputError, match="a binary file, not a list of files"):
        read_list(str(source))


# Compressed modules


def packers(require: Require) -> dict[str, Callable[[bytes], bytes]]:
    zstd = require("zstd")

    def by_zstd(data: bytes) -> bytes:
        return subprocess.run([zstd, "-q", "-c"], input=data, capture_output=True, check=True).stdout

    return {"xz": lzma.compress, "gz": gzip.compress, "zst": by_zstd}


@pytest.mark.parametrize("kind", ["xz", "gz", "zst"])
def test_compressed(kind: str, tmp_path: Path, require: Require, run_cli: RunCli) -> None:
    pack = packers(require)[kind]
    path = tmp_path / f"reuse.ko.{kind}"
    path.write_bytes(pack(module(TARGET, "reuse").read_bytes()))
    encoded = pybtf.encode(path, features=FEATURES, base=BASE)
    check(encoded.data, TARGET, "reuse", "split")
    assert encoded.report.input_size == path.stat().st_size

    done = run_cli("encode", "--base", BASE, "--features", FEATURES, path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"{path}: compressed with " in done.stderr
    assert "--detached" in done.stderr

    out = tmp_path / "out"
    done = run_cli("encode", "-q", "--base", BASE, "--features", FEATURES, "--detached-dir", out, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    check((out / "reuse.ko.btf").read_bytes(), TARGET, "reuse", "split")


@pytest.mark.parametrize("kind", ["xz", "gz", "zst"])
def test_damaged_compressed(kind: str, tmp_path: Path, require: Require) -> None:
    packed = packers(require)[kind](module(TARGET, "reuse").read_bytes())
    path = tmp_path / "bad.ko"
    half = len(packed) // 2
    for bad in (packed[:-1], packed[:half], packed + b"more", packed[:half] + bytes(40) + packed[half + 40 :]):
        path.write_bytes(bad)
        assert compression(path) is not None
        with pytest.raises(InputError, match=r"bad\.ko: damaged (xz|gzip|zstd) data: ") as caught:
            pybtf.encode(path)
        assert caught.value.place.file == str(path)


@pytest.mark.parametrize("kind", ["xz", "gz", "zst"])
def test_compressed_without_bounds(kind: str, tmp_path: Path, require: Require) -> None:
    """100 MiB of zeros in a few KiB."""
    path = tmp_path / "bomb.ko"
    path.write_bytes(packers(require)[kind](bytes(100 << 20)))
    with pytest.raises(InputError, match=r"more than [34]\d{7} bytes after decompression"):
        open_module(str(path))


# The command line


def report_of(path: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(path.read_text())
    return facts


@pytest.mark.parametrize("jobs", [1, 3])
def test_folder_into_a_folder(tree: Path, tmp_path: Path, run_cli: RunCli, jobs: int) -> None:
    out, report = tmp_path / "new" / "out", tmp_path / "report.json"
    before = {path: path.read_bytes() for path in tree.rglob("*.ko")}
    options = ["--base", BASE, "--features", FEATURES, "-j", jobs, "--report", report, "--detached-dir", out]
    done = run_cli("encode", *options, tree)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"{len(NAMES)} files: {len(NAMES)} encoded (")
    assert done.stderr.count("\n") == 1
    for name, path in modules(tree).items():
        check((out / path.relative_to(tree)).with_suffix(".ko.btf").read_bytes(), TARGET, name, "split")
    assert {path: path.read_bytes() for path in tree.rglob("*.ko")} == before
    facts = report_of(report)
    assert (facts["encoded"], facts["failed"], facts["base"], facts["jobs"]) == (len(NAMES), 0, str(BASE), jobs)
    assert [each["path"] for each in facts["files"]] == [each.path for each in find_inputs([str(tree)])]
    for each in facts["files"]:
        assert each["error"] is None
        assert each["report"]["output"]["size"] == Path(each["target"]).stat().st_size


def test_in_place_distilled(tree: Path, run_cli: RunCli) -> None:
    done = run_cli("encode", "-q", "-j2", "--base", BASE, "--features", f"{FEATURES},distilled_base", tree)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for name, path in modules(tree).items():
        check(read_btf(path)[0], TARGET, name, "distilled")
        check(read_btf(path, ".BTF.base")[0], TARGET, name, "distilled_base")


def test_from_list(tree: Path, run_cli: RunCli) -> None:
    paths = modules(tree)
    some = [paths["reuse"], paths["vars"]]
    done = run_cli(
        "encode", "--base", BASE, "--features", FEATURES, "--from-list", "-", input="\n".join(map(str, some))
    )
    assert done.returncode == 0, done.stderr
    for name, path in paths.items():
        if path in some:
            check(read_btf(path)[0], TARGET, name, "split")
        else:
            assert path.read_bytes() == module(TARGET, name).read_bytes()


def test_bad_files_do_not_stop_the_others(tree: Path, tmp_path: Path, run_cli: RunCli) -> None:
    paths = modules(tree)
    report = tmp_path / "report.json"
    broken = paths["vars"].read_bytes()[:3000]
    paths["vars"].write_bytes(broken)
    order = paths["reuse"].parent / "wrong.ko"
    order.write_bytes(module("s390x", "reuse").read_bytes())
    missing = tree / "missing.ko"
    options = ["--base", BASE, "--features", FEATURES, "--report", report, "--from-list", "-"]
    done = run_cli("encode", *options, tree, input=f"{missing}\n")
    assert done.returncode == 1
    *errors, closing = done.stderr.splitlines()
    assert len(errors) == 3
    for path, message in (
        (paths["vars"], "truncated"),
        (order, "expected the byte order of the base"),
        (missing, "no such file"),
    ):
        assert any(line.startswith(f"pybtf: error: {path}: ") and message in line for line in errors), errors
    assert closing.startswith(f"{len(NAMES) + 2} files: {len(NAMES) - 1} encoded (")
    assert ", 3 failed; " in closing
    assert paths["vars"].read_bytes() == broken
    for name, path in paths.items():
        if name != "vars":
            check(read_btf(path)[0], TARGET, name, "split")
    facts = report_of(report)
    assert (facts["encoded"], facts["failed"]) == (len(NAMES) - 1, 3)
    assert {each["path"] for each in facts["files"] if each["error"]} == {str(paths["vars"]), str(order), str(missing)}


def test_files_of_one_name(tree: Path, tmp_path: Path, run_cli: RunCli) -> None:
    one = modules(tree)["same"]
    other = tree / "kernel" / "deeper"
    other.mkdir()
    (other / "same.ko").write_bytes(module(TARGET, "same").read_bytes())
    arguments = ["encode", "-q", "--base", BASE, "--features", FEATURES, "--detached-dir", tmp_path / "out"]
    done = run_cli(*arguments, one, other / "same.ko")
    assert done.returncode == 2
    assert "would both be same.ko.btf; a folder as argument keeps" in done.stderr
    assert not (tmp_path / "out").exists()
    assert run_cli(*arguments, tree).returncode == 0
    packed = one.with_name("same.ko.gz")
    packed.write_bytes(gzip.compress(one.read_bytes()))
    done = run_cli(*arguments, one, packed)
    assert done.returncode == 2
    assert "would both be same.ko.btf; name only one of them" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--base", "reuse.ko", "reuse.ko", "same.ko"], "the base is also the file that the BTF of a file goes to"),
        (["--report", "same.ko", "reuse.ko", "same.ko"], "--report JSON is also the file that the BTF"),
        (["--report", "same.ko", "--detached-dir", "out", "reuse.ko", "same.ko"], "--report JSON is one of the files"),
        (["--report", "out/same.ko.btf", "--detached-dir", "out", "same.ko"], "--report JSON is also the file"),
        (["--base", "b", "--report", "b", "reuse.ko", "same.ko"], "--report JSON is the base itself"),
        (["--detached-dir", ".", "reuse.ko", "reuse.ko.btf"], "would replace one of the files"),
    ],
)
def test_no_output_is_an_input(tmp_path: Path, run_cli: RunCli, arguments: list[str], message: str) -> None:
    for name in ("reuse", "same"):
        (tmp_path / f"{name}.ko").write_bytes(module(TARGET, name).read_bytes())
    done = run_cli("encode", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"reuse.ko", "same.ko"}


def test_hard_links_of_one_file_are_encoded_one_after_the_other(tmp_path: Path, run_cli: RunCli) -> None:
    """The first is replaced, the others stay as they are."""
    content = module(TARGET, "reuse").read_bytes()
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        paths = [folder / name for name in ("a.ko", "b.ko", "c.ko", "not asked for")]
        paths[0].write_bytes(content)
        for path in paths[1:]:
            os.link(paths[0], path)
        done = run_cli("encode", "-j", 4, "--base", BASE, "--features", FEATURES, *paths[:3])
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("1 other hard link of it kept the old contents") == 3
        assert {path.stat().st_ino for path in paths[:3]} != {paths[3].stat().st_ino}
        assert len({path.read_bytes() for path in paths[:3]}) == 1
        assert paths[3].read_bytes() == content != paths[0].read_bytes()


@pytest.mark.parametrize("inside", ["", "/sub"])
def test_a_file_is_no_folder_of_results(tree: Path, tmp_path: Path, run_cli: RunCli, inside: str) -> None:
    (tmp_path / "there").write_bytes(b"")
    done = run_cli("encode", "--standalone", "--detached-dir", f"{tmp_path}/there{inside}", tree)
    assert (done.returncode, done.stderr) == (1, f"pybtf: error: {tmp_path}/there: is a file, not a folder\n")


def test_a_base_that_is_none_ends_the_run(tree: Path, run_cli: RunCli) -> None:
    done = run_cli("encode", "--base", HOME / "manifest.json", tree)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "expected raw BTF, or an ELF file with BTF, or one of them compressed" in done.stderr


def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C ends the run soon; every result that exists is complete."""
    folder, out = tmp_path / "modules", tmp_path / "out"
    folder.mkdir()
    data = module(TARGET, "reuse").read_bytes()
    for number in range(1500):
        (folder / f"{number}.ko").write_bytes(data)
    argv = [sys.executable, "-m", "pybtf", "encode", "-j2", "--base", str(BASE), "--features", FEATURES]
    child = subprocess.Popen(
        [*argv, "--detached-dir", str(out), str(folder)], env=environment(), stderr=subprocess.PIPE, text=True
    )
    while child.poll() is None and not (out.is_dir() and any(out.iterdir())):
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert (child.returncode, said) == (130, "pybtf: error: interrupted\n")
    results = list(out.iterdir())
    assert 0 < len(results) < 1500
    for path in results:
        check(path.read_bytes(), TARGET, "reuse", "split")


def test_messages(tree: Path, run_cli: RunCli) -> None:
    done = run_cli("encode", "-v", "--timings", "-j2", "--base", BASE, "--features", FEATURES, tree)
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    for path in modules(tree).values():
        assert sum(line.startswith(f"{path}: ") for line in lines) == 1
    assert any(line.split()[:2] == ["units", f"x{len(NAMES)}"] for line in lines)
    assert any(line.split()[:1] == ["base"] for line in lines)


def test_what_is_no_failure_of_the_file_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug must not look like a file that cannot be encoded. Running out of memory counts as an error of the file."""
    error: Exception = MemoryError()

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("pybtf.pipeline.passes.encode_file", fail)
    assert [each.error for each in pybtf.encode_many(["x", "y"], jobs=1)] == [error] * 2
    error = KeyError("bug")
    with pytest.raises(KeyError, match="bug"):
        list(pybtf.encode_many(["x", "y"], jobs=1))
