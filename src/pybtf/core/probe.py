"""Whether the core is compiled at all: importing this module uncompiled fails with a clear sentence."""

import cython

if not cython.compiled:
    raise ImportError("pybtf.core.probe was found as source, not as a compiled module")
