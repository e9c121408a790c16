"""`rules_probe` is compiled and belongs to the core under test, wherever that is."""

import os
from pathlib import Path

if _sources := os.environ.get("PYBTF_SOURCES"):
    __path__.insert(0, str(Path(_sources).with_name("tests") / "probe"))
