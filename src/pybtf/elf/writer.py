"""Putting sections into an ELF file in place: `.BTF`, and `.BTF.base` for modules built on their own.

"In place" is what the user sees. What happens is: the old file is read, the new one is laid out (`plan.py`),
written beside it and renamed over it (`atomic.py`). So an interruption at any moment leaves the old file or
the new one. Both are complete; there is no third state.

*Why the whole file is written again.* A vmlinux has 600 MB and its BTF 5. Appending the BTF and a new section
table, and then replacing the 64 bytes of the header, would write 1 % of that, and a process killed in between
would leave a file that still works. But it would not be the old file: it would have grown by a tail that
nobody mentions, once for each failed attempt; and a process that has the file mapped would see it change.
The copy costs less than it seems: `copy_file_range` copies inside the kernel, may share the blocks where the
filesystem can (btrfs, xfs), and elsewhere runs at the speed of the page cache, where the file is anyhow,
because it has just been decoded. Measured on ext4, 259 MB, idle machine: 0.3 s, of which the fsync 0.1 s;
587 MB on a busy one: 3.0 to 3.6 s, 2.0 to 2.8 without fsync, against 10.7 s of `objcopy --add-section`.

*Hard links.* Renaming replaces one name. Other names of the same file keep the old contents, complete. That
is deliberate: where hard links meet build outputs, they are caches and snapshots (`ccache` with hard links,
`cp -al`), and a write through the link would corrupt them. `Written.other_links` lets the caller say so.

*Somebody else writes too.* The caller may pass the stat of the file it decoded; if that is not the file found
here, or if it changes while it is copied, nothing is written. A change in the last moment before the rename
cannot be excluded without a lock that no other tool would honour.
"""

# ruff: noqa: PTH116
# os.stat and os.fstat give the same record, for a path and for a descriptor, and the two are compared here.

from __future__ import annotations

import errno
import os
import stat

from pybtf.elf.atomic import Bytes, Replacement, explained, require_writable
from pybtf.elf.outline import Outline, read_exactly, read_outline
from pybtf.elf.plan import DETACHED_ADVICE, Plan, is_current, make_plan
from pybtf.errors import InputError, OutputError, Place
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Final

# Between two calls Python can act on a signal, so not the whole file at once; a multiple of every block size.
_COPY_CHUNK: Final = 64 << 20
_READ_CHUNK: Final = 1 << 20
_ZEROS: Final = bytes(_READ_CHUNK)
# What a signed kernel module ends with, after its signature (MODULE_SIG_STRING in the kernel's module_signature.h).
_SIGNED: Final = b"~Module signature appended~\n"
_CANNOT_COPY: Final = frozenset(
    {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF}
)


@record(frozen=True)
class Written:
    """What `put_sections` did. Sizes in bytes.

    `placed` maps each section to "added", "in place", "moved" or "unchanged"; `changed` is False if the file
    held just these sections already. `other_links` counts hard links that keep the old contents. `stale` names sections
    of the file that refer to contents which were replaced. `signed`: it was a module with a signature, which the new
    contents make void. `disowned`: it has another owner or group than before.
    """

    path: str
    placed: dict[str, str]
    changed: bool
    size: int
    other_links: int
    stale: tuple[str, ...] = ()
    signed: bool = False
    disowned: bool = False


def put_sections(
    path: str | os.PathLike[str],
    sections: Mapping[str, Bytes],
    *,
    expect: os.stat_result | None = None,
    durable: bool = True,
    unfit: Mapping[str, str] | None = None,
    tied: Collection[str] = (),
) -> Written:
    """Make each of `sections` (contents by name) a section of the ELF file `path`, all of them or none.

    The file keeps mode, owner and extended attributes, and gets a new modification time, also if it held the
    sections already. `expect` is the stat of the file the sections were made from. `durable=False` leaves out
    the fsync. `unfit` has the names of sections that would not fit the new ones, and why; `tied` those that would
    not either, and are only told. Raises `InputError` if the
    file is missing, no ELF, or damaged; `OutputError` if it is not the expected one, if it has an unfit section, if a
    section cannot be put in without breaking it, or if it cannot be written.
    """
    name = os.fspath(path)
    with _Source(name, expect) as source:
        outline = read_outline(name, source.fd, source.stat.st_size)
        for section, why in (unfit or {}).items():
            if section not in sections and outline.find(section.encode()) is not None:
                raise OutputError(f"{name}: {why}")
        if is_current(outline, sections):
            with explained(name, DETACHED_ADVICE):
                os.utime(source.fd)
            return Written(name, dict.fromkeys(sections, "unchanged"), False, outline.size, 0)
        plan = make_plan(outline, sections)
        signed = outline.size > len(_SIGNED) and outline.read(outline.size - len(_SIGNED), len(_SIGNED)) == _SIGNED
        with Replacement(name, durable=durable, advice=DETACHED_ADVICE) as new:
            _copy(source, new, plan.keep)
            with explained(name, DETACHED_ADVICE):
                _apply(new.fd, plan)
            source.check_unchanged()
            new.publish()
    stale = tuple([each for each in tied if outline.find(each.encode()) is not None])
    return Written(name, plan.placed, True, plan.size, source.stat.st_nlink - 1, stale, signed, new.disowned)


def require_replaceable(path: str) -> None:
    """Raise `OutputError` if `.BTF` could not be put into the ELF file `path`, as far as permissions tell: before there
    is work that would be for nothing. A file that has BTF may get the same again, and nothing is written then. What is
    no ELF file is an error of those who read it.
    """
    try:
        require_writable(path, DETACHED_ADVICE)
    except OutputError:
        if _is_without_btf(path):
            raise


def _is_without_btf(path: str) -> bool:
    """Whether it is an ELF file that has no `.BTF`."""
    try:
        with _Source(path, None) as source:
            return read_outline(path, source.fd, source.stat.st_size).find(b".BTF") is None
    except InputError:
        return False


def rewrite(
    path: str | os.PathLike[str],
    make: Callable[[Outline], bytes],
    *,
    expect: os.stat_result | None = None,
    durable: bool = True,
    protected: bool = False,
) -> None:
    """Replace an ELF file by what `make` makes of it, at once. The same is kept, and raised, as by `put_sections`;
    `protected` as for `Replacement`.
    """
    name = os.fspath(path)
    with _Source(name, expect) as source:
        _replace(source, make(read_outline(name, source.fd, source.stat.st_size)), durable, protected)


def replace_contents(path: str, content: Bytes, *, expect: os.stat_result, durable: bool = True) -> None:
    """Replace what is in a file of any kind, at once, if it is as it was. The same is kept as by `put_sections`. Raises
    `OutputError`, also if another file has its name now.
    """
    with _Source(path, expect) as source:
        _replace(source, content, durable)


def _replace(source: _Source, content: Bytes, durable: bool, protected: bool = False) -> None:
    with Replacement(source.path, durable=durable, protected=protected) as new:
        with explained(source.path):
            _write_at(new.fd, 0, content)
        source.check_unchanged()
        new.publish()


class _Source:
    """The file as it was found: a descriptor that keeps it, and its stat to recognise changes."""

    def __init__(self, path: str, expect: os.stat_result | None) -> None:
        self.path = path
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):  # before open(), which waits on a fifo
                raise InputError(Place(path), "is not a regular file", "an ELF file")
            self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            from pybtf.unreadable import unreadable

            raise unreadable(path, error, "an ELF file") from error
        self.stat = os.fstat(self.fd)
        if expect is not None and _version(expect) != _version(self.stat):
            self.close()
            raise OutputError(_changed(path))

    def check_unchanged(self) -> None:
        """Raise `OutputError` if the file was written to, or another one has its name now."""
        try:
            now = os.stat(self.path)
        except OSError as error:
            raise OutputError(_changed(self.path)) from error
        if not _version(self.stat) == _version(os.fstat(self.fd)) == _version(now):
            raise OutputError(_changed(self.path))

    def close(self) -> None:
        os.close(self.fd)

    def __enter__(self) -> _Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _version(found: os.stat_result) -> tuple[int, int, int, int]:
    """What differs once a file was written to or replaced. Not ctime: a chmod does not change the contents."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _changed(path: str) -> str:
    return f"{path}: has changed since it was read; not written. Run again."


def _copy(source: _Source, new: Replacement, size: int) -> None:
    """Copy the first `size` bytes into the new file, inside the kernel as far as it can."""
    with explained(new.path, DETACHED_ADVICE):
        done = _copy_in_kernel(source.fd, new.fd, size)
        while done < size:
            piece = read_exactly(source.path, source.fd, done, min(_READ_CHUNK, size - done))
            _write_at(new.fd, done, piece)
            done += len(piece)


def _copy_in_kernel(source: int, new: int, size: int) -> int:
    """Copy up to `size` bytes with copy_file_range; returns how many the filesystem could copy that way."""
    done = 0
    while done < size:
        try:
            copied = os.copy_file_range(source, new, min(_COPY_CHUNK, size - done), done, done)
        except OSError as error:
            if error.errno not in _CANNOT_COPY:
                raise
            break
        if not copied:  # some filesystems say so instead of raising
            break
        done += copied
    return done


def _apply(fd: int, plan: Plan) -> None:
    """Turn the copy into the planned file."""
    os.ftruncate(fd, plan.size)
    for start, stop in plan.zeros:
        for at in range(start, stop, _READ_CHUNK):
            _write_at(fd, at, _ZEROS[: stop - at])
    for offset, content in plan.patches:
        _write_at(fd, offset, content)


def _write_at(fd: int, offset: int, content: Bytes) -> None:
    left = memoryview(content).cast("B")
    while len(left):
        written = os.pwrite(fd, left, offset)
        left, offset = left[written:], offset + written
