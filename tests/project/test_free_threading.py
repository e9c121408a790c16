"""The core declares that it needs no interpreter lock (`freethreading_compatible` in setup.py).

The tests with threads prove something only in a free-threaded interpreter; docs/development.md says how to get one.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any

from pybtf import BTF
from pybtf.support.threads import SideBySide
from tests.conftest import ROOT

THREADS = 8
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))

IMPORT_ALL = """
import importlib, pathlib, sys
import pybtf, pybtf.core
folder = pathlib.Path(pybtf.core.__file__).parent
for path in sorted(folder.rglob("*.py")):
    if path.name != "__init__.py":
        importlib.import_module(".".join(("pybtf.core", *path.relative_to(folder).with_suffix("").parts)))
print(getattr(sys, "_is_gil_enabled", lambda: True)())
"""


def together(work: Callable[[int], None]) -> None:
    """Calls `work` in several threads that begin at the same moment. An exception in one of them is raised here."""
    start = Barrier(THREADS)
    raised: list[BaseException] = []

    def run(number: int) -> None:
        start.wait()
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    threads = [Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def test_the_build_declares_it() -> None:
    tree = ast.parse((ROOT / "setup.py").read_text())
    (table,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DIRECTIVES"
    )
    assert table["freethreading_compatible"] is True


def test_no_module_of_the_core_switches_the_lock_on() -> None:
    """An extension without the declaration would do so with a RuntimeWarning, which is an error here."""
    argv = [sys.executable, "-W", "error", "-c", IMPORT_ALL]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout == f"{not FREE_THREADED}\n"


def test_one_btf_in_many_threads() -> None:
    """Names, their hash table and the first objects are made on demand, and correctly, whichever thread is first."""
    path = ROOT / "fixtures" / "split" / "golden" / "kernel.gcc.btf"
    alone = BTF.from_file(path)
    names = sorted({type.name for type in alone if type.name})
    expected = {name: [type.id for type in alone.all_by_name(name)] for name in names}
    types = list(alone)
    for _ in range(20 if FREE_THREADED else 2):
        shared = BTF.from_file(path)

        def work(number: int, shared: BTF = shared) -> None:
            if number % 2:
                assert list(shared) == types
            for name in names:
                assert [type.id for type in shared.all_by_name(name)] == expected[name], name

        together(work)


def test_the_first_objects_of_a_process() -> None:
    code = (
        "import sys; from tests.project.test_free_threading import *; "
        "from pathlib import Path; data = Path(sys.argv[1]).read_bytes(); "
        "found = []; together(lambda number: found.append(len(list(BTF.from_bytes(data))))); print(*found)"
    )
    path = ROOT / "fixtures" / "split" / "golden" / "kernel.gcc.btf"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [str(len(BTF.from_file(path)))] * THREADS


def test_each_task_once() -> None:
    tasks = range(20_000)

    def work(task: int, _check: Callable[[int, int], None]) -> int:
        return task

    found: list[tuple[int, Any]] = []
    with SideBySide(tasks, work, THREADS) as side_by_side:
        found += side_by_side
    assert sorted(found) == [(task, task) for task in tasks]
