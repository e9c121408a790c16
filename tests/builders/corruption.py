"""Random damage to real files, and a worker process that survives it or not.

`mutate(data, seed)` is a pure function, so a seed is enough to repeat a case. `python corruption.py ...` is the worker:
it encodes one case after the other in one process, and writes a line before and after each. If the process dies, the
line without an answer names the case. `watch` runs workers, starts a new one after each death, and collects what went
wrong. Used by `test_corruption.py` and by `tools/fuzz/fuzz.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).resolve().parents[2]

#: Likely values of damaged length fields.
VALUES = (
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFF0,
    0xFFFFFFFF,
    1 << 40,
    1 << 63,
)

SECONDS_PER_CASE = 20
ADDRESS_SPACE = 2 << 30
#: Peak memory in bytes that one small file may take beyond what the worker had before.
GROWTH = 300 << 20


class Problem(NamedTuple):
    seed: str
    what: str


def regions(data: bytes) -> list[tuple[int, int]]:
    """(start, end) of the ELF header, of the section headers, and of each section of a sound file."""
    with tempfile.TemporaryFile() as handle:
        handle.write(data)
        file = ELFFile(handle)
        table = file["e_shoff"], file["e_shoff"] + file.num_sections() * file["e_shentsize"]
        found = [(0, file["e_ehsize"]), table]
        for section in file.iter_sections():
            if section["sh_type"] not in ("SHT_NOBITS", "SHT_NULL") and section["sh_size"]:
                found += [(section["sh_offset"], section["sh_offset"] + section["sh_size"])] * (
                    4 if section.name in (".debug_info", ".debug_abbrev") else 1
                )
    return [(start, end) for start, end in found if start < end]


def mutate(data: bytes, places: Sequence[tuple[int, int]], seed: str) -> bytes:
    """The data with one to six changes, each in one of the places. A pure function of its arguments."""
    dice = random.Random(seed)
    out = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 6))):
        start, end = dice.choice(places)
        if end > len(out):  # an earlier step cut the file
            continue
        at = dice.randrange(start, end)
        kind = dice.randrange(100)
        if kind < 30:
            out[at] ^= 1 << dice.randrange(8)
        elif kind < 50:
            out[at] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
        elif kind < 75:
            size = dice.choice((2, 4, 8))
            value = dice.choice((*VALUES, end - start, len(data), dice.randrange(1 << 32))) & ((1 << 8 * size) - 1)
            piece = value.to_bytes(size, dice.choice(("little", "big")))[: end - at]
            out[at : at + len(piece)] = piece
        elif kind < 85:
            other = dice.randrange(start, end)
            size = min(dice.randrange(1, 64), end - max(at, other))
            out[at : at + size] = out[other : other + size]
        elif kind < 92:
            size = min(dice.randrange(1, 64), end - at)
            out[at : at + size] = bytes([dice.choice((0, 0x80, 0xFF))]) * size
        elif kind < 98:  # a byte more or less, inside the section
            shift = dice.choice((-1, 1))
            rest = out[at:end]
            out[at:end] = (rest[1:] + b"\0") if shift < 0 else (b"\x55" + rest[:-1])
        else:
            del out[at:]
            out += b"\0" * (1 if not out else 0)
    return bytes(out)


# -- the worker --------------------------------------------------------------------------------------


def work(file: Path, seed: str, numbers: Iterable[int], limited: bool) -> None:
    """Encodes the cases; writes a line `start N` before and `N answer` after each."""
    import pybtf
    from pybtf.errors import InternalError, PybtfError
    from pybtf.support.timings import peak_memory
    from tests.builders import btflines

    data = file.read_bytes()
    places = regions(data)
    if limited:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="pybtf-corrupt-") as folder:
        path = Path(folder) / "case.elf"
        path.write_bytes(data)
        with contextlib.suppress(PybtfError):  # the sound file first, to load everything; some are refused
            pybtf.encode(path, features="default,global_var", jobs=1)
        base = peak_memory()
        for number in numbers:
            print(f"start {number}", flush=True)
            path.write_bytes(mutate(data, places, f"{seed}/{number}"))
            signal.alarm(SECONDS_PER_CASE)  # not caught: it ends the process, even in C
            try:
                jobs, degrade = 1 + number % 7 // 6, number % 2 == 1
                made = pybtf.encode(path, features="default,global_var", jobs=jobs, degrade=degrade)
                types, _ = btflines.read(bytes(made.data))
                if number % 3 == 0:
                    pybtf.why(path, "*", "struct *", features="default,global_var", lang_exclude="", jobs=1)
                answer = "encoded" if types else "BAD no type"
            except InternalError as error:
                answer = f"BAD internal error: {error}"
            except PybtfError as error:
                text = str(error)
                answer = "refused" if str(path) in text and "\n" not in text else f"BAD message: {text!r}"
            except MemoryError:
                answer = "BAD out of memory"
            except Exception as error:
                answer = f"BAD {type(error).__name__}: {error}"
            signal.alarm(0)
            peak = peak_memory()
            if peak - base > GROWTH and limited:
                answer = f"BAD peak memory grew by {peak - base >> 20} MiB ({answer})"
                base = peak
            print(f"{number} {answer}".replace("\n", " "), flush=True)


def watch(
    file: Path, seed: str, start: int, stop: int, step: int, environment: dict[str, str], limited: bool = True
) -> tuple[dict[str, int], list[Problem]]:
    """Has the cases `start, start + step, ...` below `stop` done. Returns the counts of answers, and the problems."""
    counts = {"encoded": 0, "refused": 0}
    problems: list[Problem] = []
    while start < stop:
        argv = [sys.executable, "-m", "tests.builders.corruption", str(file.resolve()), seed]
        argv += [str(start), str(stop), str(step)]
        done = subprocess.run(
            [*argv, *([] if limited else ["--unlimited"])],
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
            cwd=ROOT,
            check=False,
        )
        last = None
        for line in done.stdout.splitlines():
            number, _, answer = line.partition(" ")
            if number == "start":
                last = int(answer)
                continue
            last = None
            if answer in counts:
                counts[answer] += 1
            else:
                problems.append(Problem(f"{seed}/{number}", answer.removeprefix("BAD ")))
            start = int(number) + step
        if done.returncode == 0:
            break
        if last is None:
            problems.append(Problem(f"{seed}/-", f"the worker failed: {done.stderr[-2000:]}"))
            break
        death = signal.Signals(-done.returncode).name if done.returncode < 0 else f"status {done.returncode}"
        hang = " (hangs)" if done.returncode == -signal.SIGALRM else ""
        problems.append(Problem(f"{seed}/{last}", f"the process died: {death}{hang} {done.stderr[-3000:]}"))
        start = last + step
    return counts, problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("seed")
    parser.add_argument("start", type=int)
    parser.add_argument("stop", type=int)
    parser.add_argument("step", type=int)
    parser.add_argument("--unlimited", action="store_true", help="no limit of address space: sanitizers need it")
    parser.add_argument("--write", type=Path, help="write the first case to this file instead")
    options = parser.parse_args()
    if options.write:
        data = options.file.read_bytes()
        options.write.write_bytes(mutate(data, regions(data), f"{options.seed}/{options.start}"))
        return
    os.environ.pop("PAHOLE_LANG_EXCLUDE", None)
    numbers = range(options.start, options.stop, options.step)
    work(options.file, options.seed, numbers, not options.unlimited)


if __name__ == "__main__":
    main()
