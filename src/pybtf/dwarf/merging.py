"""Whether all units of a file form one logical unit (pahole's merge mode).

Units that refer to each other cannot be decoded one by one: link-time optimisation leaves such DWARF, and so does dwz.
pahole decides by what the file says of itself: a Linux build note that link-time optimisation was used, or any
abbreviation with a reference that may leave its unit.
"""

from __future__ import annotations

from pybtf.elf.image import ElfImage
from pybtf.elf.notes import notes
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

LTO_NOTE: Final = 0x101


def built_with_lto(image: ElfImage) -> bool:
    """Whether a Linux note of type 0x101 with a nonzero descriptor says so; one that is zero decides nothing (Q33)."""
    return any(kind == LTO_NOTE and any(desc[:4]) for _, kind, desc in notes(image, b"Linux") if len(desc) >= 4)
