"""`pybtf object` of many files, mistakes in `pybtf merge`, and `pybtf cc` around a compiler."""

from __future__ import annotations

import os
import signal
import stat
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pybtf
from pybtf.cli.main import main
from pybtf.elf.image import ElfImage
from pybtf.elf.values_index import STRIPPED
from pybtf.features import Features
from pybtf.merging import objects
from pybtf.merging.encoding import encode_compiled
from pybtf.merging.index import find_index, index_of
from pybtf.merging.linked import _tell_of_unloaded
from pybtf.merging.pieces import PAYLOAD, payloads, stored_path
from pybtf.merging.placing import Placing
from pybtf.pahole.main import main as pahole
from tests.builders.dwarfwriter import die
from tests.builders.elfwriter import Section, bare
from tests.builders.kernelish import FLAVOURS, INT, relocatable, standard, unit
from tests.commands.test_merge import FEATURES, merge
from tests.conftest import RunCli, run_unprivileged


def test_many_files_at_once(built: Callable[[str], Path], capfd: pytest.CaptureFixture[str]) -> None:
    folder = built("x86")
    (folder / "no.o").write_bytes(b"no object")
    assert main(["object", "--features", FEATURES, "--strip-dwarf", "a.o", "no.o", "b.o", "sa.o"]) == 1
    err = capfd.readouterr().err
    assert "no.o: starts with" in err
    assert "4 objects: 2 encoded (2 units), 1 had these values, 1 failed" in err
    for each in ("a.o", "b.o"):
        with ElfImage.open(each) as image:
            section = find_index(image)
            assert section is not None
            assert index_of(image, section)[0].path == each


def test_one_that_cannot_be_opened_does_not_stop_the_others(
    built: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    built("x86")
    Path("folder").mkdir()
    assert main(["object", "--features", FEATURES, "missing.o", "folder", "a.o"]) == 1
    missing, folder, line = capfd.readouterr().err.splitlines()
    assert missing == "pybtf: error: missing.o: no such file"
    assert folder.startswith("pybtf: error: folder: ")
    assert line.startswith("3 objects: 1 encoded (1 unit), 2 failed; ")


def test_what_nobody_foresaw_does_not_stop_the_others(
    built: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    built("x86")

    def object_values(image: ElfImage, path: str, *rest: object) -> object:
        if path == "a.o":
            raise OSError(5, "worn out")
        return values(image, path, *rest)

    values: Callable[..., object] = objects.object_values
    monkeypatch.setattr("pybtf.merging.encoding.object_values", object_values)
    assert main(["object", "--features", FEATURES, "a.o", "b.o"]) == 1
    message, line = capfd.readouterr().err.splitlines()
    assert message == "pybtf: error: a.o: worn out"
    assert line.startswith("2 objects: 1 encoded (1 unit), 1 failed; ")
    assert main(["object", "--features", FEATURES, "a.o"]) == 1
    assert capfd.readouterr().err == "pybtf: error: a.o: worn out\n", "for one object, the message says everything"


def test_a_store_that_cannot_be_made(built: Callable[[str], Path], capfd: pytest.CaptureFixture[str]) -> None:
    built("x86")
    Path("file").write_bytes(b"")
    before = Path("a.o").read_bytes()
    assert main(["object", "--features", FEATURES, "--store", "file", "a.o", "b.o"]) == 1
    err = capfd.readouterr().err
    assert err.count(": cannot be written: part of this path is not a folder. Check the path.") == 2
    assert "2 objects: 0 encoded (0 units), 2 failed" in err
    assert Path("a.o").read_bytes() == before


@pytest.mark.parametrize(
    ("out", "environment", "message"),
    [
        ("sa.o", {}, "sa.o: is named as the detached file, and has values of merged"),
        ("hard.o", {}, "sb.o: is named as the detached file, and has values of merged"),
        ("b.o", {"PYBTF_OBJECTS": "list"}, "b.o: is named as the detached file, and in the environment"),
        ("list", {"PYBTF_OBJECTS": "list"}, "list: is named as the detached file, and in the environment"),
        ("a.o", {"PYBTF_MERGE_CACHE": "a.o"}, "a.o: is named as the detached file, and in the environment"),
    ],
)
def test_no_detached_file_of_pahole_replaces_what_is_merged(
    out: str,
    environment: dict[str, str],
    message: str,
    built: Callable[[str], Path],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = built("x86")
    Path("list").write_text("sa.o\nsb.o\nb.o\n")
    assert main(["object", "-q", "--features", FEATURES, "b.o"]) == 0
    Path("hard.o").hardlink_to("sb.o")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert pahole(["-J", f"--btf_features={FEATURES}", f"--btf_encode_detached={out}", "merged"]) == 1
    assert capfd.readouterr().err == f"pybtf-pahole: error: {message}; expected another file\n"
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["object"], "missing argument"),
        (["object", "--inline", "--store", "x", "a.o"], "--inline and --store do not go together"),
        (["object", "--section", ".BTF", "a.o"], "begins with .debug_"),
        (["object", "--section", ".symtab", "a.o"], "begins with .debug_"),
        (["object", "--section", ".debug_info", "a.o"], "--section .debug_info is the name of a part of DWARF"),
        (["cc", "--section", ".debug_str.dwo", "--", "true"], ".debug_str.dwo is the name of a part of DWARF"),
        (["object", "--section", ".debug_btf_values", "a.o"], "is the name of the values themselves"),
        (["merge"], "missing argument 'FILE'; see pybtf merge --help"),
        (["merge", "a", "b"], "one FILE at a time"),
        (["merge", "--cache", "c", "--detached", "./c", "a"], "--detached OUT is the cache itself"),
        (["merge", "--cache", "c", "--report", "c", "--detached", "o", "a"], "--report JSON is the cache itself"),
        (["merge", "--cache", "a", "--detached", "o", "a"], "--cache is FILE itself"),
        (["cc"], "no command is given"),
        (["cc", "--"], "no command is given"),
        (["cc", "--store", "", "--", "true"], "--store: the name is empty"),
        (["merge", "--objects", "", "a"], "--objects: the name is empty"),
    ],
)
def test_usage_errors(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert message in capfd.readouterr().err


def test_no_output_replaces_what_is_read(built: Callable[[str], Path], capfd: pytest.CaptureFixture[str]) -> None:
    folder = built("x86")
    Path("list").write_text("a.o\nb.o\n")
    Path("a.o.btf").write_text("a.o\nb.o\n")
    Path("same").hardlink_to("list")
    Path("hard.o").hardlink_to("sb.o")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for arguments, message in (
        (["merge", "--objects", "a.o", "--detached", "./a.o"], "--detached OUT would replace a.o, which is named with"),
        (["merge", "--objects", "list", "--detached", "list"], "--detached OUT would replace list, which is named"),
        (["merge", "--objects", "list", "--detached", "b.o"], "--detached OUT would replace b.o, which is named with"),
        (["merge", "--objects", "list", "--detached", "x", "--report", "b.o"], "--report JSON would replace b.o"),
        (["merge", "--detached", "./sa.o"], "--detached OUT would replace sa.o, which has values of merged"),
        (["merge", "--detached", "hard.o"], "--detached OUT would replace sb.o, which has values of merged"),
        (["merge", "--detached", "x", "--report", "sb.o"], "--report JSON would replace sb.o, which has values"),
        (["encode", "--dwp", "sa.o", "--detached", "sa.o"], "--detached OUT is the package of --dwp itself"),
        (["encode", "--dwp", "sa.o", "--provenance", "sa.o"], "--provenance FILE is the package of --dwp itself"),
        (["encode", "--from-list", "list", "--detached-dir", "d", "--report", "list"], "--report JSON is the LIST of"),
        (["encode", "--from-list", "list", "--detached-dir", "d", "--report", "same"], "--report JSON is the LIST of"),
        (["encode", "--from-list", "list", "--combine", "--detached", "list"], "--detached OUT is the LIST of"),
        (["encode", "--from-list", "list", "--combine", "--detached", "x", "--report", "list"], "--report JSON is the"),
        (["encode", "--from-list", "a.o.btf", "--detached-dir", "."], "the LIST of --from-list is also the file that"),
    ):
        assert main([*arguments, "merged"]) == 2
        assert message in capfd.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_section_that_the_object_has_is_not_replaced(
    built: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    built("x86")
    content = Path("a.o").read_bytes()
    assert content.count(b".debug_aranges\0") == 1
    # A section with its relocations, whose name is neither one of DWARF nor one of values.
    Path("a.o").write_bytes(content.replace(b".debug_aranges\0", b".debug_my_tool\0"))
    before = Path("a.o").read_bytes()
    assert main(["object", "--section", ".debug_my_tool", "a.o"]) == 1
    assert "a.o: .debug_my_tool: a section of the object, which has no values" in capfd.readouterr().err
    assert Path("a.o").read_bytes() == before
    for _ in range(2):  # what pybtf wrote is replaced
        assert main(["object", "--section", ".debug_mine", "a.o"]) == 0
        assert main(["object", "--section", ".debug_mine", "--features", FEATURES, "a.o"]) == 0


COMPILER = """#!/bin/sh
# Copies an object in place of compiling; or fails, as it is told.
out=
while [ $# -gt 0 ]; do
    case $1 in -o) out=$2; shift;; fail) echo 'x.c:1: error' >&2; exit 3;; die) kill -TERM $$;; esac
    shift
done
[ -z "$out" ] || cp a.o "$out"
echo compiled
"""


@pytest.fixture
def compiler(built: Callable[[str], Path]) -> Path:
    folder = built("x86")
    path = folder / "fakecc"
    path.write_text(COMPILER)
    path.chmod(0o755)
    return path


def test_cc_puts_values_into_what_was_compiled(compiler: Path, run_cli: RunCli) -> None:
    done = run_cli("cc", "--strip-dwarf", "--features", FEATURES, "--", compiler, "-g", "-c", "x.c", "-o", "sa.o")
    assert (done.returncode, done.stdout, done.stderr) == (0, "compiled\n", "")
    with ElfImage.open("sa.o") as image:
        assert find_index(image) is not None
    assert merge("merged") == Path("wanted.btf").read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ["x.c", "-o", "out"],
        ["-S", "-c", "x.c", "-o", "out"],
        ["-E", "-c", "x.c", "-o", "out"],
        ["-c", "x.c", "-o", "/dev/null"],
    ],
)
def test_cc_leaves_alone_what_is_no_compile(compiler: Path, run_cli: RunCli, arguments: list[str]) -> None:
    done = run_cli("cc", "--", compiler, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, "compiled\n", "")
    if "out" in arguments:
        assert Path("out").read_bytes() == Path("a.o").read_bytes()


@pytest.mark.parametrize("name", ["./fakecc", "fakecc"])
def test_a_compiler_that_is_a_script_without_an_interpreter(
    compiler: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    """`sh` runs it, as it does for make."""
    compiler.write_text(compiler.read_text().partition("\n")[2])
    (compiler.parent / "bin" / "fakecc").mkdir(parents=True)
    path = os.pathsep.join((str(compiler.parent / "bin"), str(compiler.parent), os.environ["PATH"]))
    monkeypatch.setenv("PATH", path)
    assert main(["cc", "--", name, "-c", "x.c", "-o", "out.o"]) == 0
    assert capfd.readouterr() == ("compiled\n", "")
    with ElfImage.open("out.o") as image:
        assert find_index(image) is not None


def test_cc_passes_on_what_the_compiler_says(compiler: Path, run_cli: RunCli) -> None:
    done = run_cli("cc", "--", compiler, "-c", "x.c", "-o", "out", "fail")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "x.c:1: error\n")
    assert not Path("out").exists()
    assert run_cli("cc", "--", compiler, "-c", "die").returncode == 128 + 15
    missing = run_cli("cc", "--", "./nosuchcc", "-c", "x.c")
    assert missing.returncode == 127
    assert "nosuchcc: cannot be run" in missing.stderr
    nameless = run_cli("cc", "--", "", "-c", "x.c")
    assert nameless.returncode == 2
    assert "no command is given" in nameless.stderr


def test_cc_removes_an_object_that_cannot_be_encoded(compiler: Path, run_cli: RunCli) -> None:
    bad = die("atomic_type", ("type", "ref4", "int"), label="bad")
    Path("a.o").write_bytes(relocatable([unit([*standard(FLAVOURS["x86_64"]), bad])]).data)
    done = run_cli("cc", "--", compiler, "-c", "x.c", "-o", "out.o")
    assert done.returncode == 1
    assert "DW_TAG_atomic_type" in done.stderr
    assert not Path("out.o").exists()


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize(("error", "status"), [(OSError(5, "worn out"), 1), (KeyboardInterrupt(), 130)])
def test_cc_leaves_no_object_without_values(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int
) -> None:
    """Whatever goes wrong: the next run of a build would think that it is up to date."""

    def encode_compiled(path: str, *_: object) -> None:
        if path == "sb.o":
            raise error

    monkeypatch.setattr("pybtf.merging.encoding.encode_compiled", encode_compiled)
    monkeypatch.setattr("pybtf.merging.compiling.objects_of", lambda _: ["sa.o", "sb.o", "b.o"])
    assert main(["cc", "--", "true"]) == status
    assert [Path(each).exists() for each in ("sa.o", "sb.o", "b.o")] == [True, False, False]


def test_cc_cuts_an_object_that_cannot_be_removed(compiler: Path) -> None:
    """A compiler writes into an existing object even if the folder is not writable."""
    place = compiler.parent / "place"
    place.mkdir()
    object_file, link = place / "x.o", compiler.parent / "link.o"
    object_file.write_bytes(b"old")
    link.symlink_to(object_file)
    place.chmod(0o555)
    try:
        done = run_unprivileged("cc", "--", compiler, "-c", "x.c", "-o", link)
    finally:
        place.chmod(0o755)
    assert done.returncode == 1
    assert f"{link}: cannot be written: no permission to write in {place}" in done.stderr
    assert (link.is_symlink(), object_file.read_bytes(), object_file.stat().st_mtime) == (True, b"\x7fELF", 0)


def test_cc_takes_an_object_that_is_write_protected(
    compiler: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As ccache leaves them with `hard_link`. An object that existed before stays protected, for `pybtf object`."""
    cached = Path("a.o")
    cached.chmod(0o444)
    before = cached.read_bytes()
    # root may write to all files
    monkeypatch.setattr(os, "access", lambda path, mode, **_: mode != os.W_OK)
    assert main(["object", "a.o"]) == 1
    assert "it is write-protected" in capfd.readouterr().err
    compiler.write_text(compiler.read_text().replace("cp a.o", "ln a.o"))
    assert main(["cc", "--", str(compiler), "-c", "x.c", "-o", "out.o"]) == 0
    assert (stat.S_IMODE(Path("out.o").stat().st_mode), cached.read_bytes()) == (0o444, before)
    with ElfImage.open("out.o") as image:
        assert find_index(image) is not None


@pytest.mark.parametrize("there", ["fifo", "link", "/dev/null", ".", "none", "nul\0"])
def test_what_is_no_file_is_no_object(there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would wait for a pipe."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    Path("link").symlink_to("fifo")
    encode_compiled(there, Features.parse(FEATURES), Placing())


@pytest.mark.usefixtures("compiler")
def test_cc_removes_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Builds compile to /dev/null to test a compiler, sometimes as root, and are interrupted."""

    def encode_compiled(*_: object) -> None:
        raise KeyboardInterrupt

    os.mkfifo("fifo")
    Path("link").symlink_to("fifo")
    monkeypatch.setattr("pybtf.merging.encoding.encode_compiled", encode_compiled)
    for name in ("fifo", "link"):
        assert main(["cc", "--", "true", "-c", "x.c", "-o", name]) == 130
        assert Path(name).exists()


IGNORING = "import os, signal, sys; signal.signal({}, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"


def test_children_whose_end_is_of_no_interest(compiler: Path) -> None:
    """This setting can be inherited."""
    inside = ["-m", "pybtf", "cc", "--features", FEATURES, "--", str(compiler), "-c", "x.c", "-o", "sa.o"]
    done = subprocess.run(
        [sys.executable, "-c", IGNORING.format(int(signal.SIGCHLD)), sys.executable, *inside],
        capture_output=True, text=True, check=False
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "compiled\n", "")
    with ElfImage.open("sa.o") as image:
        assert find_index(image) is not None


@pytest.mark.parametrize("given", [{}, {"LC_CTYPE": "C.UTF-8"}])
def test_the_compiler_gets_the_environment_that_was_given(given: dict[str, str]) -> None:
    """Without a locale, Python adds LC_CTYPE, which ccache would take for a difference."""
    given = {"PATH": os.environ["PATH"], "HOME": "/", **given}
    command = [sys.executable, "-m", "pybtf", "cc", "--", "cat", "/proc/self/environ", "/proc/self/status"]
    done = subprocess.run(command, capture_output=True, env=given, check=True)
    *words, status = done.stdout.split(b"\0")
    assert sorted(words) == sorted(f"{name}={value}".encode() for name, value in given.items())
    ignored = int(next(line for line in status.splitlines() if line.startswith(b"SigIgn:")).split()[1], 16)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        assert not ignored >> (number - 1) & 1


def test_a_link_to_an_object_that_cannot_be_encoded_stays(compiler: Path, run_cli: RunCli) -> None:
    bad = die("atomic_type", ("type", "ref4", "int"), label="bad")
    Path("a.o").write_bytes(relocatable([unit([*standard(FLAVOURS["x86_64"]), bad])]).data)
    Path("out.o").write_bytes(b"")
    Path("link.o").symlink_to("out.o")
    assert run_cli("cc", "--", compiler, "-c", "x.c", "-o", "link.o").returncode == 1
    assert Path("link.o").is_symlink()
    assert not Path("out.o").exists()


def test_values_that_cannot_be_made_again_are_not_lost(
    built: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    """`ld -r` joined an object without DWARF and one with DWARF."""
    built("x86")
    assert main(["object", "--features", FEATURES, "a.o"]) == 0
    with ElfImage.open("a.o") as image:
        section = find_index(image)
        assert section is not None
        at = section.offset + 12
        (flags,) = struct.unpack_from("<I", image.data(section), 12)
    content = bytearray(Path("a.o").read_bytes())
    struct.pack_into("<I", content, at, flags | STRIPPED)
    Path("a.o").write_bytes(content)
    assert main(["object", "--features", FEATURES, "a.o"]) == 1
    assert "values of objects without DWARF, and DWARF of others" in capfd.readouterr().err
    assert Path("a.o").read_bytes() == content


def test_an_object_without_dwarf_that_is_to_carry_its_values_otherwise(
    built: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    built("x86")
    assert main(["object", "--features", FEATURES, "--strip-dwarf", "a.o"]) == 0
    assert main(["object", "--features", FEATURES, "--inline", "a.o"]) == 1
    assert "a.o: values that are not inline, and no DWARF" in capfd.readouterr().err
    assert main(["object", "--features", FEATURES, "--store", "store", "a.o"]) == 0
    with ElfImage.open("a.o") as image:
        section = image.section(PAYLOAD)
        assert section is not None
        ((its_digest, values),) = payloads(image.data(section), image.place(section), little=True)
    assert Path(stored_path("store", its_digest)).read_bytes() == bytes(values)


def test_who_asks_for_the_dwarf_of_an_object_is_told_where_it_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its sections are still in the table, without type and bytes."""
    path = tmp_path / "x.o"
    path.write_bytes(relocatable().data)
    assert main(["object", "-q", "--strip-dwarf", str(path)]) == 0
    for command in (["encode", "--detached", str(tmp_path / "out")], ["why", "f"], ["verify", "--btf-ids"]):
        assert main([*command, str(path)]) == 1
        assert "values of objects, and no DWARF (.debug_info)" in capfd.readouterr().err
    assert main(["dump", str(path)]) == 1
    said = capfd.readouterr().err
    assert "no .BTF section" in said
    assert "It has DWARF" not in said


def test_units_of_which_there_are_no_values_keep_their_dwarf(tmp_path: Path) -> None:
    path = tmp_path / "one.o"
    units = [unit([INT]), unit([die("typedef", ("name", "string", "far"), ("type", "ref_addr", "int"))])]
    path.write_bytes(relocatable(units).data)
    before = pybtf.encode(path, jobs=1).data
    assert main(["object", "-q", "--strip-dwarf", str(path)]) == 0
    assert bytes(pybtf.encode(path, jobs=1).data) == bytes(before)


def test_an_index_in_the_old_kind_of_compressed_section(built: Callable[[str], Path], tmp_path: Path) -> None:
    built("x86")
    assert main(["object", "--features", FEATURES, "a.o"]) == 0
    with ElfImage.open("a.o") as image:
        section = find_index(image)
        assert section is not None
        index = bytes(image.data(section))
    packed = b"ZLIB" + len(index).to_bytes(8, "big") + zlib.compress(index)
    path = tmp_path / "linked"
    path.write_bytes(bare([Section(".zdebug_btf", packed)]))
    with ElfImage.open(str(path)) as image:
        section = find_index(image)
        assert section is not None
        assert index_of(image, section)[0].path == "a.o"


def test_cc_with_a_store_that_cannot_be_made(compiler: Path, run_cli: RunCli) -> None:
    Path("file").write_bytes(b"")
    done = run_cli("cc", "--store", "file", "--features", FEATURES, "--", compiler, "-c", "x.c", "-o", "out.o")
    assert done.returncode == 1
    assert "cannot be written: part of this path is not a folder" in done.stderr
    assert not Path("out.o").exists()


def test_variables_of_a_section_that_is_not_loaded_are_told() -> None:
    strings = b"\0.debug_info\0.data\0"
    encoded: Any = SimpleNamespace(
        data=b"types" + strings, report=SimpleNamespace(strings_size=len(strings), warnings=[])
    )
    content = bare([Section(".debug_info", b"info"), Section(".debug_line", b"line")])
    with ElfImage("linked", content) as image:
        _tell_of_unloaded(image, encoded)
    assert encoded.report.warnings == [
        "some variables are assigned to .debug_info, which is not loaded; with the DWARF linked, it could be another "
        "section"
    ]
