"""Trying mutations: a server of tests for a tree, which tests a mutation needs, and in which order.

All tests run once without a mistake (`reach`), which shows how long each takes and which switches it checks. A test
that never checks a mutation's switch runs the original and cannot notice the mutation, so it is left out. Code that
runs when a module is imported is the exception, because tests share it: such mutations (`early`) get all tests, in
processes of their own in which the switch is set from the start.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import math
import os
import random
import resource
import select
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from tools.mutations.server import SERVER
from tools.mutations.switch import PAGE, VARIABLE, Mutation
from tools.mutations.tree import ROOT

LISTS = ROOT / "tools" / "mutations"
#: The tests named in tests.toml are this many seconds ahead of the others.
HEAD_START = 1.0
#: Seconds of tests for a mistake that is marked harmless: usually enough to see if it is not.
HARMLESS = 30
#: A mistake that takes all memory ends the tests, not the machine.
MEMORY = 8 << 30


def key_of(one: Mutation) -> str:
    text = "\0".join((one.file, one.within, one.old, one.new))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Test(NamedTuple):
    name: str
    seconds: float
    reached: frozenset[str]  # keys of mutations

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


class Server:
    """A pytest process in a tree, which has collected the tests; see server.py."""

    def __init__(self, tree: Path, name: str, files: Iterable[str] = (), number: int = 0) -> None:
        page = tree / "build" / f"page.{name}"
        page.write_bytes(number.to_bytes(4, sys.byteorder) + bytes(PAGE - 4))
        theirs, self._commands = os.pipe()
        self._answers, their_answers = os.pipe()
        environment = {
            **os.environ,
            VARIABLE: str(page),
            SERVER: f"{theirs} {their_answers}",
            "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}",
        }
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "tools.mutations.server", "-p", "no:cacheprovider", *files]
        with open(tree / "build" / f"log.{name}", "wb") as log:
            self._process = subprocess.Popen(
                argv, cwd=tree, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=(theirs, their_answers), preexec_fn=_limit,
            )  # fmt: skip
        os.close(theirs)
        os.close(their_answers)
        self._left = b""
        self.ready = self.answer(600)

    def answer(self, seconds: float | None) -> dict[str, Any]:
        """The next answer; empty if no more comes, or not in time."""
        until = None if seconds is None else time.monotonic() + seconds
        while b"\n" not in self._left:
            wait = None if until is None else max(until - time.monotonic(), 0)
            if not select.select([self._answers], [], [], wait)[0]:
                return {}
            data = os.read(self._answers, 1 << 16)
            if not data:
                return {}
            self._left += data
        line, self._left = self._left.split(b"\n", 1)
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, **command: object) -> dict[str, Any]:
        data = json.dumps(command).encode() + b"\n"
        while data:
            data = data[os.write(self._commands, data) :]
        return self.answer(None)

    def close(self) -> None:
        os.close(self._commands)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._answers)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))


class Trial:
    """A tree, its mutations by number, and what is known about its tests."""

    def __init__(self, tree: Path, mutations: dict[int, Mutation]) -> None:
        self.tree = tree
        self.mutations = mutations
        self.keys = {number: key_of(one) for number, one in mutations.items()}
        self.server = Server(tree, f"all.{os.getpid()}")
        self._free = [self.server]
        if not self.server.ready or self.server.ready["errors"]:
            sys.exit(f"{tree}: the tests cannot be collected without a mistake; see build/log.all there")
        self.early = {self.keys[number] for number in self.server.ready["reached"] if number in self.keys}
        self.tests: list[Test] = []
        self.broken: list[str] = []
        self.kills: Counter[tuple[str, str]] = Counter()  # source file, test

    def reach(self, anew: bool = False) -> None:
        """Runs new and changed tests without a mistake."""
        path = self.tree / "build" / "reach.json"
        known: dict[str, Any] = json.loads(path.read_text()) if path.exists() and not anew else {}
        if not set(self.keys.values()) <= set(known.get("keys", ())):
            known = {"keys": sorted(self.keys.values()), "files": {}, "tests": {}}
        files = sorted({name.partition("::")[0] for name in self.server.ready["tests"]})
        digests = {name: hashlib.sha256((self.tree / name).read_bytes()).hexdigest() for name in files}
        new = {name.partition("::")[0] for name in self.server.ready["tests"] if name not in known["tests"]}
        changed = [name for name in files if name in new or known["files"].get(name) != digests[name]]
        if changed:
            print(f"running tests of {len(changed)} files without a mistake", flush=True)
        known["tests"] = {
            name: row
            for name, row in known["tests"].items()
            if (file := name.partition("::")[0]) in files and file not in changed
        }
        to = self.tree / "build" / "reached.json"
        for file in changed:
            to.unlink(missing_ok=True)
            answer = self.server.ask(reach=str(to), file=file)
            if not to.exists():
                sys.exit(f"{file} does not run without a mistake: {answer}")
            for name, row in json.loads(to.read_text()).items():
                reached = sorted(self.keys[number] for number in row["reached"] if number in self.keys)
                known["tests"][name] = {**row, "reached": reached}
            known["files"][file] = digests[file]
            path.write_text(json.dumps(known))
        for name, row in known["tests"].items():
            if row.get("outcome") == "failed":
                self.broken.append(name)
            elif "outcome" not in row:
                self.tests.append(Test(name, row["seconds"], frozenset(row["reached"])))

    def cost(self, number: int) -> float:
        """The seconds that it takes to find that a mutation survives."""
        key = self.keys[number]
        return sum(test.seconds for test in self.tests if key in self.early or key in test.reached)

    def try_out(self, number: int, limit: float = math.inf) -> dict[str, Any] | None:
        """Runs the tests that can notice a mutation, up to the first that does. None: `limit` seconds are not
        enough.
        """
        one, key = self.mutations[number], self.keys[number]
        start = time.monotonic()
        tests = ordered(self.tests, one, key, self.kills)
        if one.harmless:
            tests = within(tests, HARMLESS)
        elif key in self.early and limit < math.inf:
            return None
        enough = len(tests)
        tests = within(tests, limit)
        if key not in self.early:
            server = self._free.pop() if self._free else Server(self.tree, f"all.{number}")
            found = self._run(server, number, tests)
            self._free.append(server)
        else:
            first = {test.file for test in tests} | set(tests_for(one.file))
            found = self._run_early(number, first)
            if not found.get("noticed") and not one.harmless:
                others = {test.file for test in self.tests} - first
                found = self._run_early(number, others) if others else found
        noticed = str(found.get("noticed", ""))
        if not noticed and len(tests) < enough:
            return None
        if noticed and not noticed.startswith(("time is up", "the tests")):
            self.kills[one.file, noticed] += 1
        return {"noticed": noticed, "seconds": round(time.monotonic() - start, 1), "tests": len(tests)}

    def close(self) -> None:
        for server in self._free:
            server.close()

    def _run(self, server: Server, number: int, tests: Sequence[Test]) -> dict[str, Any]:
        if not tests:
            return {"noticed": ""}
        names = [test.name for test in tests]
        limits = {test.name: 10 * test.seconds + 20 for test in tests}
        controlled: set[str] = set()
        while True:
            found = server.ask(number=number, tests=names, limits=limits)
            late = str(found.get("test", ""))
            if str(found.get("noticed", "")) != f"time is up: {late}" or late not in names or late in controlled:
                return found
            # A hang, or a machine that is busier than before? Running the test without the mistake tells.
            controlled.add(late)
            now = server.ask(number=0, tests=[late], limits={late: 600})
            limits[late] = 10 * float(now["seconds"]) + 20
            # A test that also fails without the mistake proves nothing.
            names = names[names.index(late) + bool(now["noticed"]) :]

    def _run_early(self, number: int, files: set[str]) -> dict[str, Any]:
        server = Server(self.tree, f"early.{number}", sorted(files), number)
        try:
            if not server.ready:
                return {"noticed": "the tests cannot start"}
            if server.ready["errors"]:
                return {"noticed": "the tests cannot be collected"}
            tests = [test for test in self.tests if test.file in files]
            one = self.mutations[number]
            tests = within(ordered(tests, one, "", self.kills), HARMLESS if one.harmless else math.inf)
            return self._run(server, number, tests)
        finally:
            server.close()


def within(tests: Sequence[Test], limit: float) -> list[Test]:
    """The first of the tests, up to so many seconds in total."""
    total = accumulate(test.seconds for test in tests)
    return [test for test, seconds in zip(tests, total, strict=True) if seconds < limit]


def tests_for(file: str) -> list[str]:
    """The files of tests that are likely to notice a mistake in a file."""
    rows = tomllib.loads((LISTS / "tests.toml").read_text())["tests"]
    found: list[str] = []
    for pattern, names in rows.items():
        if fnmatch(file, f"src/pybtf/{pattern}") and not (pattern == "*.py" and found):
            found += [name for name in names if name not in found]
    return [str(path.relative_to(ROOT)) for name in found for path in (ROOT / "tests").glob(f"*/test_{name}.py")]


def ordered(tests: Iterable[Test], one: Mutation, key: str, kills: Counter[tuple[str, str]]) -> list[Test]:
    """The tests that reach a mutation (without a key, all): first those that noticed others in its file, then some of
    each.

    Time is divided evenly between the test files, but those named in tests.toml come first and get four times as much.
    """
    tests = [test for test in tests if not key or key in test.reached]
    likely = tests_for(one.file)
    rng = random.Random(one.id)
    by_file: dict[str, list[Test]] = {}
    for test in sorted(tests, key=lambda each: (each.seconds > 0.5, each.seconds > 5, rng.random()), reverse=True):
        by_file.setdefault(test.file, []).append(test)
    first = sorted((test for test in tests if kills[one.file, test.name]), key=lambda each: each.seconds)
    result = [test for test in first if test.seconds < 5][:20]
    taken = {test.name for test in result}
    heap = [(0.0, likely.index(file), file) if file in likely else (HEAD_START, 99, file) for file in by_file]
    heapq.heapify(heap)
    while heap:
        cost, rank, file = heapq.heappop(heap)
        test = by_file[file].pop()
        if test.name not in taken:
            result.append(test)
            cost += (test.seconds + 0.02) * (1 if file in likely else 4)
        if by_file[file]:
            heapq.heappush(heap, (cost, rank, file))
    return result
