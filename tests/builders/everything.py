"""Compares an encoding with the same encoding without dropping repeats, for `test_keeping.py` and `keeping.py`. No
reference is needed, and nothing here knows how repeats are found.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pybtf
from pybtf.core.run import Run
from pybtf.errors import InternalError, PybtfError
from pybtf.pipeline import passes

#: What the encoder is told.
WAYS: tuple[dict[str, Any], ...] = ({},)


@contextmanager
def told(**forced: Any) -> Iterator[None]:
    """Tells the encoder something for which there is no option."""
    with mock.patch.object(passes, "Run", functools.partial(Run, **forced)):
        yield


def encoded(path: Path | str, jobs: int = 1, base: pybtf.Base | None = None, **forced: Any) -> bytes:
    """The BTF of a file, or the sort of its refusal. Ids in messages are those of the list, which differ."""
    with told(**forced):
        try:
            return bytes(pybtf.encode(path, jobs=jobs, base=base, force_base=base is not None).data)
        except InternalError:
            raise
        except PybtfError as error:
            return type(error).__name__.encode()


def differences(path: Path | str, jobs: Iterable[int] = (1,)) -> list[str]:
    """The ways in which the result differs from that with everything kept."""
    wanted = encoded(path, without=("reduction",))
    return [
        f"-j{n} {forced or ''}".strip() for n in jobs for forced in WAYS if encoded(path, jobs=n, **forced) != wanted
    ]
