"""`put_sections` on files from compilers and linkers: linkers, loaders and readers still take the result. Also crashes.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

import pybtf
from pybtf.elf import writer
from pybtf.elf.writer import Written, put_sections
from pybtf.errors import InputError, OutputError
from tests.builders.elfchecks import check_kept, environment, need, python, run, section_data, sections_of
from tests.builders.kernelish import kernel

SOURCE = """
#include <stdio.h>
struct point { int x, y; };
struct point origin = { 40, 2 };
__attribute__((noinline)) int sum(struct point *p) { return p->x + p->y; }
int main(void) { return printf("%d\\n", sum(&origin)) < 0; }
"""
PLAIN = "struct point { int x, y; } origin; int sum(struct point *p) { return p->x + p->y; }\n"
# The output of `pahole -J` for `PLAIN` would do as well; readers here only check header and size.
TYPES = bytes.fromhex("01000000 00000001 04000000 20000001")
STRINGS = b"\0int\0"
BTF = bytes.fromhex("9feb 01 00 18000000 00000000 10000000 10000000 05000000") + TYPES + STRINGS
LONGER = BTF[:20] + (5 + 4000).to_bytes(4, "little") + BTF[24:] + b"x" * 3999 + b"\0"

FOREIGN = ["i386-linux-gnu", "s390x-linux-gnu", "powerpc64-linux-gnu", "mips-linux-gnu", "arm-linux-gnueabi"]


@pytest.fixture(autouse=True)
def no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does not wait for a busy disk. `test_atomic.py` checks that fsync is called, and when."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


def compile_c(folder: Path, name: str, *command: str, source: str = SOURCE) -> Path:
    """Compiles and perhaps links `source`; returns the file."""
    need(command[0])
    (folder / "source.c").write_text(source)
    run(*command, folder / "source.c", "-o", folder / name)
    return folder / name


def readelf_lines(path: Path) -> list[str]:
    """What readelf says about segments, symbols, relocations, notes and groups. Warnings fail the test."""
    need("readelf")
    views = ("--program-headers", "--symbols", "--relocs", "--section-groups", "--notes")
    lines = run("readelf", "-W", *views, path)
    run("readelf", "-WS", path)
    return [line for line in lines.splitlines() if not line.startswith("There are")]


def check_put(path: Path) -> None:
    """Puts a short and a longer BTF into `path`, twice. Nothing else may change, and the file must not keep growing."""
    old, lines = path.read_bytes(), readelf_lines(path)
    made = []
    for content in (BTF, LONGER, BTF, LONGER):
        result = put_sections(path, {".BTF": content})
        new = path.read_bytes()
        check_kept(old, new, ".BTF")
        assert result.size == len(new)
        assert section_data(new, ".BTF") == content
        assert readelf_lines(path) == lines
        dump = path.with_name("dump")
        objcopy = "objcopy" if not path.name.startswith("foreign") else "llvm-objcopy"
        if shutil.which(objcopy):
            run(objcopy, "--dump-section", f".BTF={dump}", path, path.with_name("copy"))
            assert dump.read_bytes() == content
        assert put_sections(path, {".BTF": content}).changed is False
        assert path.read_bytes() == new
        made.append(new)
    assert made[3] == made[1]


@pytest.mark.parametrize(
    "flags",
    [
        ["gcc"],
        ["gcc", "-no-pie"],
        ["gcc", "-static"],
        ["clang"],
        ["clang", "-fuse-ld=lld"],
        ["clang", "-fuse-ld=lld", "-static"],
    ],
)
def test_executable_still_runs(tmp_path: Path, flags: list[str]) -> None:
    if "-fuse-ld=lld" in flags:
        need("ld.lld")
    program = compile_c(tmp_path, "program", *flags, "-g", "-O1")
    check_put(program)
    assert run(program) == "42\n"


@pytest.mark.parametrize("flags", [["gcc"], ["clang"], ["gcc", "-ffunction-sections", "-fdata-sections"],
                                   ["clang", "-gz"], ["gcc", "-flto", "-ffat-lto-objects"]])  # fmt: skip
def test_object_still_links(tmp_path: Path, flags: list[str]) -> None:
    need("ld")
    object_ = compile_c(tmp_path, "object.o", *flags, "-g", "-c")
    check_put(object_)
    linked = tmp_path / "linked.o"
    run("ld", "-r", object_, "-o", linked)
    assert section_data(linked.read_bytes(), ".BTF") == LONGER
    check_put(linked)
    run(flags[0], linked, "-o", tmp_path / "program")
    assert run(tmp_path / "program") == "42\n"


def test_groups_and_comdat(tmp_path: Path) -> None:
    need("g++", "ld")
    (tmp_path / "source.cc").write_text(
        "#include <cstdio>\ntemplate <class T> T twice(T t) { return t + t; }\n"
        'inline int half(int i) { return i / 2; }\nint main() { std::printf("%d\\n", half(twice(42))); }\n'
    )
    object_ = tmp_path / "object.o"
    run("g++", "-g", "-c", tmp_path / "source.cc", "-o", object_)
    assert any(header["sh_type"] == "SHT_GROUP" for _, header, _ in sections_of(object_.read_bytes()))
    check_put(object_)
    run("g++", object_, "-o", tmp_path / "program")
    assert run(tmp_path / "program") == "42\n"


@pytest.mark.parametrize("target", FOREIGN)
def test_other_machines(tmp_path: Path, target: str) -> None:
    need("clang")
    (tmp_path / "source.c").write_text(PLAIN)
    object_ = tmp_path / "foreign.o"
    command = ["clang", f"--target={target}", "-g", "-c", str(tmp_path / "source.c"), "-o", str(object_)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unable to create target" in done.stderr or "unknown target" in done.stderr:
        pytest.skip(f"clang here has no {target}: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    check_put(object_)


def test_debug_only_file(tmp_path: Path) -> None:
    need("objcopy")
    program = compile_c(tmp_path, "program", "gcc", "-g")
    (tmp_path / "btf").write_bytes(BTF)
    flags = ["--add-section", f".BTF={tmp_path / 'btf'}", "--set-section-flags", ".BTF=alloc,readonly"]
    subprocess.run(["objcopy", *flags, program], check=True, stderr=subprocess.DEVNULL)
    debug = tmp_path / "program.debug"
    run("objcopy", "--only-keep-debug", program, debug)
    old = debug.read_bytes()
    [header] = [header for name, header, _ in sections_of(old) if name == ".BTF"]
    assert header["sh_type"] == "SHT_NOBITS"
    for content in (BTF, LONGER):
        put_sections(debug, {".BTF": content})
        check_kept(old, debug.read_bytes(), ".BTF")
        assert section_data(debug.read_bytes(), ".BTF") == content


@pytest.mark.skipif(platform.machine() != "x86_64", reason="assembler source for x86-64")
def test_loaded_section_of_a_program(tmp_path: Path) -> None:
    source = SOURCE + f'__asm__(".section .BTF, \\"a\\"; .fill {len(LONGER)}, 1, 7; .text");\n'
    program = compile_c(tmp_path, "program", "gcc", "-g", source=source)
    old, lines = program.read_bytes(), readelf_lines(program)
    for content in (LONGER, BTF):
        result = put_sections(program, {".BTF": content})
        assert result.placed == {".BTF": "in place"}
        new = program.read_bytes()
        assert len(new) == len(old)
        check_kept(old, new, ".BTF")
        assert section_data(new, ".BTF") == content
        assert [re.sub(" +", " ", line) for line in readelf_lines(program)] == [
            re.sub(" +", " ", line) for line in lines
        ]
        assert run(program) == "42\n"
    now = program.read_bytes()
    with pytest.raises(OutputError, match=r"\.BTF lies in a loaded segment.*does not fit.*Use --detached"):
        put_sections(program, {".BTF": LONGER * 1000})
    assert program.read_bytes() == now


@pytest.mark.skipif(platform.machine() != "x86_64", reason="assembler source for x86-64")
def test_66000_sections(tmp_path: Path) -> None:
    need("as", "gcc", "ld", "readelf")
    count = 66_000
    many = tmp_path / "many.s"
    body = "".join(f'.section .rodata.s{i},"a"\n.byte 1\n' for i in range(count))
    symbols = f"{body}.globl last\nlast: .byte 42\n.text\n.globl get\nget: movzbl last(%rip), %eax\nret\n"
    many.write_text(symbols + '.section .note.GNU-stack,""\n')
    object_ = tmp_path / "many.o"
    run("as", many, "-o", object_)
    old = object_.read_bytes()
    for content in (BTF, LONGER):
        result = put_sections(object_, {".BTF": content})
    assert result.changed
    new = object_.read_bytes()
    assert len(new) < len(old) + len(LONGER) + 200
    listing = run("readelf", "-WS", object_).splitlines()
    assert sum(".BTF" in line for line in listing) == 1
    assert run("readelf", "-Ws", object_).count("last") == 1
    (tmp_path / "main.c").write_text("int get(void);\nint main(void) { return get() != 42; }\n")
    run("gcc", tmp_path / "main.c", object_, "-o", tmp_path / "program")
    run(tmp_path / "program")
    assert section_data((tmp_path / "program").read_bytes(), ".BTF") == LONGER


def test_bpftool_reads_it(tmp_path: Path) -> None:
    need("bpftool")
    object_ = compile_c(tmp_path, "object.o", "gcc", "-g", "-c", source=PLAIN)
    put_sections(object_, {".BTF": BTF})
    assert "[1] INT 'int' size=4" in run("bpftool", "btf", "dump", "file", object_)


@pytest.fixture
def elf(tmp_path: Path) -> Path:
    """An object file without `.BTF`, alone in its folder."""
    built = compile_c(tmp_path, "object.o", "gcc", "-g", "-c", source=PLAIN)
    home = tmp_path / "home"
    home.mkdir()
    return built.rename(home / "object.o")


def test_mode_time_and_link(elf: Path, tmp_path: Path) -> None:
    elf.chmod(0o640)
    os.utime(elf, (1, 1))
    link = tmp_path / "link.o"
    link.symlink_to(elf)
    put_sections(link, {".BTF": BTF})
    assert link.is_symlink()
    assert section_data(elf.read_bytes(), ".BTF") == BTF
    found = elf.stat()
    assert stat.S_IMODE(found.st_mode) == 0o640
    assert found.st_mtime > 1_000_000
    os.utime(elf, (1, 1))
    assert put_sections(link, {".BTF": BTF}).placed == {".BTF": "unchanged"}
    assert elf.stat().st_mtime > 1_000_000
    assert list(elf.parent.iterdir()) == [elf]


def test_hard_links_keep_the_old_file(elf: Path, tmp_path: Path) -> None:
    other = tmp_path / "cache.o"
    os.link(elf, other)
    old = other.read_bytes()
    result = put_sections(elf, {".BTF": BTF})
    assert result == Written(str(elf), {".BTF": "added"}, True, elf.stat().st_size, 1)
    assert other.read_bytes() == old
    assert section_data(elf.read_bytes(), ".BTF") == BTF


def test_an_owner_that_cannot_be_kept_is_told(elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_fd: int, _uid: int, _gid: int) -> None:
        raise PermissionError(errno.EPERM, "not yours")

    assert not put_sections(elf, {".BTF": BTF}).disowned
    monkeypatch.setattr(os, "fchown", refuse)
    assert put_sections(elf, {".BTF": LONGER}).disowned


def test_file_that_is_not_the_one_decoded(elf: Path) -> None:
    seen = elf.stat()
    put_sections(elf, {".BTF": BTF}, expect=seen)
    now = elf.read_bytes()
    with pytest.raises(OutputError, match=r"has changed since it was read.*Run again"):
        put_sections(elf, {".BTF": LONGER}, expect=seen)
    assert elf.read_bytes() == now


@pytest.mark.parametrize("replaced", [False, True])
def test_the_file_that_was_encoded_by_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    """All its names are tried, after it has been written to or replaced."""
    folder = tmp_path / "folder"
    folder.mkdir()
    path, copy = folder / "e.o", folder / "copy.o"
    path.write_bytes(kernel().data)
    copy.write_bytes(path.read_bytes())
    (folder / "link.o").symlink_to("e.o")
    os.link(path, folder / "hard.o")
    monkeypatch.chdir(folder)
    encoded = pybtf.encode("e.o")
    if replaced:
        put_sections("e.o", {".other": b"x"})
    else:
        path.write_bytes(path.read_bytes() + b"x")
    names = ["e.o", "./e.o", "link.o", str(path), "../e.o", *([] if replaced else ["hard.o"])]
    (folder / "below").mkdir()
    for name in names:
        monkeypatch.chdir(folder / "below" if name == "../e.o" else folder)
        before = Path(name).read_bytes()
        with pytest.raises(OutputError, match=r"has changed since it was read.*Run again"):
            encoded.embed(name)
        assert Path(name).read_bytes() == before
    assert encoded.embed(copy).changed


def test_file_that_changes_meanwhile(elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = elf.read_bytes()
    apply = writer._apply

    def apply_and_touch(fd: int, plan: object) -> None:
        apply(fd, plan)  # type: ignore[arg-type]
        os.utime(elf, (5, 5))

    monkeypatch.setattr(writer, "_apply", apply_and_touch)
    with pytest.raises(OutputError, match="has changed since it was read"):
        put_sections(elf, {".BTF": BTF})
    assert elf.read_bytes() == old
    assert list(elf.parent.iterdir()) == [elf]


@pytest.mark.parametrize("answer", [errno.EXDEV, 0])
def test_copy_without_help_of_the_kernel(elf: Path, monkeypatch: pytest.MonkeyPatch, answer: int) -> None:
    """Some file systems refuse, others copy nothing."""
    expected = elf.with_name("expected.o")
    shutil.copy(elf, expected)
    put_sections(expected, {".BTF": BTF})
    calls: list[int] = []

    def refuse(*_arguments: object) -> int:
        calls.append(answer)
        assert len(calls) == 1
        if answer:
            raise OSError(answer, "other filesystem")
        return 0

    monkeypatch.setattr(os, "copy_file_range", refuse)
    put_sections(elf, {".BTF": BTF})
    assert elf.read_bytes() == expected.read_bytes()


def test_copy_that_fails(elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = elf.read_bytes()

    def fail(*_arguments: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "copy_file_range", fail)
    with pytest.raises(OutputError, match="Input/output error"):
        put_sections(elf, {".BTF": BTF})
    assert elf.read_bytes() == before


def test_file_that_is_deleted_meanwhile(elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = writer._copy

    def deleted(*arguments: Any) -> None:
        copy(*arguments)
        elf.unlink()

    monkeypatch.setattr(writer, "_copy", deleted)
    with pytest.raises(OutputError, match="has changed since it was read"):
        put_sections(elf, {".BTF": BTF})
    assert list(elf.parent.iterdir()) == []


def test_unusable_inputs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "text").write_text("hello\n")
    for name, message in [
        ("missing", "no such file"),
        ("", "is not a regular file"),
        ("fifo", "is not a regular file"),
        ("text", "expected an ELF file"),
    ]:
        with pytest.raises(InputError, match=message):
            put_sections(tmp_path / name, {".BTF": BTF})
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["fifo", "text"]


def test_read_only_filesystem_and_full_disk(elf: Path, tmp_path: Path) -> None:
    need("unshare", "mount")
    script = """
    import os, subprocess, sys
    from pybtf.elf.writer import put_sections
    from pybtf.errors import OutputError
    print("mounted", flush=True)
    old = open("object.o", "rb").read()
    def attempt(name, size):
        try:
            put_sections(name, {".BTF": bytes(size)})
        except OutputError as error:
            print(error)
        assert open(name, "rb").read() == old
    attempt("object.o", 300_000)
    with open("filler", "wb", buffering=0) as filler:
        try:
            while filler.write(bytes(4096)):
                pass
        except OSError:
            pass
    attempt("object.o", 10)
    subprocess.run(["mount", "-o", "remount,ro", os.getcwd()], check=True)
    attempt("object.o", 10)
    print(sorted(os.listdir(".")))
    """
    command = 'mount -t tmpfs -o size=256k tmpfs "$PWD" && cd "$PWD" && cp "$0" object.o && exec "$@"'
    folder = tmp_path / "mount"
    folder.mkdir()
    python_ = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", command, elf, *python_],
        cwd=folder, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not done.stdout.startswith("mounted"):
        pytest.skip(f"no private mounts here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("object.o: cannot be written: the disk is full.") == 2
    assert "the filesystem is read-only. Use --detached" in done.stdout
    assert done.stdout.endswith("['filler', 'object.o']\n")


def test_file_size_limit(elf: Path) -> None:
    import resource

    old = elf.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(old) + 100, hard))
    try:
        with pytest.raises(OutputError, match="larger than the limit"):
            put_sections(elf, {".BTF": LONGER})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert elf.read_bytes() == old
    assert list(elf.parent.iterdir()) == [elf]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_killed_at_any_moment(elf: Path, number: signal.Signals) -> None:
    """The file is complete, old or new. It is so large that most kills come while it is copied."""
    need("objcopy")
    ballast = elf.with_name("ballast")
    ballast.write_bytes(os.urandom(1 << 20) * 16)
    run("objcopy", "--add-section", f".ballast={ballast}", elf)
    ballast.unlink()
    versions = set()
    for content in (LONGER, BTF):
        put_sections(elf, {".BTF": content})
        versions.add(elf.read_bytes())
    script = f"""
    import signal, sys
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from pybtf.elf.writer import put_sections
    print("ready", flush=True)
    while True:
        for content in ({LONGER!r}, {BTF!r}):
            put_sections(sys.argv[1], {{".BTF": content}}, durable=False)
    """
    for round_ in range(10):
        child = python(script, elf)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.007 * round_)
        child.send_signal(number)
        child.communicate()
        assert child.returncode == -number
        assert elf.read_bytes() in versions
    left = [entry.name for entry in elf.parent.iterdir() if entry != elf]
    assert len(left) <= (number == signal.SIGKILL)  # between link and rename, which happens rarely
