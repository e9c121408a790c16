"""Two tasks of one run at the same time: both have ended when the run continues, whatever happens."""

from __future__ import annotations

import threading
import time

import pytest

from pybtf.pipeline.run_threads import side_by_side
from pybtf.support import light_thread


def test_in_two_threads() -> None:
    """Each waits until the other has begun. One after the other, they would never end."""
    both = threading.Barrier(2, timeout=20)
    threads = []

    def meet() -> None:
        both.wait()
        threads.append(threading.get_ident())

    side_by_side(meet, meet)
    assert len(set(threads)) == 2


def test_without_a_second_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(light_thread, "start_new_thread", refuse)
    done: list[str] = []
    side_by_side(lambda: done.append("work"), lambda: done.append("other"))
    assert done == ["work", "other"]


def test_an_error_waits_for_the_other() -> None:
    """The data of the other task may be freed as soon as the error is raised."""
    begun = threading.Event()
    done = []

    def other() -> None:
        begun.set()
        time.sleep(0.2)
        done.append(True)

    def work() -> None:
        assert begun.wait(20)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        side_by_side(work, other)
    assert done
