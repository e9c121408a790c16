"""Notes: small records that producers leave in SHT_NOTE sections.

Two of them matter: the build id, and the kernel's mark that it was built with LTO. Nothing depends on a note
being there, so a damaged one is not an error: it ends the reading of its section. Sections that overlap could
make a small file hold any number of notes; the reading ends when they are larger than the file together.
"""

from __future__ import annotations

from pybtf.elf.constants import NT_GNU_BUILD_ID, SHT_NOTE
from pybtf.elf.image import ElfImage
from pybtf.errors import InputError
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


def notes(image: ElfImage, owner: bytes | None = None) -> Iterator[tuple[bytes, int, bytes]]:
    """Owner (without its NUL), type and descriptor of every note, in section order; of this `owner` only, if given."""
    budget = image.size
    order: Literal["little", "big"] = "little" if image.little else "big"
    for section in image.of_type(SHT_NOTE):
        try:
            data = image.data(section)
        except InputError:
            continue
        size = len(data)
        budget -= size
        if budget < 0:
            return
        if owner is not None and owner not in bytes(data):
            continue
        up = 7 if section.addralign == 8 else 3
        at = 0
        while size - at >= 12:
            name_size, desc_size, kind = (int.from_bytes(data[i : i + 4], order) for i in (at, at + 4, at + 8))
            name = at + 12
            desc = (name + name_size + up) & ~up
            end = desc + desc_size
            if end > size:
                break
            found = bytes(data[name : name + name_size]).removesuffix(b"\0")
            if owner is None or owner == found:
                yield found, kind, bytes(data[desc:end])
            at = (end + up) & ~up


def build_id(image: ElfImage) -> bytes | None:
    """The build id, if the linker left one."""
    return next((desc for _, kind, desc in notes(image, b"GNU") if kind == NT_GNU_BUILD_ID), None)
