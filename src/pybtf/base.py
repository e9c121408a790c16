"""The BTF that other BTF is built on: a kernel's, for its modules."""

from __future__ import annotations

import os

from pybtf.arguments import check_data, check_text, path_of
from pybtf.btf.files import read_base
from pybtf.core.dedup.base import Base as Index
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import cached_property

if TYPE_CHECKING:
    from threading import Thread

    from pybtf.btf.reader import BTF
    from pybtf.support.timings import Timings


class Base:
    """The BTF of a kernel, read and indexed once, for any number of encodings of its modules, also at the same time.

    It does not change, and costs about four times the size of the BTF in memory, what one encoding needs of it
    included, and twice the size more for each further one at one time. `path` is where it comes from, `little` its byte
    order; `len()` counts its types.
    """

    def __init__(self, index: Index, path: str, file: str | None = None) -> None:
        """`file`: the file that all of it is from, if there is one."""
        self.index = index
        self.path = path
        self._file = file

    @classmethod
    def from_file(cls, path: str | bytes | os.PathLike[str]) -> Base:
        """From an ELF file with a section `.BTF`, or a file of raw BTF such as `/sys/kernel/btf/vmlinux`. The file may
        be compressed as a whole (gzip, xz, zstd).

        Raises `InputError` if the file cannot be read or its BTF is damaged.
        """
        return cls._read(path, once=False)

    @classmethod
    def _read(cls, path: str | bytes | os.PathLike[str], *, once: bool) -> Base:
        data, place = read_base(path)
        file = path_of(path)
        return cls(Index(data, str(place), once), file, file)

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "base BTF") -> Base:
        """From raw BTF. `name` is what messages call it. Raises `InputError`."""
        check_data(data)
        check_text(name, "name")
        return cls(Index(data, name), name)

    @property
    def little(self) -> bool:
        return self.index.little

    @cached_property
    def release(self) -> str | None:
        """The release of the kernel, `6.1.0-50-amd64`, if the file it is from says it: an ELF file, or the BTF of the
        running kernel.
        """
        from pybtf.btf.files import read_release

        return read_release(self._file) if self._file is not None else None

    @cached_property
    def btf(self) -> BTF:
        """The same BTF, opened for reading."""
        from pybtf.btf.reader import BTF  # not needed for encoding, and it takes a while to import

        return BTF.from_bytes(self.index.data, name=self.path)

    def __repr__(self) -> str:
        return f"<Base {self.path}: {len(self)} types>"

    def __len__(self) -> int:
        return len(self.index)

    def __bool__(self) -> bool:
        return True  # also without types


class Opening:
    """A base that is read while the program does something else: `result` waits for it.

    Reading and indexing one takes two hundredths of a second, nearly all of it in compiled code, without the lock of
    the interpreter. That is as long as finding the files of a batch and importing what encodes them.
    """

    def __init__(self, base: str | Base | None) -> None:
        self._base = base
        self._error: BaseException | None = None
        self._thread: Thread | None = None
        if isinstance(base, str):
            from threading import Thread

            self._thread = Thread(target=self._read, args=(base,), name="pybtf-base", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # the system allows no more
                self._thread = None

    def _read(self, path: str) -> None:
        try:
            self._base = Base.from_file(path)
        except BaseException as error:
            self._error = error

    def result(self, timings: Timings) -> Base | None:
        """The base, None if none was asked for. The pass `base`. Raises as `Base.from_file`."""
        if self._thread is None:
            return open_base(self._base, timings)
        with timings.pass_("base"):
            self._thread.join()
        if self._error is not None:
            raise self._error
        assert not isinstance(self._base, str)
        return self._base


def open_base(base: str | Base | None, timings: Timings, *, once: bool = False) -> Base | None:
    """The base that was asked for, read if it is given as a path: the pass `base`. Raises as `Base.from_file`.

    `once`: for one encoding. What pays off in several is then left out.
    """
    if not isinstance(base, str):
        return base
    with timings.pass_("base"):
        return Base._read(base, once=once)
