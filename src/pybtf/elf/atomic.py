"""Writing a file so that nobody ever meets half of it.

The problem: a build that is interrupted (Ctrl-C, kill -9, a full disk, a dead machine) must find either the
old file or the new one, whole. Writing into the target cannot give that. So the bytes go to a new file on the
same filesystem, and one `rename` puts it in the place of the old one; to all others that step is atomic.

*A file without a name.* The new file is opened with O_TMPFILE where the filesystem can (ext4, xfs, btrfs,
tmpfs, overlayfs): it has no name, so whatever kills the process, the kernel reclaims it and nothing is left
behind. `linkat` gives it a name at the end: that of the target, if there is no such file. But `linkat` never
replaces an existing file, and unlinking the target first would leave a moment with no file at all. So it is
then linked under a temporary name beside the target and renamed from there, while Ctrl-C, SIGTERM and SIGHUP
have to wait: a kill -9 in the microseconds between can leave a complete `.NAME.pybtf-*`, and never a damaged
target. Where O_TMPFILE (or /proc, which `linkat` needs) is missing, NFS for one, the file has that temporary
name from the start; exceptions, Ctrl-C, SIGTERM and SIGHUP remove it, kill -9 cannot.

*fsync.* A rename may reach the disk before the data it publishes (XFS, ext4 without `auto_da_alloc`), so a
power cut could leave an empty file where a good one was; and network or quota-limited filesystems may report
"no space" only when data is forced out, which must be before the rename. So the data is synchronised first.
The folder is not: a lost rename leaves the old file, which is one of the two allowed results.
`durable=False` omits this for what can be made again: detached files, and everything in a build, where each of
thousands of modules would wait for the disk.

*Whose file, which mode.* A new file gets 0666 less the umask, as from any compiler (the kernel applies it,
and default ACLs too: reading the umask would mean setting it). A replaced file keeps mode, owner, group and
extended attributes, ACLs among them. An owner or group that it may not be given to, or that has no number in this
user namespace, is not kept, and set-user-id and set-group-id bits then go, as on `chown`. Capabilities and
integrity hashes go too, as on any write: they vouch for the old bytes. A file that may not be written to is
refused, although the rename would work: write protection means the contents. Only of a file that was made a
moment ago for us to complete it does not: ccache write-protects what it links from its cache.

*What is written to directly.* Devices, fifos and sockets have no contents to protect and must not be replaced
by a file. The same holds for /dev/stdout, /dev/fd/N and the like, whatever is behind them: the descriptor
was passed to us to be written to. A bare chroot has no /dev/stdout, where a file of that name would be made;
so that name means descriptor 1 wherever it leads. Symbolic links are followed: the file at their end is
replaced, and they remain. Other hard links to a replaced file keep the old contents; see `writer.py`.
"""

# ruff: noqa: PTH110, PTH112, PTH114, PTH115, PTH116, PTH118, PTH119, PTH120
# Descriptor-relative calls have no pathlib form, and pathlib drops the final slash that means "a folder".

from __future__ import annotations

import errno
import os
import stat

from pybtf.core.support.end_signals import EndSignalsHeld
from pybtf.errors import OutputError
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import system_reason
from pybtf.support.records import record

if TYPE_CHECKING:
    import signal as signals
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType, TracebackType
    from typing import Final
else:
    import _signal as signals  # `signal` imports `enum`, which takes a tenth of the start

Bytes = bytes | bytearray | memoryview

_PRIVATE_MODE: Final = 0o600
_USUAL_MODE: Final = 0o666
_NAME_MAX: Final = 255
_MAX_LINKS: Final = 40
# Attributes that vouch for the contents; the kernel itself drops the first on every write.
_CONTENT_XATTRS: Final = frozenset({"security.capability", "security.ima", "security.evm"})
_ACL: Final = "system.posix_acl_access"
_SEALS: Final = (("i", 0x10), ("a", 0x20))
# Descriptors by name.
_STREAMS: Final = {"/dev/stdout": 1, "/dev/stderr": 2}
_STREAM_NAMES: Final = {"/dev/stdout": "standard output", "/dev/stderr": "standard error"}
_NO_TMPFILE: Final = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.ENOSYS})
_NOT_GIVEN_AWAY: Final = frozenset({errno.EPERM, errno.EINVAL})


def write_file(
    path: str | os.PathLike[str],
    content: Bytes | Iterable[Bytes] | Callable[[Callable[[Bytes], object]], object],
    *,
    like: os.stat_result | None = None,
    durable: bool = True,
) -> int:
    """Make `content` (bytes, pieces of it in order, or what calls its argument with each) the contents of the file
    `path`, all or nothing.

    A file that exists keeps mode and owner; a new one gets those of `like` if given, else the usual ones.
    Returns the number of bytes. Raises `OutputError`; a regular file is then as it was, and no other left.
    """
    name = os.fspath(path)
    if "\0" in name:
        raise OutputError(f"{name}: cannot be written: a null byte in its name")
    with explained(name):
        there = _look(name)
        if there.vacant and like is None and isinstance(content, Bytes):
            written = _write_new(name, content, durable)
            if written is not None:
                return written
            there = _look(name)
        direct = None if there.plain is not None or there.vacant else _open_direct(name)
        if direct is not None:
            with _Descriptor(direct) as device:
                return _write_content(device.fd, content)
    with Replacement(name, like=like, durable=durable, there=there) as new:
        with explained(name):
            written = _write_content(new.fd, content)
        new.publish()
    return written


def _write_new(path: str, data: Bytes, durable: bool) -> int | None:
    """`write_file` where there is nothing, as mostly in a build: what a `Replacement` does, without one. None if
    that is not possible here, or no longer. Raises `OSError`.
    """
    folder, slash, _ = path.rpartition("/")
    try:
        fd = open_unnamed(folder + slash or ".", _USUAL_MODE)
    except OSError as error:
        if error.errno in _NO_TMPFILE:
            return None
        raise
    try:
        written = write_all(fd, data)
        _sync(fd, durable)
        return written if _link_unnamed(fd, path) else None
    finally:
        os.close(fd)


def _write_content(fd: int, content: Bytes | Iterable[Bytes] | Callable[[Callable[[Bytes], object]], object]) -> int:
    """What `write_file` is given, at the position of `fd`. How many bytes that are. Raises `OSError`."""
    if isinstance(content, Bytes):
        return write_all(fd, content)
    if not callable(content):
        return sum(write_all(fd, piece) for piece in content)
    sizes = [0]

    def put(piece: Bytes) -> None:
        sizes[0] += write_all(fd, piece)

    content(put)
    return sizes[0]


def write_all(fd: int, data: Bytes) -> int:
    """Write all of `data` at the position of `fd`; returns its length in bytes. Raises `OSError`."""
    view = memoryview(data).cast("B")
    total, done = len(view), 0
    while done < total:
        done += os.write(fd, view[done:] if done else view)
    return total


class Replacement:
    """A file in the making that takes the place of `path` when `publish` is called, and vanishes otherwise.

    Use as a context manager. `fd` is open for reading and writing; `target` is where a symbolic link leads, or
    the path. `old` is the stat of the file to be replaced, or None. `disowned`: what was published has not the owner or
    group of that one. All methods raise `OutputError`.
    """

    named = 0
    """How many of all in this process have a temporary name from the start: the process must not end at once."""

    def __init__(
        self,
        path: str,
        *,
        like: os.stat_result | None = None,
        durable: bool = True,
        advice: str = "",
        there: _There | None = None,
        protected: bool = False,
    ) -> None:
        """`there`: what is at `path`, if somebody has looked. `protected`: our own file is replaced even if it is
        write-protected; it stays so.
        """
        self.path = path
        self._durable = durable
        self._advice = advice
        self._link: str | None = None  # the temporary name, while there is one
        self._folder_fd = -1
        self._named = False
        self.fd = -1
        self.disowned = False
        with explained(path, advice):
            there = there or _look(path)
            self.old = there.plain
            self.target = path
            if self.old is None and not there.vacant:
                self.old = _stat_or_none(path)
                if os.path.islink(path):
                    self.target = os.path.realpath(path)
            if self.old is not None:
                _check_replaceable(self.old, path, advice, protected)
        self._like = self.old or like
        self._signals = EndSignals(self._discard)

    def __enter__(self) -> Replacement:
        try:
            with explained(self.path, self._advice):
                folder = os.path.dirname(self.target) or "."
                self._folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                self._open(folder)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def publish(self) -> None:
        """Give the file its attributes, force it to the disk, and put it in the place of the target."""
        with explained(self.path, self._advice):
            if self._like is not None:
                self._copy_attributes(self._like)
            _sync(self.fd, self._durable)
            if self._link is not None:
                self._rename()
            elif self.old is not None or not self._link_as(os.path.basename(self.target)):
                with EndSignalsHeld():
                    self._link_in()
                    self._rename()

    def _rename(self) -> None:
        """Put the file in the place of the target."""
        assert self._link is not None
        here = self._folder_fd
        os.rename(self._link, os.path.basename(self.target), src_dir_fd=here, dst_dir_fd=here)
        self._link = None

    def _open(self, folder: str) -> None:
        """Open the new file, without a name if that is possible."""
        mode = _USUAL_MODE if self._like is None else _PRIVATE_MODE
        try:
            self.fd = open_unnamed(folder, mode)
        except OSError as error:
            if error.errno not in _NO_TMPFILE:
                raise
            self._signals.catch()
            Replacement.named += 1
            self._named = True
            for name in _temporary_names(self.target):
                with suppressed(FileExistsError):
                    self._link = name  # before it exists: a signal may come right after
                    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                    self.fd = os.open(name, flags, mode, dir_fd=self._folder_fd)
                    return
                self._link = None

    def _link_in(self) -> None:
        """Give the nameless file a temporary name in the folder of the target."""
        for name in _temporary_names(self.target):
            self._link = name  # before it exists: an exception may come right after
            if self._link_as(name):
                return
            self._link = None

    def _link_as(self, name: str) -> bool:
        """Give the nameless file this name in the folder of the target. False: it is taken."""
        return _link_unnamed(self.fd, name, self._folder_fd)

    def _copy_attributes(self, like: os.stat_result) -> None:
        mode = stat.S_IMODE(like.st_mode)
        try:
            os.fchown(self.fd, like.st_uid, like.st_gid)
        except OSError as error:
            if error.errno not in _NOT_GIVEN_AWAY:
                raise
            mode &= ~(stat.S_ISUID | stat.S_ISGID)
            with suppressed(OSError):
                os.fchown(self.fd, -1, like.st_gid)
            self.disowned = True
        if self.old is not None:
            _copy_xattrs(self.target, self.fd)
        os.fchmod(self.fd, mode)  # last: fchown clears the set-id bits, and ACLs write the group's

    def _discard(self) -> None:
        """Remove the temporary name. Never raises; safe to call at any moment, also from a signal handler."""
        link = self._link
        if link is not None:
            with suppressed(OSError):
                os.unlink(link, dir_fd=self._folder_fd)
        self._link = None

    def _close(self) -> None:
        self._discard()
        for fd in (self.fd, self._folder_fd):
            if fd >= 0:
                with suppressed(OSError):
                    os.close(fd)
        self.fd = self._folder_fd = -1
        Replacement.named -= self._named
        self._named = False
        self._signals.release()


class EndSignals:
    """While caught, SIGTERM, SIGHUP and an unhandled SIGINT first call `clean`, then end the process.

    Only what still has its default action is caught, and only in the main thread: Python allows no other.
    """

    def __init__(self, clean: Callable[[], None]) -> None:
        self._clean = clean
        self._caught: list[int] = []

    def catch(self) -> None:
        for number in (signals.SIGTERM, signals.SIGHUP, signals.SIGINT):
            if signals.getsignal(number) == signals.SIG_DFL:
                try:
                    signals.signal(number, self._end)
                except ValueError:  # not the main thread
                    return
                self._caught.append(number)

    def release(self) -> None:
        while self._caught:
            signals.signal(self._caught.pop(), signals.SIG_DFL)

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._clean()
        signals.signal(number, signals.SIG_DFL)
        os.kill(os.getpid(), number)


class _Descriptor:
    """A descriptor for the length of a block. Errors of the close are reported, not swallowed."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __enter__(self) -> _Descriptor:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)


class suppressed:
    """`contextlib.suppress`, whose import takes as long as to write a file."""

    def __init__(self, kind: type[OSError]) -> None:
        self._kind = kind

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> bool:
        return kind is not None and issubclass(kind, self._kind)


def open_unnamed(folder: str, mode: int) -> int:
    """A new file in `folder` that has no name. Raises `OSError` where there is no such thing."""
    if not _has_proc():
        raise OSError(errno.EOPNOTSUPP, "no /proc, so it could never get a name")
    return os.open(folder, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, mode)


def _sync(fd: int, durable: bool) -> None:
    """Meet what errors there are with what was written. Raises `OSError`."""
    if durable:
        os.fsync(fd)
    os.close(os.dup(fd))  # a filesystem that writes late reports its errors here


def _link_unnamed(fd: int, path: str, folder_fd: int | None = None) -> bool:
    """Give a file that has no name this one. False: it is taken. Raises `OSError`."""
    try:
        # With `src_dir_fd` Python calls linkat(AT_SYMLINK_FOLLOW); without, it links the symlink.
        os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=fd, dst_dir_fd=folder_fd)
    except FileExistsError:
        return False
    return True


def _has_proc() -> bool:
    return os.path.exists("/proc/self/fd")


def replaces_elf(path: str) -> bool:
    """Whether an ELF file, or a link to one, is where a file is to be written: it may be worth a second look."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return os.read(fd, 4) == b"\x7fELF"
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return False


class explained:
    """A block in which an `OSError` becomes an `OutputError` for `path` that says what to do."""

    def __init__(self, path: str, advice: str = "") -> None:
        self._path = path
        self._advice = advice

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise OutputError(not_written(self._path, error, self._advice)) from error


def require_writable(path: str, advice: str = "") -> None:
    """Raise `OutputError` if a file that is to be written later has no folder, one that nobody may write to, or a
    name that is taken by what cannot be replaced.
    """
    if _own_descriptor(path) is not None:
        return
    with explained(path, advice):
        old = _stat_or_none(path)
        folder = os.path.dirname(os.path.realpath(path)) or "."
        if not os.path.isdir(folder):
            raise OSError(errno.ENOTDIR if os.path.exists(folder) else errno.ENOENT, "")
        if old is not None and stat.S_IFMT(old.st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
            return
        if old is not None:
            _check_replaceable(old, path, advice, protected=False)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OSError(errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES, "")


def not_written(path: str, error: OSError, advice: str = "") -> str:
    """The message for a file that cannot be written: why, and what to do."""
    folder = os.path.dirname(os.path.realpath(path)) or "."
    number = error.errno
    what, hint = os.strerror(number) if number else str(error), advice
    if number == errno.ENOENT and not os.path.isdir(folder):
        what, hint = f"the folder {folder} does not exist", "Create it first, or name another place."
    elif number == errno.EISDIR:
        what, hint = "this is a folder", "Name a file."
    elif number == errno.ENOTDIR:
        what, hint = "part of this path is not a folder", "Check the path."
    elif number in (errno.EACCES, errno.EPERM):
        flag = _sealed(path)
        while not os.path.exists(folder) and os.path.dirname(folder) != folder:  # that of a folder that cannot be made
            folder = os.path.dirname(folder)
        what = f"it has the attribute {flag}" if flag else f"no permission to write in {folder}"
        hint = advice or "Name a place you may write to."
        hint = f"Clear the attribute with `chattr -{flag} FILE`. {hint}" if flag else hint
    elif number == errno.EROFS:
        what, hint = "the filesystem is read-only", advice or "Name another place."
    elif number in (errno.ENOSPC, errno.EDQUOT):
        what = "the disk is full" if number == errno.ENOSPC else "the disk quota is used up"
        hint = f"Free some space. {advice or ('' if path in _STREAMS else 'Or name another place.')}".rstrip()
    elif number == errno.EFBIG:
        what = "the file would be larger than the limit for this process or filesystem"
        hint = "See `ulimit -f`."
    elif number in (errno.EMFILE, errno.ENFILE):
        what, hint = system_reason(error), ""
    elif number == errno.EPIPE:
        what, hint = "the reader at the other end is gone", ""
    elif number == errno.EBADF and path in _STREAMS:
        what, hint = "it is closed", ""
    return f"{_STREAM_NAMES.get(path, path)}: cannot be written: {what}." + (f" {hint}" if hint else "")


def _stat_or_none(path: str) -> os.stat_result | None:
    """The stat of what `path` leads to, or None if it may be made. Other failures stay `OSError`."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        if not path or path.endswith("/"):
            raise IsADirectoryError(errno.EISDIR, "names a folder", path) from None
        return None


def _check_replaceable(old: os.stat_result, path: str, advice: str, protected: bool) -> None:
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder", path)
    if not stat.S_ISREG(old.st_mode):
        raise OutputError(f"{path}: is not a regular file, and so cannot be replaced.")
    if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            raise OSError(errno.EROFS, "read-only", path)
        if _sealed(path):
            raise OSError(errno.EPERM, "sealed", path)
        if os.geteuid() not in (0, old.st_uid):
            hint = advice or "Name another file."
            raise OutputError(f"{path}: cannot be written: it belongs to {_user(old.st_uid)}. {hint}")
        if protected:
            return
        hint = f"Allow it (chmod u+w). {advice or 'Or name another file.'}"
        raise OutputError(f"{path}: cannot be written: it is write-protected. {hint}")


def _user(id: int) -> str:
    import pwd

    try:
        return f"the user {pwd.getpwuid(id).pw_name}"
    except KeyError:
        return f"user {id}"


def _sealed(path: str) -> str:
    """`i` of a file that is immutable, `a` of one that can be appended to only (see chattr), else nothing."""
    import fcntl
    from array import array

    flags = array("l", [0])
    request = 2 << 30 | flags.itemsize << 16 | ord("f") << 8 | 1  # FS_IOC_GETFLAGS
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            fcntl.ioctl(fd, request, flags)
        finally:
            os.close(fd)
    except OSError:
        return ""
    return next((letter for letter, bit in _SEALS if flags[0] & bit), "")


@record(frozen=True)
class _There:
    """What is at a path, as far as one look tells. Mostly that is all there is to know."""

    plain: os.stat_result | None
    """The stat of a regular file, not behind a link."""
    vacant: bool
    """There is nothing, and the path is neither that of a folder nor of one of our descriptors."""


_NOTHING: Final = _There(None, True)
_UNCLEAR: Final = _There(None, False)


def _look(path: str) -> _There:
    if path in _STREAMS:
        return _UNCLEAR
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        name = path.rpartition("/")[2]
        return _NOTHING if name != "" and not name.isdecimal() else _UNCLEAR
    except OSError:
        return _UNCLEAR
    return _There(found if stat.S_ISREG(found.st_mode) else None, False)


def _open_direct(path: str) -> int | None:
    """A descriptor for what must be written to as it is (see the head of this file), or None for a file."""
    own = _own_descriptor(path)
    if own is not None:
        return os.dup(own)
    old = _stat_or_none(path)
    if old is None or stat.S_ISREG(old.st_mode) or stat.S_ISDIR(old.st_mode):
        return None
    return os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)


def _own_descriptor(path: str) -> int | None:
    """N if `path` leads through /dev/stdout, /dev/fd/N, /proc/self/fd/N or such to our descriptor N."""
    with suppressed(OSError):
        for _ in range(_MAX_LINKS):
            if path in _STREAMS:
                return _STREAMS[path]
            folder, name = os.path.split(path)
            if name.isdecimal() and os.path.realpath(folder or ".") == os.path.realpath("/proc/self/fd"):
                return int(name)
            path = os.path.join(folder, os.readlink(path))  # an error if it is not a link
    return None


def _temporary_names(target: str) -> Iterator[str]:
    """Names for a temporary beside `target`: hidden, recognisable, short enough, never the same twice."""
    base = os.path.basename(target)
    while True:
        tail = f".pybtf-{os.urandom(6).hex()}"
        stem = os.fsencode(base)[: _NAME_MAX - len(tail) - 1]
        yield f".{os.fsdecode(stem)}{tail}"


def _copy_xattrs(path: str, fd: int) -> None:
    """Give `fd` the extended attributes of `path`, as far as this process may set them here."""
    try:
        names = os.listxattr(path)
    except OSError:
        return
    with suppressed(OSError):
        if _ACL in os.listxattr(fd):  # what the folder's default ACL gave it
            os.removexattr(fd, _ACL)
    for name in names:
        if name not in _CONTENT_XATTRS:
            with suppressed(OSError):
                os.setxattr(fd, name, os.getxattr(path, name))
