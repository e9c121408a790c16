"""A bar must not stay on the terminal when SIGTERM ends the process, which happens in the middle of the core.

The handler does only what a signal handler may: it clears the line with write(2), and then does what would have
happened without it. If that is a handler of Python's, which waits for the main thread, the bar is gone meanwhile.
"""

from cython.cimports.pybtf.core.support.bar_signal import bar_reset, bar_set


def clear_bar_at_sigterm():
    """SIGTERM clears the line of the terminal first, from now on. To be called again when a bar is drawn again:
    handlers may have been set meanwhile.
    """
    bar_set()


def leave_sigterm():
    """SIGTERM does what it did before, unless a handler has been set meanwhile."""
    bar_reset()
