"""A pytest plugin that collects the tests once and then runs some of them as often as requested.

Each run is a fork with another mutation switched on, so nothing is imported or collected again. Commands are lines of
JSON on one descriptor, answers on another (PYBTF_MUTANT_SERVER holds both numbers); the page of the switches is the
file that PYBTF_MUTANTS names. trial.py is the other side.

An answer to `run` is what failed first: the test, or how the process ended. A test times out after `patience` times its
time without a mistake, plus some seconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tools.mutations.switch import MARKS, PAGE, VARIABLE

SERVER = "PYBTF_MUTANT_SERVER"


def adopt_orphans() -> None:
    """From now on, processes that a test leaves running become children of this process when the fork ends."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def end_children() -> None:
    """Ends processes that a test left running."""
    own = os.getpid()
    while children := Path(f"/proc/{own}/task/{own}/children").read_text().split():
        for child in children:
            os.kill(int(child), signal.SIGKILL)
            os.waitpid(int(child), 0)


class Page:
    def __init__(self) -> None:
        with open(os.environ[VARIABLE], "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), PAGE)

    def choose(self, number: int) -> None:
        self.memory[0:4] = number.to_bytes(4, sys.byteorder)
        for module in list(sys.modules.values()):
            switch = module.__dict__.get("MUTANT") if hasattr(module, "__dict__") else None
            if switch is not None and hasattr(switch, "seen"):
                switch.number = number
                switch.seen.clear()

    def clear(self) -> None:
        self.memory[MARKS:PAGE] = bytes(PAGE - MARKS)
        self.choose(int.from_bytes(self.memory[0:4], sys.byteorder))

    def marks(self) -> list[int]:
        return [number for number, mark in enumerate(self.memory[MARKS:PAGE]) if mark]


class Watch:
    """In the fork: reports when a test begins, and what fails."""

    def __init__(self, out: int) -> None:
        self.out = out
        self.failed = ""

    def say(self, *words: object) -> None:
        os.write(self.out, json.dumps(words).encode() + b"\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.failed and not self.failed:
            late = call.excinfo is not None and call.excinfo.errisinstance(subprocess.TimeoutExpired)
            self.failed = "time is up: " * late + item.nodeid
        return report


class Reach:
    """In the fork that runs all tests without a mistake: which switches each of them checks, and how long it takes."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.of_fixture: dict[str, set[int]] = {}
        self.tests: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        """What a shared fixture does counts for all its tests."""
        before = set(self.page.marks())
        self.page.clear()
        try:
            return (yield)
        finally:
            now = set(self.page.marks())
            if fixturedef.scope != "function":
                self.of_fixture.setdefault(fixturedef.argname, set()).update(now)
            for number in before:
                self.page.memory[MARKS + number] = 1

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.page.clear()
        start = time.monotonic()
        answer = yield
        reached = set(self.page.marks())
        for name in getattr(item, "fixturenames", ()):
            reached |= self.of_fixture.get(name, set())
        row = self.tests.setdefault(item.nodeid, {})
        row.update(seconds=round(time.monotonic() - start, 4), reached=sorted(reached))
        return answer

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if not report.passed:
            self.tests.setdefault(item.nodeid, {})["outcome"] = report.outcome
        return report


class Server:
    def __init__(self) -> None:
        commands, answers = os.environ[SERVER].split()
        self.commands = open(int(commands), "rb", buffering=0)  # noqa: SIM115 as long as the process
        self.answers = int(answers)
        self.page = Page()
        self.process = os.getpid()
        self.bases = 0
        adopt_orphans()

    def answer(self, **row: object) -> None:
        os.write(self.answers, json.dumps(row).encode() + b"\n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        self.page.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.answer(reached=self.page.marks(), tests=list(self.items), errors=session.testsfailed)
        while line := self.commands.readline():
            command = json.loads(line)
            self.answer(**(self.reach(session, command) if "reach" in command else self.run(session, command)))
        return True

    def reach(self, session: pytest.Session, command: dict[str, Any]) -> dict[str, Any]:
        """Runs the tests of one file without a mistake, and writes what `Reach` finds."""
        child = os.fork()
        if not child:
            self.enter(session, 0)
            reach = Reach(self.page)
            session.config.pluginmanager.register(reach)
            items = [item for item in session.items if item.nodeid.partition("::")[0] == command["file"]]
            for index, item in enumerate(items):
                after = items[index + 1] if index + 1 < len(items) else None
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            Path(command["reach"]).write_text(json.dumps(reach.tests))
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        end_children()
        return {"status": status}

    def run(self, session: pytest.Session, command: dict[str, Any]) -> dict[str, Any]:
        items = [self.items[name] for name in command["tests"] if name in self.items]
        said, out = os.pipe()
        shutil.rmtree(".hypothesis", ignore_errors=True)  # no examples found with the last mistake
        self.bases += 1
        child = os.fork()
        if not child:
            os.close(said)
            self.enter(session, command["number"])
            self.work(session, items, out)
        os.close(out)
        start = time.monotonic()
        answer = self.wait(said, command)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        os.close(said)
        end_children()
        if "noticed" not in answer:
            answer["noticed"] = f"{answer['test']}: ended by {status}"
        shutil.rmtree(self.base(), ignore_errors=True)
        return {**answer, "seconds": round(time.monotonic() - start, 2)}

    def wait(self, said: int, command: dict[str, Any]) -> dict[str, Any]:
        """The final report of the fork, or the test that it was running if it ends early or times out."""
        at, left = "", b""
        while True:
            limit = command["limits"].get(at, 30)
            if not select.select([said], [], [], limit)[0]:
                return {"test": at, "noticed": f"time is up: {at}"}
            data = os.read(said, 1 << 16)
            if not data:
                return {"test": at}
            *lines, left = (left + data).split(b"\n")
            for line in lines:
                word, value = json.loads(line)
                if word == "end":
                    return {"test": at, "noticed": value}
                at = value

    def work(self, session: pytest.Session, items: list[pytest.Item], out: int) -> NoReturn:
        """In the fork: runs tests up to the first that fails."""
        watch = Watch(out)
        session.config.pluginmanager.register(watch)
        for index, item in enumerate(items):
            watch.say("test", item.nodeid)
            after = items[index + 1] if index + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if watch.failed:
                break
        watch.say("end", watch.failed)
        os._exit(0)

    def base(self) -> Path:
        return Path("build", f"tests.{self.process}.{self.bases}").absolute()

    def enter(self, session: pytest.Session, number: int) -> None:
        os.setsid()
        random.seed(1)
        session.config._tmp_path_factory._given_basetemp = self.base()  # type: ignore[attr-defined]
        self.page.choose(number)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Server())
