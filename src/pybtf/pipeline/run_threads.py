"""Several workers of one run: threads, of which the one that calls is the first; and two tasks side by side."""

from __future__ import annotations

from pybtf.core.run import Run
from pybtf.support import TYPE_CHECKING
from pybtf.support.light_thread import LightThread

if TYPE_CHECKING:
    from collections.abc import Callable


def work_together(run: Run, jobs: int, on_slice: Callable[[int, int], None]) -> None:
    """All workers, until no unit is left. The first exception of any is raised here."""
    failures: list[BaseException] = []

    def work() -> None:
        try:
            run.work()
        except BaseException as error:
            failures.append(error)
            run.stop()

    threads: list[LightThread] = []
    try:
        for _ in range(1, jobs):
            thread = LightThread(work)
            try:
                thread.start()
            except RuntimeError:
                break  # the system allows no more; fewer do the same
            threads.append(thread)
        run.work(on_slice)
        for thread in threads:
            thread.join()
    except BaseException:
        run.stop()
        for thread in threads:
            thread.join()
        raise
    if failures:
        raise failures[0]


def side_by_side(work: Callable[[], None], other: Callable[[], None]) -> None:
    """Do `work` here and `other`, which raises nothing, in another thread; both are over on return."""
    thread = LightThread(other)
    try:
        thread.start()
    except RuntimeError:  # the system allows no more
        work()
        other()
        return
    try:
        work()
    finally:
        thread.join()
