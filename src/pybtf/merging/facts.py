"""Facts about an object that making values and merging them both need: its DWARF, and the options that shape values.

They are in a file of their own because a merge needs nothing else of what makes values: importing all of that takes
longer than merging the values of a module.
"""

from __future__ import annotations

from pybtf.core.codes import OPTIONS
from pybtf.elf.constants import SHT_SYMTAB
from pybtf.elf.image import ElfImage
from pybtf.elf.symbols import symbol_source
from pybtf.features import SHAPING, Features
from pybtf.merging.pieces import digest
from pybtf.pipeline.passes import option_bits


def shaping(features: Features) -> int:
    """The options of an encoding that its objects must have been given."""
    return option_bits(tuple([name for name in features.on if name in SHAPING]))


def shaping_names(options: int) -> str:
    """The features that these options stand for."""
    return ",".join([name for name in SHAPING if options & OPTIONS[name]]) or "none"


def has_dwarf(image: ElfImage) -> bool:
    """Whether the object has units of its own."""
    info = image.section(".debug_info") or image.section(".zdebug_info")
    return info is not None and info.size > 0


def is_for_lto(image: ElfImage) -> bool:
    """Whether the object is one for link-time optimisation by gcc: it has no code to speak of yet."""
    return any(section.name.startswith(".gnu.debuglto_") for section in image.sections)


_DIGESTED = frozenset((".debug_info", ".debug_abbrev", ".zdebug_info", ".zdebug_abbrev"))


def source_digest(image: ElfImage) -> bytes:
    """That of .debug_info and .debug_abbrev, as they are in the object, or were before they were compressed."""
    return digest(
        *[
            image.data(section)
            for section in image.sections
            if section.name in _DIGESTED and section.size
        ]
    )


def source_files(image: ElfImage) -> tuple[str, ...]:
    """The names of the STT_FILE symbols."""
    symtab = next(iter(image.of_type(SHT_SYMTAB)), None)
    return tuple(symbol_source(image, symtab).file_names()) if symtab is not None else ()
