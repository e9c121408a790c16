"""Commands that work whatever PYTHONHOME and PYTHONPATH say.

Both are meant for another Python, more often than not: a build sets them for a tool of its own. Commands that
`make build` and contrib/debian install have `-I` in their first line, which pip's cannot have. Those come here, and
only if one of the variables is set.

- Folders of PYTHONPATH go after all others. They are not dropped, since `pip install --target` needs them.
- PYTHONHOME names the standard library. If that is one whose compiled modules do not load, the process starts
  again and ignores it. What is so wrong that Python itself does not start is out of reach.
"""

from __future__ import annotations

import os
import sys

VARIABLES = ("PYTHONHOME", "PYTHONPATH")


def isolate() -> None:
    """Undo what the variables did to this process, before anything is imported that they may have changed."""
    if sys.flags.ignore_environment:
        return
    if os.environ.get("PYTHONHOME") and not _library_loads():
        os.execv(sys.executable, [sys.executable, "-E", *sys.orig_argv[1:]])
    folders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    behind = [folder for folder in sys.path if folder in folders]
    sys.path[:] = [folder for folder in sys.path if folder not in folders] + behind


def _library_loads() -> bool:
    """Whether compiled modules of the standard library are there and fit."""
    try:
        import array  # noqa: F401
        import fcntl  # noqa: F401
        import mmap  # noqa: F401
    except ImportError:
        return False
    return True
