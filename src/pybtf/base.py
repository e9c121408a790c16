"""The BTF that other BTF is built on: a kernel's, for its modules."""

from __future__ import annotations

import os
from functools import cached_property

from .btf.files import read_btf
from .core.base import Base as Index

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from .btf.reader import BTF
    from .timings import Timings


class Base:
    """The BTF of a kernel, read and indexed once, for any number of encodings of its modules, also at the same time.

    It does not change, and costs about four times the size of the BTF in memory, what one encoding needs of it
    included, and twice the size more for each further one at one time. `path` is where it comes from, `little` its byte
    order; `len()` counts its types.
    """

    def __init__(self, index: Index, path: str) -> None:
        self.index = index
        self.path = path

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Base:
        """From an ELF file with a section `.BTF`, or a file of raw BTF such as `/sys/kernel/btf/vmlinux`.

        Raises `InputError` if the file cannot be read or its BTF is damaged.
        """
        data, place = read_btf(path)
        return cls(Index(data, str(place)), os.fspath(path))

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "base BTF") -> Base:
        """From raw BTF. `name` is what messages call it. Raises `InputError`."""
        return cls(Index(data, name), name)

    @property
    def little(self) -> bool:
        return self.index.little

    @cached_property
    def btf(self) -> BTF:
        """The same BTF, opened for reading."""
        from .btf.reader import BTF  # not needed for encoding, and it takes a while to import

        return BTF.from_bytes(self.index.data, name=self.path)

    def __len__(self) -> int:
        return len(self.index)

    def __bool__(self) -> bool:
        return True  # also without types


def open_base(base: str | Base | None, timings: Timings) -> Base | None:
    """The base that was asked for, read if it is given as a path: the pass `base`. Raises as `Base.from_file`."""
    if not isinstance(base, str):
        return base
    with timings.pass_("base"):
        return Base.from_file(base)
