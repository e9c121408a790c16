"""`rules_probe`, which is compiled and belongs to the core that is under test, wherever that is."""

import os
from pathlib import Path

if _sources := os.environ.get("PYBTF_SOURCES"):
    __path__.insert(0, str(Path(_sources).with_name("tests") / "probe"))
