"""BTF for everything that reads it, as `fuzz_dump` and `fuzz_verify` do it. For `tools/fuzz/guided.py`."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.fuzz import cases, fuzz_dump, fuzz_verify, guided_files
from tools.fuzz.subjects import Subject

LIMIT = 8_000
#: Bytes of a BTF's header that changes leave alone, mostly.
HEADER = 24


@functools.cache
def others() -> Sequence[bytes]:
    """Bases, and what to compare with."""
    return fuzz_verify.sources(random.Random(0))


def seeds(rng: random.Random) -> Iterator[bytes]:
    yield from (data for data in fuzz_verify.sources(rng) if len(data) <= LIMIT)


def splice(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Some words of another one, in place of some words, or in between with the lengths of the header corrected."""
    at, start = (HEADER + 4 * rng.randrange(max((len(each) - HEADER) // 4, 1)) for each in (data, other))
    piece = other[start : start + 4 * rng.choice((1, 3, 4, 6, 10, 40))]
    if rng.random() < 0.5:
        return data[:at] + piece + data[at + len(piece) :]
    order = "big" if data[:1] == b"\xeb" else "little"
    words = [int.from_bytes(data[n : n + 4], order) for n in range(8, HEADER, 4)]  # type: ignore[arg-type]
    if at - HEADER < words[1]:
        words[1] += len(piece)
        words[2] += len(piece)
    else:
        words[3] += len(piece)
    head = data[:8] + b"".join((word & 0xFFFFFFFF).to_bytes(4, order) for word in words)  # type: ignore[arg-type]
    return head + data[HEADER:at] + piece + data[at:]


def change(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    if len(data) < 2 * HEADER:
        return rng.choice(others)
    made = splice(rng, data, rng.choice(others)) if rng.random() < 0.4 else cases.damaged(rng, data)
    made = fuzz_verify.cut(rng, made) if rng.random() < 0.1 else made
    return made if len(made) <= LIMIT else data


def run(data: bytes, _: Path) -> str:
    """Its bytes choose which of the readers gets it."""
    chooser = random.Random(data)
    way = chooser.randrange(4)
    if way == 0:
        done = [*fuzz_dump.dump(chooser, data, others())]
    elif way == 1:
        done = [*fuzz_dump.look_at(data)]
    elif way == 2:
        close = len(data) > 2 * HEADER and chooser.random() < 0.5
        done = [*fuzz_dump.compare(data, cases.damaged(chooser, data) if close else chooser.choice(others()))]
    else:
        done = [*fuzz_verify.run(chooser, data, others())]
    return "read" if set(done) - {"refused"} else "refused"


BTF = Subject(
    name="btf",
    suffix=".btf",
    build=guided_files.FILES.build,
    three=False,
    seeds=seeds,
    change=change,
    run=run,
)
