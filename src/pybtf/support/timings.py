"""Where the time went: a tree of passes, each with wall and CPU time.

CPU time is that of the whole process, all threads together, so a pass run by two busy workers shows about
twice as much CPU as wall time. A run with a single thread, in a process that has others, counts only that thread
(`of_thread`). Passes are opened by one thread only; what a worker measured itself is added with `Timings.add`,
what another run measured with `Timings.include`. Taking the times of a pass costs microseconds: passes are for the
dozen stages of a run, not for units.
"""

from __future__ import annotations

import time
from time import perf_counter_ns

from pybtf.support import TYPE_CHECKING
from pybtf.support.records import field, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NS = 1_000_000_000


@record()
class Pass:
    """One stage of a run. Times in nanoseconds; `peak`: the process's peak memory, in bytes, at its end."""

    name: str
    wall: int = 0
    cpu: int = 0
    calls: int = 0
    peak: int = 0
    children: list[Pass] = field(default_factory=list)

    # Written out, for there is one for each pass of each file.
    def __init__(
        self, name: str, wall: int = 0, cpu: int = 0, calls: int = 0, peak: int = 0, children: list[Pass] | None = None
    ) -> None:
        self.name = name
        self.wall = wall
        self.cpu = cpu
        self.calls = calls
        self.peak = peak
        self.children = [] if children is None else children

    def child(self, name: str) -> Pass:
        """The sub-pass of that name, made when it is met first: repeated passes add up."""
        for each in self.children:
            if each.name == name:
                return each
        new = Pass(name)
        self.children.append(new)
        return new

    def include(self, other: Pass) -> None:
        """Add the children of `other` to those of the same names here."""
        for theirs in other.children:
            mine = self.child(theirs.name)
            mine.wall += theirs.wall
            mine.cpu += theirs.cpu
            mine.calls += theirs.calls
            mine.peak = max(mine.peak, theirs.peak)
            mine.include(theirs)

    def to_dict(self) -> dict[str, Any]:
        """The pass and its children, times in seconds, memory in bytes."""
        return {
            "name": self.name,
            "wall_seconds": self.wall / NS,
            "cpu_seconds": self.cpu / NS,
            "calls": self.calls,
            "peak_memory_bytes": self.peak,
            "passes": [each.to_dict() for each in self.children],
        }


class Timings:
    """The passes of one run, from its creation on (or from the start of the process, see `include_start`)."""

    def __init__(self, *, of_thread: bool = False, passes: bool = True) -> None:
        """`of_thread`: CPU time of this thread, which has to `finish` itself; and no peaks of memory, which are a
        matter of the process. Without `passes`, only the total is taken: for a file of many, if nobody will look.
        """
        self.root = Pass("total", calls=1)
        self._stack = [self.root]
        self._clock = time.thread_time_ns if of_thread else time.process_time_ns
        self._of_thread = of_thread
        self._untimed = None if passes else Untimed(self, self.root)
        self._peak_of_others = 0
        self._wall = perf_counter_ns()
        self._cpu = self._clock()

    def pass_(self, name: str) -> OpenPass:
        """Count the time of the `with` block to the pass `name` inside the one now open; gives the pass."""
        return self._untimed or OpenPass(self, self._stack[-1].child(name))

    def add(self, name: str, wall: int, cpu: int, calls: int = 1) -> None:
        """Add nanoseconds measured elsewhere to the pass `name` inside the one now open."""
        this = self._stack[-1].child(name)
        this.wall += wall
        this.cpu += cpu
        this.calls += calls

    def include(self, other: Timings) -> None:
        """Add the passes of a run that has ended, with theirs, to the one now open. Its own total is not added."""
        self._stack[-1].include(other.root)

    def include_processes(self, this: Pass, cpu: int, peak: int) -> None:
        """Count what other processes took, which have ended, to the pass `this` and to the total: nanoseconds of CPU
        time, bytes of memory beside that of this process.
        """
        this.cpu += cpu
        this.peak += peak
        self._cpu -= cpu
        self._peak_of_others += peak

    def include_start(self, wall: int) -> None:
        """Count what the process did before these timings, starting and importing, as a pass `start`."""
        wall = max(0, wall)
        self.root.children.insert(0, Pass("start", wall, self._cpu, 1))
        self._wall -= wall
        self._cpu = 0  # the CPU clock of a process begins with the process

    def elapsed(self) -> int:
        """Nanoseconds since the beginning."""
        return perf_counter_ns() - self._wall

    def finish(self) -> Pass:
        """The root, with the times and the peak memory up to now. May be called again later; the times of a thread
        are those of the first call.
        """
        if self._of_thread and self.root.wall:
            return self.root
        self.root.wall = self.elapsed()
        self.root.cpu = self._clock() - self._cpu
        if not self._of_thread:
            self.root.peak = peak_memory() + self._peak_of_others
        return self.root


class OpenPass:
    """A pass while it is timed. Written out, for a generator as context manager costs more than what it measures."""

    __slots__ = ("_cpu", "_pass", "_timings", "_wall")

    def __init__(self, timings: Timings, this: Pass) -> None:
        self._timings = timings
        self._pass = this

    def __enter__(self) -> Pass:
        timings = self._timings
        timings._stack.append(self._pass)
        self._cpu = timings._clock()
        self._wall = perf_counter_ns()
        return self._pass

    def __exit__(self, *_: object) -> None:
        wall = perf_counter_ns() - self._wall
        timings, this = self._timings, self._pass
        this.wall += wall
        this.cpu += timings._clock() - self._cpu
        this.calls += 1
        if not timings._of_thread:
            this.peak = peak_memory()
        timings._stack.pop()


class Untimed(OpenPass):
    """Stands for every pass where none is timed."""

    __slots__ = ()

    def __enter__(self) -> Pass:
        return self._pass

    def __exit__(self, *_: object) -> None:
        pass


def peak_memory() -> int:
    """Peak resident memory of this process in bytes, pages of mapped files included; 0 where unknown.

    It is `VmHWM` of /proc/self/status: `getrusage` would also count the process before `exec`.
    """
    try:
        with open("/proc/self/status", "rb") as status:
            for line in status:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


def since_process_start() -> int:
    """Nanoseconds since the kernel started this process (to 10 ms), or 0 if that cannot be told."""
    try:
        with open("/proc/self/stat", "rb") as stat:
            ticks = int(stat.read().rpartition(b")")[2].split()[19])
        age = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - ticks * (NS // 100)
    except (OSError, ValueError, IndexError):
        return 0
    return age if 0 < age < 60 * NS else 0


def render(root: Pass, blocks: str = "█", width: int = 20) -> str:
    """The tree as text, a line a pass: wall time, CPU time, share of the total as figure and bar.

    Times are in seconds, or in milliseconds if the total is below a second. The peak memory is the last line, if known.
    """
    rows = list(_rows(root, 0))
    margin = max(len(label) for label, _ in rows)
    total = max(root.wall, 1)
    unit, scale = ("s", NS) if total >= NS else ("ms", NS // 1000)
    lines = [f"{'pass':<{margin}}  {f'wall {unit}':>8}  {f'cpu {unit}':>8}   share"]
    for label, row in rows:
        share = row.wall / total
        bar = blocks * round(width * min(share, 1))
        times = f"{row.wall / scale:8.3f}  {row.cpu / scale:8.3f}"
        lines.append(f"{label:<{margin}}  {times}  {100 * share:4.0f} %  {bar}".rstrip())
    if root.peak:
        lines.append(f"peak memory {root.peak / 1e6:,.0f} MB")
    return "\n".join(lines)


def _rows(node: Pass, depth: int) -> Iterator[tuple[str, Pass]]:
    """Labels and passes, depth first; time inside a pass that none of its children explains is `(rest)`."""
    times = f" x{node.calls}" if node.calls > 1 else ""
    yield "  " * depth + node.name + times, node
    for each in node.children:
        yield from _rows(each, depth + 1)
    rest = node.wall - sum(each.wall for each in node.children)
    if node.children and rest > node.wall // 100:
        cpu = max(0, node.cpu - sum(each.cpu for each in node.children))
        yield "  " * (depth + 1) + "(rest)", Pass("(rest)", rest, cpu)
