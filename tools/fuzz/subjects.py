"""What `tools/fuzz/guided.py` can fuzz, and what it must know about each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Found(Exception):
    """A case that must not be. Any other exception, and the end of the process, is a finding, too."""


class Subject(NamedTuple):
    """`change` makes a case from one that passed something new; `others` are the rest of these. `run` does the case,
    whose bytes are also in the file, and says how it ended.
    """

    name: str
    suffix: str
    build: Mapping[str, str]  # environment of setup.py
    three: bool  # whether edges are of three blocks: many more, for small code with much state
    seeds: Callable[[random.Random], Iterator[bytes]]
    change: Callable[[random.Random, bytes, Sequence[bytes]], bytes]
    run: Callable[[bytes, Path], str]

    @property
    def sanitized(self) -> bool:
        return "PYBTF_SANITIZE" in self.build
