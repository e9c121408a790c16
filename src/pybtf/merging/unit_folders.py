"""In which folder each unit of a linked file was compiled: where an object may be that is nowhere else."""

from __future__ import annotations

from pybtf.dwarf.roots import COMP_DIR, Budget, Damaged, heads, root
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
        folders = _folders(image)
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


def _folders(image: ElfImage) -> list[str]:
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
    found = []
    for head in heads(info, 0, len(info), image.place(), little=image.little):
        top = root(head, info, abbrev, sections, little=image.little, offsets_base=None, budget=budget)
        folder = top.texts.get(COMP_DIR, b"")
        if folder not in known:
            known[folder] = folder.decode("utf-8", "surrogateescape")
        found.append(known[folder])
    return found
