"""The dropping of repeats against the same encoding with everything kept: what `test_keeping.py` and `keeping.py`
ask of a file. No reference is needed, and nothing is known of how repeats are found.
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
    """The encoder is told something that no option says."""
    with mock.patch.object(passes, "Run", functools.partial(Run, **forced)):
        yield


def encoded(path: Path | str, jobs: int = 1, base: pybtf.Base | None = None, **forced: Any) -> bytes:
    """The BTF of a file, or of what sort its refusal is. Ids in messages are those of the list, which differ."""
    with told(**forced):
        try:
            return bytes(pybtf.encode(path, jobs=jobs, base=base, force_base=base is not None).data)
        except InternalError:
            raise
        except PybtfError as error:
            return type(error).__name__.encode()


def differences(path: Path | str, jobs: Iterable[int] = (1,)) -> list[str]:
    """In which ways the result is not that of everything kept."""
    wanted = encoded(path, without=("reduction",))
    return [
        f"-j{n} {forced or ''}".strip() for n in jobs for forced in WAYS if encoded(path, jobs=n, **forced) != wanted
    ]
