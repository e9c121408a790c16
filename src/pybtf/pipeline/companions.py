"""Which other files the DWARF of a file is in: its separate debug file, its `.dwo` files or their package, its
alternate file. Nobody names them, so no output may replace them: they may be all that there is of it.
"""

from __future__ import annotations

import os

from pybtf.dwarf.sections import debug_sections
from pybtf.elf.layout import section_addresses
from pybtf.elf.packed import open_module
from pybtf.errors import InputError


def companions(path: str, package: str | None = None) -> list[tuple[str, os.stat_result]]:
    """Their paths, as they are found, and what they are; `package` is the `.dwp` that is named. Of a file that cannot
    be read there are none: whoever encodes it says what is wrong. A pipe is left alone, as it can be read only once.
    """
    if not os.path.isfile(path):  # noqa: PTH113 - pathlib takes long to import
        return []
    try:
        with open_module(path) as image:
            found = debug_sections(image, section_addresses(image), package=package, degrade=True)
            return [(source.path, source.status) for source in found.sources if source is not image.source]
    except InputError:
        return []
