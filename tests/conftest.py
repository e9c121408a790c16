"""What tests share: running the command line, and saying why a test cannot run here."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Tests send signals to themselves and to programs that they start. These would inherit it if the parent of the tests
# ignores signals: a shell ignores SIGINT and SIGQUIT for background processes, nohup SIGHUP.
for _name in ("INT", "HUP", "TERM", "QUIT", "USR1", "USR2", "ALRM", "XCPU"):
    _number = signal.Signals[f"SIG{_name}"]
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)

Require = Callable[[str], str]


class RunCli(Protocol):
    """Runs a command line and waits; see `run_cli`."""

    def __call__(
        self, *arguments: object, timeout: float = 60, cwd: Path | None = None, input: str | None = None
    ) -> subprocess.CompletedProcess[str]: ...


def environment() -> dict[str, str]:
    """The environment of a child that imports the package under test, built in place or installed."""
    paths = [os.environ.get("PYBTF_SOURCES", str(ROOT / "src")), os.environ.get("PYTHONPATH", "")]
    return {
        **{name: value for name, value in os.environ.items() if name != "PAHOLE_LANG_EXCLUDE"},
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "LC_ALL": "C.UTF-8",
    }


@pytest.fixture(scope="session")
def run_cli() -> RunCli:
    """`run_cli("encode", ...)` runs `python -m pybtf encode ...` and waits; text in and out."""

    def run(
        *arguments: object, timeout: float = 60, cwd: Path | None = None, input: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "pybtf", *(str(argument) for argument in arguments)]
        return subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            env=environment(),
            check=False,
            cwd=cwd,
            input=input,
        )

    return run


PR_CAPBSET_DROP = 24
CAPABILITIES = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""


def drop_capabilities() -> None:
    prctl = ctypes.CDLL(None).prctl
    if os.geteuid() == 0 and any(prctl(PR_CAPBSET_DROP, each, 0, 0, 0) for each in CAPABILITIES):
        os._exit(99)


def run_unprivileged(
    *arguments: object, program: str = "pybtf", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """As `run_cli`, where permissions of files count: root has to keep to them, as everybody else."""
    done = subprocess.run(
        [sys.executable, "-m", program, *(str(argument) for argument in arguments)], cwd=cwd,
        capture_output=True, text=True, env=environment(), check=False, timeout=60, preexec_fn=drop_capabilities,
    )  # fmt: skip
    if done.returncode == 99:
        pytest.skip("root may not give up capabilities here")
    return done


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Says which tests are skipped: with PYBTF_SKIPPED=FILE in the environment in lines at the end of FILE, too. With
    PYBTF_SKIPS=N more than N are a failure: they prove nothing.
    """
    bound, file = os.environ.get("PYBTF_SKIPS"), os.environ.get("PYBTF_SKIPPED")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    lines = [
        f"{report.nodeid}: {report.longrepr[2].removeprefix('Skipped: ')}"
        for report in reporter.stats.get("skipped", [])
    ]
    if file:
        with open(file, "a") as out:
            out.writelines(f"{line}\n" for line in lines)
    if bound and len(lines) > int(bound):
        reporter.write_line(f"\n{len(lines)} tests are skipped, which are more than {bound}:", red=True)
        for line in lines:
            reporter.write_line(f"  {line}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def require() -> Require:
    """`require("readelf")` gives the path of a program, or skips the test with its name as the reason."""

    def find(tool: str) -> str:
        found = shutil.which(tool)
        if found is None:
            pytest.skip(f"{tool} is not installed")
        return found

    return find


Noted = Callable[[type, str], list[Any]]


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Noted:
    """Notes what a method of one argument is called with from then on: the same may be done again and again."""

    def note(cls: type, name: str) -> list[Any]:
        found: list[Any] = []
        method = getattr(cls, name)

        def called(self: object, argument: object) -> Any:
            found.append(argument)
            return method(self, argument)

        monkeypatch.setattr(cls, name, called)
        return found

    return note
