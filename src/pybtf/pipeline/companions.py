"""Which other files the DWARF of a file is in: its separate debug file, its `.dwo` files or their package, its
alternate file. Nobody names them, so no output may replace them: they may be all that there is of it.
"""

from __future__ import annotations

from pybtf.dwarf.sections import debug_sections
from pybtf.elf.layout import section_addresses
from pybtf.elf.packed import open_module
from pybtf.errors import InputError

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os


def companions(path: str, package: str | None = None) -> list[tuple[str, os.stat_result]]:
    """Their paths, as they are found, and what they are; `package` is the `.dwp` that is named. Of a file that cannot
    be read there are none: whoever encodes it says what is wrong.
    """
    try:
        with open_module(path) as image:
            found = debug_sections(image, section_addresses(image), package=package, degrade=True)
            return [(source.path, source.status) for source in found.sources if source is not image.source]
    except InputError:
        return []
