"""Kernel modules: how they are told, and for which kernel they say they are.

The module loader looks for a section `.gnu.linkonce.this_module`, so each module has one; nothing else has, not even
the objects that a module or the kernel is linked of. `.modinfo` holds texts of the form `key=value`, each with a NUL
behind it; that of `vermagic` begins with the kernel's release.
"""

from __future__ import annotations

from pybtf.elf.constants import ET_REL
from pybtf.elf.image import ElfImage
from pybtf.errors import InputError
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

THIS_MODULE: Final = ".gnu.linkonce.this_module"
MODINFO: Final = ".modinfo"

_VERMAGIC: Final = b"\0vermagic="


def is_module(image: ElfImage) -> bool:
    """Whether the file is a kernel module, also if it has been stripped of its contents."""
    return image.etype == ET_REL and image.section(THIS_MODULE) is not None


def release_of_module(image: ElfImage) -> str | None:
    """The release of the kernel that a module was built for, `6.1.0-50-amd64`; None if it does not say."""
    section = image.section(MODINFO)
    if section is None:
        return None
    try:
        text = b"\0" + bytes(image.data(section))
    except InputError:
        return None
    _, found, rest = text.partition(_VERMAGIC)
    words = rest.partition(b"\0")[0].split()
    return words[0].decode("utf-8", "backslashreplace") if found and words else None
