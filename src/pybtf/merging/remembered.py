"""The BTF of an earlier link, for one in which nothing has changed that BTF depends on.

An edit in the body of a function moves code, and usually no more: the objects have the values that they had, in the
same order, and the linker has decided the same about them (core/elf/link_facts.py). Then the BTF is the same, too, and
with `--cache` it is found there. Its key is a digest of everything that it is made of; so nothing is ever compared with
an older state, and any number of them may be in the cache.

What is kept is the BTF and what a report says of the run, as texts and numbers in decimal, each with a NUL.
"""

# ruff: noqa: PTH116
# To import pathlib takes longer than to read what is in a cache.

from __future__ import annotations

import os

from xxhash import xxh3_128

from pybtf._version import __version__
from pybtf.btf.kind_numbers import KIND_NAMES
from pybtf.core.elf import link_facts as core
from pybtf.merging.pieces import RULES, Bytes, Piece, digest
from pybtf.pipeline.passes import option_bits
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pybtf.core.elf.function_table import FunctionTable
    from pybtf.elf.image import ElfImage
    from pybtf.merging.cache import Cache, Result
    from pybtf.options import EncodeOptions
    from pybtf.pipeline.loaded import VariableRange

_NUMBERS = (
    "units", "filtered", "types_before", "types_kept", "units_again", "units_whole", "n_conflicts", "type_size",
    "string_size", "functions", "variables",
)  # fmt: skip
_TABLES = ("counts", "fates", "kinds")
_DIGEST_SIZE = 16
_SIZE = 4


class Memory:
    """What a cache remembers of one link, for a run on its values (`UnitValues` in pipeline/loaded.py)."""

    def __init__(self, cache: Cache, image: ElfImage, pieces: list[Piece], options: EncodeOptions) -> None:
        self._cache = cache
        self._of = image, pieces, options
        self._key = b""
        self.found = False
        """Whether `recall` knew it."""
        self.result: Result | None = None
        """What the cache is to keep."""

    def recall(
        self, symbols: FunctionTable, ranges: Sequence[VariableRange]
    ) -> tuple[dict[str, Any], bytes] | None:
        self._key = key_of(*self._of, symbols, ranges)
        kept = self._cache.result(self._key)
        if kept is None:
            return None
        known = unpacked(self._key, kept)
        if known is None:
            self._cache.discard_results()
        self.found = known is not None
        return known

    def remember(self, facts: dict[str, Any], data: bytes) -> None:
        self.result = self._key, packed(self._key, facts, data)


def key_of(
    image: ElfImage,
    pieces: list[Piece],
    options: EncodeOptions,
    symbols: FunctionTable,
    ranges: Sequence[VariableRange],
) -> bytes:
    """The digest of all that the BTF of a link without a base depends on. `symbols` are frozen; `ranges` are those of
    `variable_ranges` (pipeline/loaded.py).
    """
    wanted = [(first, size, start, section) for first, size, start, section, included in ranges if included]
    names = image.names() if wanted else ()
    made = xxh3_128()
    for part in (
        (__version__, RULES, *_build()),
        (image.machine, image.little, image.is64),
        (options.features.on, option_bits(options.features.on), options.features.encode_force),
        (sorted(options.lang or ()), options.lang is None, sorted(options.lang_exclude or ())),
        [(section, names[section], first - start, size) for first, size, start, section in wanted],
        [(piece.payload_size, piece.units, piece.flags) for piece in pieces],
    ):
        made.update(repr(part).encode())
    made.update(b"".join([piece.payload_digest for piece in pieces]))
    core.link_facts(symbols, [piece.addresses for piece in pieces], wanted, made.update)
    return made.digest()


def _build() -> tuple[int, int]:
    """Which build of this version it is: one in development may change without a new number."""
    status = os.stat(core.__file__)
    return status.st_size, status.st_mtime_ns


def packed(key: bytes, facts: dict[str, Any], data: Bytes) -> Sequence[Bytes]:
    """What is kept of a run, in parts: what the report needs of its facts (core/run.py), and the BTF. The digest is of
    the key as well: a cache that somebody else writes anew meanwhile may have another result at the same place.
    """
    words = [str(facts[name]) for name in _NUMBERS]
    for name in _TABLES:
        words.append(str(len(facts[name])))
        words += [str(each) for item in facts[name].items() for each in item]
    words += facts["conflicts"]
    text = "".join([f"{word}\0" for word in words]).encode("utf-8", "surrogateescape")
    body = (len(text).to_bytes(_SIZE, "little"), text, data)
    return (digest(key, *body), *body)


def unpacked(key: bytes, kept: bytes) -> tuple[dict[str, Any], bytes] | None:
    """The facts and the BTF; None if it is not what was kept with this key."""
    body = memoryview(kept)[_DIGEST_SIZE:]
    if kept[:_DIGEST_SIZE] != digest(key, body):
        return None
    end = _SIZE + int.from_bytes(body[:_SIZE], "little")
    try:
        words = iter(bytes(body[_SIZE:end]).decode("utf-8", "surrogateescape").split("\0")[:-1])
        facts: dict[str, Any] = {name: _number(next(words)) for name in _NUMBERS}
        for name in _TABLES:
            facts[name] = {next(words): _number(next(words)) for _ in range(_number(next(words)))}
        facts["kinds"] = {_number(kind): n for kind, n in facts["kinds"].items()}
        facts["conflicts"] = list(words)
    except (ValueError, StopIteration):  # no accident makes such bytes with their digest
        return None
    return (facts, bytes(body[end:])) if all(kind < len(KIND_NAMES) for kind in facts["kinds"]) else None


def _number(word: str) -> int:
    if not word.isdecimal():
        raise ValueError
    return int(word)
