"""Holding back the signals that end a process, for what must not be interrupted halfway.

`signal.pthread_sigmask` does the same, but `signal` makes enumerations when it is imported, which takes longer than to
write a file.
"""

import cython
from cython.cimports.pybtf.core.support.end_signals import (
    SIG_BLOCK,
    SIG_SETMASK,
    end_signals_of,
    mask_signals,
    sigset_t,
)


@cython.final
@cython.cclass
class EndSignalsHeld:
    """As a context manager: SIGTERM, SIGHUP and SIGINT have to wait, if they are for this thread."""

    before: sigset_t

    def __enter__(self):
        held = cython.declare(sigset_t)
        end_signals_of(cython.address(held))
        mask_signals(SIG_BLOCK, cython.address(held), cython.address(self.before))

    def __exit__(self, *_):
        mask_signals(SIG_SETMASK, cython.address(self.before), cython.NULL)
