"""Showing how far a long run is: a bar on a terminal, now and then a line elsewhere.

The pipeline calls it for every unit, thousands of times a second, so it looks at the clock first and draws at
most ten times a second. A run that is over at once draws nothing.
"""

from __future__ import annotations

import os
import sys
import time

from pybtf.cli import console

BAR_WIDTH = 20
FIRST_AFTER = 0.3
"""Seconds before anything is shown."""
BAR_EVERY = 0.1
LINE_EVERY = 5.0
"""Seconds between lines where there is no terminal."""


class Progress:
    """Called with the units (or files: `noun`) done and all there are. It does nothing if it is not to be `shown`.

    As a context manager it clears the bar at the end; if SIGTERM is that, too.
    """

    def __init__(self, label: str, bar: bool, noun: str = "unit", shown: bool = True) -> None:
        self._label = f"{label}  " if label else ""
        self._bar = bar
        self._noun = noun
        self._shown = shown
        self._every = BAR_EVERY if bar else LINE_EVERY
        self._start = time.monotonic()
        self._next = self._start + (FIRST_AFTER if bar else LINE_EVERY)
        self._drawn = False
        self._blocks = ("█", "░") if console.unicode_ok() else ("#", ".")

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._shown:
            return
        if now >= self._next or (self._drawn and done == total):
            self._next = now + self._every
            self._show(self.text(done, total, now - self._start))

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
        if self._drawn and self._bar:
            from pybtf.core.support.bar_signal import leave_sigterm

            leave_sigterm()

    def clear(self) -> None:
        """Make room for a message. The bar comes back with the next call."""
        if self._drawn and self._bar:
            _write("\r\x1b[K")

    def text(self, done: int, total: int, seconds: float) -> str:
        """`vmlinux  ########............   42 %  912/2,172 units  3 s, 4 s to go`"""
        share = done / total if total else 1.0
        filled = int(BAR_WIDTH * share)
        full, empty = self._blocks
        bar = f"{full * filled}{empty * (BAR_WIDTH - filled)}  " if self._bar else ""
        clock = duration(seconds)
        if done == total:
            clock += ", finishing"
        elif share > 0.02:
            clock += f", {duration(seconds / share - seconds)} to go"
        return f"{self._label}{bar}{100 * share:3.0f} %  {done:,}/{total:,} {self._noun}s  {clock}"

    def _show(self, text: str) -> None:
        self._drawn = True
        if self._bar:
            from pybtf.core.support.bar_signal import clear_bar_at_sigterm

            clear_bar_at_sigterm()
        # A line that wraps could not be drawn over.
        _write(f"\r{_fitting(text, _columns() - 1)}\x1b[K" if self._bar else f"{text}\n")


def duration(seconds: float) -> str:
    """`7 s`, `2 min 5 s`, `1 h 3 min`"""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _fitting(text: str, columns: int) -> str:
    """As much of the text as there is room for: signs of East Asia take two columns."""
    from unicodedata import east_asian_width

    for number, sign in enumerate(text):
        columns -= 2 if east_asian_width(sign) in "WF" else 1
        if columns < 0:
            return text[:number]
    return text


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass
