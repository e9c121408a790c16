"""`python -m pybtf.reproduce.trial JSON`: one encoding for reproduce.py, in a process whose circumstances may be
changed.

Writes the BTF to the file that the task names, and a distilled base right after it. The last line of standard error
is `reproduce.MARKER` and a JSON object: `problem` if something went wrong, else `address_space`, the most that was
used, in bytes, and if the task asks, `companions`, the paths of other files that the DWARF is in.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

from pybtf.errors import NothingToEncode, PybtfError
from pybtf.reproduce.reproduce import MARKER

ROOM = "Name a folder that has it in TMPDIR, or raise the limit of file sizes (ulimit -f)."
MILLISECONDS = 0.001


def main() -> int:
    task = json.loads(sys.argv[1])
    if task["umask"] is not None:
        os.umask(task["umask"])
    if task["address_space"] is not None:
        _limit(task["address_space"])
    try:
        data = _encode(task)
    except (PybtfError, MemoryError, OSError) as error:
        name = "not enough memory" if isinstance(error, MemoryError) else type(error).__name__
        _tell({"problem": str(error) or name, "nothing": isinstance(error, NothingToEncode)})
        return 1
    try:
        Path(task["out"]).write_bytes(data)
    except OSError as error:
        _tell({"problem": f"{task['out']}: {error.strerror}; expected room for {len(data):,} bytes. {ROOM}"})
        return 1
    facts: dict[str, Any] = {"address_space": _address_space()}
    if task["companions"]:
        from pybtf.pipeline.companions import companions

        facts["companions"] = [path for path, _ in companions(task["path"])]
    _tell(facts)
    return 0


def _limit(size: int) -> None:
    """Have at most `size` bytes of address space. Where there are already fewer (`ulimit -v`), they stay."""
    hardest = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = size if hardest == resource.RLIM_INFINITY else min(size, hardest)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _encode(task: dict[str, Any]) -> bytes:
    from pybtf.api import encode

    progress = _Disturbance(task["shuffle"]) if task["shuffle"] is not None else None
    encoded = encode(
        task["path"],
        features=task["features"],
        jobs=task["jobs"],
        lang=task["lang"],
        lang_exclude=task["lang_exclude"],
        base=task["base"],
        standalone=task["standalone"],
        force_base=task["force_base"],
        progress=progress,
    )
    return bytes(encoded.data) + (encoded.base_data or b"")


class _Disturbance:
    """Called by the first worker every now and then: makes it stop for a moment, or moves all threads about.

    Threads get random CPUs and priorities, so that they overtake each other in ways a quiet machine never shows.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.cpus = sorted(os.sched_getaffinity(0))
        threading.Thread(target=self._forever, daemon=True).start()

    def __call__(self, done: int, total: int) -> None:
        if self.random.random() < 0.3:
            time.sleep(self.random.uniform(0, 10) * MILLISECONDS)

    def _forever(self) -> None:
        own = random.Random(self.random.random())
        while True:
            for task in os.listdir("/proc/self/task"):  # noqa: PTH208 - names, not paths
                self._move(own, int(task))
            time.sleep(own.uniform(1, 5) * MILLISECONDS)

    def _move(self, own: random.Random, thread: int) -> None:
        try:
            os.sched_setaffinity(thread, {own.choice(self.cpus)})
            os.setpriority(os.PRIO_PROCESS, thread, own.randrange(20))
        except OSError:  # the thread has ended, or priorities cannot be raised again
            pass


def _address_space() -> int:
    """The most address space this process had, in bytes; 0 if the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmPeak:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return 0


def _tell(facts: dict[str, Any]) -> None:
    print(f"{MARKER}{json.dumps(facts)}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
