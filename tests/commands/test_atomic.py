"""`write_file`: all or nothing, whatever happens, and nothing else is left in the folder."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from pybtf.elf import atomic
from pybtf.elf.atomic import not_written, require_writable, write_file
from pybtf.errors import OutputError
from tests.builders.elfchecks import environment, need, python

OLD, NEW = b"old contents", b"new contents " * 1000
IS_ROOT = os.geteuid() == 0


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the system calls that publish a file, as they are made. fsync does not wait for a disk."""
    made: list[str] = []

    def record(name: str, real: Callable[..., None]) -> Callable[..., None]:
        def recorded(*arguments: object, **options: object) -> None:
            made.append(name)
            real(*arguments, **options)

        return recorded

    monkeypatch.setattr(os, "fsync", record("fsync", lambda fd: None))
    monkeypatch.setattr(os, "link", record("link", os.link))
    monkeypatch.setattr(os, "rename", record("rename", os.rename))
    return made


@pytest.fixture(params=["unnamed", "named"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Both ways of making the new file: with O_TMPFILE, and with a temporary name where there is none."""
    if request.param == "named":
        monkeypatch.setattr(atomic, "open_unnamed", _no_unnamed)
    else:
        try:
            os.close(atomic.open_unnamed(str(tmp_path), 0o600))
        except OSError as error:
            pytest.skip(f"no files without a name on this filesystem: {error.strerror}")
    return str(request.param)


def _no_unnamed(_folder: str, _mode: int) -> int:
    raise OSError(errno.EOPNOTSUPP, "not here")


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.usefixtures("way")
def test_new_file(tmp_path: Path) -> None:
    old_mask = os.umask(0o027)
    try:
        assert write_file(tmp_path / "out", [b"one", bytearray(b"two"), memoryview(b"three")]) == 11
    finally:
        os.umask(old_mask)
    assert (tmp_path / "out").read_bytes() == b"onetwothree"
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o640
    assert names(tmp_path) == ["out"]


def test_data_is_on_disk_before_it_gets_the_name(tmp_path: Path, way: str, calls: list[str]) -> None:
    new, replaced = (["link"], ["link", "rename"]) if way == "unnamed" else (["rename"], ["rename"])
    write_file(tmp_path / "out", NEW)
    assert calls == ["fsync", *new]
    write_file(tmp_path / "out", NEW)
    assert calls == ["fsync", *new, "fsync", *replaced]
    calls.clear()
    write_file(tmp_path / "out", NEW, durable=False)
    assert calls == replaced


@pytest.mark.usefixtures("way")
def test_a_file_that_appears_meanwhile_is_replaced(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"new"
        (tmp_path / "out").write_bytes(OLD)

    assert write_file(tmp_path / "out", pieces()) == 3
    assert (tmp_path / "out").read_bytes() == b"new"
    assert names(tmp_path) == ["out"]


@pytest.mark.usefixtures("way")
def test_writes_that_write_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As at a limit of the file size, or on network file systems."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
    assert write_file(tmp_path / "out", bytes(range(100))) == 100
    assert (tmp_path / "out").read_bytes() == bytes(range(100))


@pytest.mark.usefixtures("way")
def test_empty_file(tmp_path: Path) -> None:
    assert write_file(tmp_path / "out", b"") == 0
    assert (tmp_path / "out").read_bytes() == b""


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o4755])
def test_replaced_file_keeps_mode(tmp_path: Path, mode: int) -> None:
    out = tmp_path / "out"
    out.write_bytes(OLD)
    out.chmod(mode)
    before = out.stat()
    write_file(out, NEW)
    assert out.read_bytes() == NEW
    assert stat.S_IMODE(out.stat().st_mode) == mode
    assert out.stat().st_ino != before.st_ino
    assert names(tmp_path) == ["out"]


@pytest.mark.usefixtures("way")
@pytest.mark.skipif(not IS_ROOT, reason="only root can give files away")
def test_replaced_file_keeps_owner(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(OLD)
    os.chown(out, 1234, 2345)
    out.chmod(0o2750)
    write_file(out, NEW)
    found = out.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 2345, 0o2750)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("code", [errno.EPERM, errno.EINVAL], ids=["not ours", "no number in the namespace"])
def test_owner_that_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(_fd: int, _uid: int, _gid: int) -> None:
        raise OSError(code, "not yours")

    out = tmp_path / "out"
    out.write_bytes(OLD)
    out.chmod(0o6755)
    monkeypatch.setattr(os, "fchown", refuse)
    write_file(out, NEW)
    assert (out.read_bytes(), stat.S_IMODE(out.stat().st_mode)) == (NEW, 0o755)


@pytest.mark.usefixtures("way")
def test_another_fault_of_the_owner_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_fd: int, _uid: int, _gid: int) -> None:
        raise OSError(errno.EIO, "broken")

    out = tmp_path / "out"
    out.write_bytes(OLD)
    monkeypatch.setattr(os, "fchown", fail)
    with pytest.raises(OutputError):
        write_file(out, NEW)
    assert out.read_bytes() == OLD
    assert names(tmp_path) == ["out"]


@pytest.mark.usefixtures("way")
def test_extended_attributes(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(OLD)
    try:
        os.setxattr(out, "user.origin", b"here")
    except OSError as error:
        pytest.skip(f"no user attributes on this filesystem: {error.strerror}")
    write_file(out, NEW)
    assert os.getxattr(out, "user.origin") == b"here"


def test_what_vouches_for_the_contents_stays_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signatures of the old contents are not copied, even though a privileged process could."""
    names = ["security.capability", "security.evm", "security.ima", "security.selinux", "user.origin"]
    copied = []
    monkeypatch.setattr(os, "listxattr", lambda of: names if isinstance(of, str | os.PathLike) else [])
    monkeypatch.setattr(os, "getxattr", lambda of, name: b"value")
    monkeypatch.setattr(os, "setxattr", lambda fd, name, value: copied.append(name))
    out = tmp_path / "out"
    out.write_bytes(OLD)
    write_file(out, NEW)
    assert copied == ["security.selinux", "user.origin"]


@pytest.mark.usefixtures("way")
def test_attributes_of_another_file(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.write_bytes(OLD)
    model.chmod(0o751)
    write_file(tmp_path / "out", NEW, like=model.stat())
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o751


@pytest.mark.usefixtures("way")
def test_symbolic_links_are_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "out").write_bytes(OLD)
    (tmp_path / "second").symlink_to("real/out")
    (tmp_path / "first").symlink_to(tmp_path / "second")
    write_file(tmp_path / "first", NEW)
    assert (real / "out").read_bytes() == NEW
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    (tmp_path / "dangling").symlink_to("real/fresh")
    write_file(tmp_path / "dangling", NEW)
    assert (real / "fresh").read_bytes() == NEW
    assert names(tmp_path) == ["dangling", "first", "real", "second"]
    assert names(real) == ["fresh", "out"]


@pytest.mark.usefixtures("way")
def test_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_file("out", NEW)
    assert (tmp_path / "out").read_bytes() == NEW


@pytest.mark.usefixtures("way")
def test_longest_name(tmp_path: Path) -> None:
    name = "ä" * 127 + "n"
    write_file(tmp_path / name, NEW)
    assert names(tmp_path) == [name]


@pytest.mark.usefixtures("way")
def test_failing_content_leaves_the_old_file(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield NEW
        raise KeyboardInterrupt

    out = tmp_path / "out"
    out.write_bytes(OLD)
    with pytest.raises(KeyboardInterrupt):
        write_file(out, pieces())
    assert out.read_bytes() == OLD
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("call", ["fsync", "fchmod", "link", "rename"])
def test_failing_system_call(tmp_path: Path, way: str, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    if (call, way) == ("link", "named"):
        pytest.skip("a named file needs no link")
    out = tmp_path / "out"
    out.write_bytes(OLD)
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OutputError, match=r"out: cannot be written: the disk is full\. Free some space"):
        write_file(out, NEW)
    assert out.read_bytes() == OLD
    assert names(tmp_path) == ["out"]


@pytest.mark.usefixtures("way")
def test_temporary_name_that_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "taken").write_bytes(OLD)
    monkeypatch.setattr(atomic, "_temporary_names", lambda target: iter(["taken", "free"]))
    (tmp_path / "out").write_bytes(OLD)
    write_file(tmp_path / "out", NEW)
    assert (tmp_path / "out").read_bytes() == NEW
    assert names(tmp_path) == ["out", "taken"]
    assert (tmp_path / "taken").read_bytes() == OLD


@pytest.mark.usefixtures("way")
def test_unusable_targets(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(OLD)
    (tmp_path / "loop").symlink_to("loop")
    targets: list[tuple[str | Path, str]] = [
        (tmp_path, "this is a folder. Name a file"),
        ("", "this is a folder"),
        (f"{tmp_path}/missing/out", f"the folder {tmp_path}/missing does not exist. Create it"),
        (f"{tmp_path}/missing/", "this is a folder|does not exist"),
        (f"{tmp_path}/file/out", "part of this path is not a folder"),
        (tmp_path / "loop", "cannot be written"),
        (tmp_path / ("x" * 300), "cannot be written"),
    ]
    for target, message in targets:
        with pytest.raises(OutputError, match=message):
            write_file(target, NEW)
    assert names(tmp_path) == ["file", "loop"]
    assert (tmp_path / "file").read_bytes() == OLD


def written_by_other(path: Path) -> str:
    """The outcome of writing to `path` as a user without rights on it: "written", or the message.

    A fork, because another user may not be able to start the Python that runs the tests.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        text = "failed"
        try:
            if IS_ROOT:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            write_file(path, NEW)
            text = "written"
        except OutputError as error:
            text = str(error)
        finally:
            os.write(write, text.encode())
            os._exit(0)
    os.close(write)
    with open(read) as result:
        text = result.read()
    os.waitpid(child, 0)
    return text


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder that other users can reach, which pytest's own is not."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o777)
        assert written_by_other(path / "probe") == "written"
        yield path
        path.chmod(0o755)


def test_read_only_folder(open_path: Path) -> None:
    out = open_path / "out"
    out.write_bytes(OLD)
    out.chmod(0o666)
    open_path.chmod(0o555)
    assert f"no permission to write in {open_path}" in written_by_other(out)
    assert out.read_bytes() == OLD


def test_write_protected_file(open_path: Path) -> None:
    out = open_path / "out"
    out.write_bytes(OLD)
    out.chmod(0o444)
    allow = "it is write-protected. Allow it (chmod u+w)."
    assert ("it belongs to the user root. Name another file." if IS_ROOT else allow) in written_by_other(out)
    assert out.read_bytes() == OLD


def test_special_files(tmp_path: Path) -> None:
    assert write_file("/dev/null", NEW) == len(NEW)
    assert Path("/dev/null").is_char_device()
    with pytest.raises(OutputError, match="/dev/full: cannot be written: the disk is full"):
        write_file("/dev/full", NEW)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE)
    write_file(fifo, NEW)
    assert reader.communicate()[0] == NEW
    assert names(tmp_path) == ["fifo"]


@pytest.mark.parametrize("target", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_own_descriptors_are_written_to(tmp_path: Path, target: str) -> None:
    script = """
    import os, sys
    from pybtf.elf.atomic import write_file
    os.write(1, b"before ")
    write_file(sys.argv[1], b"new")
    os.write(1, b" after")
    """
    link = tmp_path / "link"
    link.symlink_to(target)
    with open(tmp_path / "out", "wb") as out:
        command = [sys.executable, "-c", textwrap.dedent(script)]
        subprocess.run([*command, target], stdout=out, check=True)
        subprocess.run([*command, link], stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"before new after" * 2


def test_standard_output_without_links_in_dev(tmp_path: Path) -> None:
    """As in a bare chroot, where a file `/dev/stdout` must not be created, not even through a link."""
    script = """
    import os, sys
    def bare(call, *there):
        def wrapped(path, *arguments, **more):
            if str(path).startswith(there):
                raise FileNotFoundError(2, "No such file or directory", path)
            return call(path, *arguments, **more)
        return wrapped
    for name in ("lstat", "readlink"):
        setattr(os, name, bare(getattr(os, name), "/dev"))
    for name in ("stat", "open"):
        setattr(os, name, bare(getattr(os, name), "/dev", sys.argv[1]))
    from pybtf.elf.atomic import require_writable, write_file
    require_writable("/dev/stdout")
    write_file("/dev/stdout", b"new")
    write_file(sys.argv[1], b"er")
    """
    link = tmp_path / "link"
    link.symlink_to("/dev/stdout")
    command = [sys.executable, "-c", textwrap.dedent(script), str(link)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"newer"


def test_reader_that_went_away() -> None:
    read, write = os.pipe()
    os.close(read)
    with pytest.raises(OutputError, match="the reader at the other end is gone"):
        write_file(f"/dev/fd/{write}", NEW)
    os.close(write)


# The beginning of a child that gets a signal. A parent in the background may ignore signals, and children inherit that.
PRELUDE = """
import errno, os, signal, sys, time
for number in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
from pybtf.elf import atomic
if sys.argv[2] == "named":
    def refuse(folder, mode):
        raise OSError(errno.EOPNOTSUPP, "not here")
    atomic.open_unnamed = refuse
"""

SLOW = f"""{PRELUDE}
def pieces():
    yield b"half"
    print("half", flush=True)
    for _ in range(6000):
        time.sleep(0.01)  # a signal that comes just before one of them is handled after it
atomic.write_file(sys.argv[1], pieces())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_signals_leave_nothing(tmp_path: Path, way: str, number: signal.Signals) -> None:
    out = tmp_path / "out"
    out.write_bytes(OLD)
    child = python(SLOW, out, Path(way))
    assert child.stdout is not None
    assert child.stdout.readline() == "half\n"
    temporaries = [name for name in names(tmp_path) if name != "out"]
    assert len(temporaries) == (way == "named")
    child.send_signal(number)
    child.communicate()
    assert child.returncode == -number
    assert out.read_bytes() == OLD
    if (way, number) == ("named", signal.SIGKILL):
        assert names(tmp_path) == sorted(["out", *temporaries])  # unavoidable, but its name is recognisable
        assert temporaries[0].startswith(".out.pybtf-")
    else:
        assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("call", ["link", "rename"])
def test_signals_between_link_and_rename_leave_nothing(
    tmp_path: Path, way: str, call: str, number: signal.Signals
) -> None:
    script = f"""{PRELUDE}
real = getattr(os, sys.argv[3])
def late(*arguments, **options):
    real(*arguments, **options)
    os.kill(os.getpid(), int(sys.argv[4]))
setattr(os, sys.argv[3], late)
atomic.write_file(sys.argv[1], b"new")
"""
    if (call, way) == ("link", "named"):
        pytest.skip("a named file needs no link")
    out = tmp_path / "out"
    out.write_bytes(OLD)
    child = python(script, out, Path(way), Path(call), Path(str(int(number))))
    child.communicate()
    assert child.returncode == -number
    assert out.read_bytes() == b"new"
    assert names(tmp_path) == ["out"]


def test_handlers_of_the_caller_stay(tmp_path: Path) -> None:
    handler = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        write_file(tmp_path / "out", NEW)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert signal.getsignal(signal.SIGHUP) in (signal.SIG_DFL, signal.SIG_IGN)


def test_killed_at_any_moment(tmp_path: Path) -> None:
    script = """
    import sys
    from pybtf.elf.atomic import write_file
    print("ready", flush=True)
    while True:
        for letter in b"ab":
            write_file(sys.argv[1], [bytes([letter])] * 100_000, durable=False)
    """
    out = tmp_path / "out"
    write_file(out, b"a" * 100_000)
    for round_ in range(8):
        child = python(script, out)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.013 * round_)
        child.kill()
        child.communicate()
        assert out.read_bytes() in (b"a" * 100_000, b"b" * 100_000)
    assert len(names(tmp_path)) <= 2  # a kill between link and rename is possible, twice in 8 is not


@pytest.mark.usefixtures("way")
def test_file_size_limit(tmp_path: Path) -> None:
    import resource

    out = tmp_path / "out"
    out.write_bytes(OLD)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))
    try:
        with pytest.raises(OutputError, match="larger than the limit"):
            write_file(out, NEW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert out.read_bytes() == OLD
    assert names(tmp_path) == ["out"]


def test_full_disk(tmp_path: Path) -> None:
    need("unshare", "mount")
    command = "mount -t tmpfs -o size=64k tmpfs . && cd . && cd \"$PWD\" && exec \"$@\""
    script = """
    import os, sys
    from pybtf.elf.atomic import write_file
    from pybtf.errors import OutputError
    print("mounted", flush=True)
    write_file("out", b"o" * 20_000)
    try:
        write_file("out", [b"n" * 10_000] * 10)
    except OutputError as error:
        print(error)
    assert open("out", "rb").read() == b"o" * 20_000
    print(os.listdir("."))
    """
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", command, "sh", sys.executable, "-c", textwrap.dedent(script)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env=environment(),
    )  # fmt: skip
    if not done.stdout.startswith("mounted"):
        pytest.skip(f"no private mounts here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert "out: cannot be written: the disk is full." in done.stdout
    assert done.stdout.endswith("['out']\n")


def test_a_folder_that_nobody_may_write_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifo that is there is written to as it is; a file can be neither made nor replaced."""
    (tmp_path / "there").touch()
    monkeypatch.setattr(os, "access", lambda path, *_, **__: path == str(tmp_path / "there"))
    os.mkfifo(tmp_path / "fifo")
    require_writable(str(tmp_path / "fifo"))
    with pytest.raises(OutputError, match="no permission to write in"):
        require_writable(str(tmp_path / "there"))
    with pytest.raises(OutputError, match="no permission to write in"):
        require_writable(str(tmp_path / "new"))
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    with pytest.raises(OutputError, match="the filesystem is read-only"):
        require_writable(str(tmp_path / "new"))


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """The message names the nearest existing folder."""
    text = not_written(str(tmp_path / "store" / "e5" / "values"), PermissionError(errno.EACCES, ""))
    assert f"no permission to write in {tmp_path.resolve()}. " in text
