"""The input is mapped, not read. If somebody truncates the file meanwhile, or its disk fails, there is no error to
check for: the process gets SIGBUS at some load instruction, on any thread, and dies without a word.

Nothing can be saved then, since the data is gone, but there can be a message. The handler does only what a signal
handler may: write(2) and _exit(2). A SIGBUS that has another reason, a load that is not aligned or kill(2), ends the
process as ever.
"""

from cython.cimports.pybtf.core.support.sigbus import bus_reset, bus_set


class BusErrorMessage:
    """As a context manager: what the process says before it ends with status 1, should it get SIGBUS inside.

    At most 1023 bytes of `text` are kept. For programs, not for libraries: signal handlers belong to the process.
    """

    def __init__(self, text: bytes):
        self.text = text

    def __enter__(self):
        bus_set(self.text)
        return self

    def __exit__(self, *_):
        bus_reset()
