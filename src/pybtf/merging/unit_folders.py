"""In which folder each unit of a linked file was compiled: where an object may be that is nowhere else. And the units'
names.
"""

from __future__ import annotations

from pybtf.dwarf.roots import COMP_DIR, NAME, STR_OFFSETS_BASE, Budget, Damaged, heads, root
from pybtf.elf.constants import ET_REL
from pybtf.elf.image import ElfImage
from pybtf.elf.layout import section_addresses
from pybtf.elf.relocation import relocated
from pybtf.elf.values_index import STRIPPED
from pybtf.errors import InputError
from pybtf.merging.pieces import Piece


def unit_folders(image: ElfImage, pieces: list[Piece]) -> dict[int, str]:
    """The folder of each piece, by where that is in the index, if the DWARF of the linked file says them:
    whatever is wrong with that, none.
    """
    found = {}
    try:
        folders = _texts(image, COMP_DIR)
    except (Damaged, InputError):
        return {}
    unit = 0
    for piece in pieces:
        if piece.flags & STRIPPED:
            continue
        if piece.units and unit < len(folders):
            found[piece.at] = folders[unit]
        unit += piece.units
    return found if unit == len(folders) else {}


def unit_names(image: ElfImage) -> list[str]:
    """The names of the sources of all units, if the DWARF says them: whatever is wrong with that, none."""
    try:
        return [name for name in _texts(image, NAME) if name]
    except (Damaged, InputError):
        return []


def _texts(image: ElfImage, attribute: int) -> list[str]:
    """The texts of an attribute of the root, by unit; empty where there is none."""
    sections = {}
    for name in ("info", "abbrev", "str", "line_str", "str_offsets"):
        section = image.debug_section(f".debug_{name}")
        if section is not None:
            rel = image.etype == ET_REL
            sections[name] = relocated(image, section, section_addresses(image)) if rel else image.data(section)
    info, abbrev = sections.get("info", b""), sections.get("abbrev", b"")
    budget = Budget(len(info))
    known: dict[bytes, str] = {}
    """Most units are of few folders."""
    wanted = frozenset((attribute, STR_OFFSETS_BASE))
    found = []
    for head in heads(info, 0, len(info), image.place(), little=image.little):
        top = root(head, info, abbrev, sections, little=image.little, offsets_base=None, budget=budget, wanted=wanted)
        text = top.texts.get(attribute, b"")
        if text not in known:
            known[text] = text.decode("utf-8", "surrogateescape")
        found.append(known[text])
    return found
