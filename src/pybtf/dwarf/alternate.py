"""The alternate file of dwz: what a file shares with others of its kind.

`dwz -m` moves DIEs and strings that several files have into one more file and leaves three traces of it in each: forms
that refer to it (DW_FORM_GNU_ref_alt, DW_FORM_GNU_strp_alt), the section `.gnu_debugaltlink` with its name, and its
build id. DWARF 5 has standardised this as supplementary files (`dwz --dwarf-5`): the same with other forms
(DW_FORM_ref_sup4, DW_FORM_ref_sup8, DW_FORM_strp_sup) and with the section `.debug_sup` in both files, which has an
identity of any kind. The search is pahole's (libdw's), found by watching which files it opens:

1. by build id, in /usr/lib/debug/.build-id, where the path is the id;
2. by name, from the folder of the file as it is given, then from that of the file itself, where links lead to it: the
   name of the link, its last part in the folder `.dwz`, the name in the folder `.debug`; its last part in
   /usr/lib/debug, and in `.dwz` there;
3. the name itself, if it is a path from the root.

The file is the one that has the DWARF: a separate debug file, if there is one. An alternate file must have the identity
that the link gives, so a wrong one is passed over.

The core wants one run of bytes as .debug_info, and one as .debug_str: the alternate file's are appended to the file's
own. The other sections are handed over as they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from struct import unpack_from

from pybtf.dwarf import separate
from pybtf.elf.image import ElfImage
from pybtf.elf.notes import build_id
from pybtf.errors import InputError, shortened
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from typing import Final

# What the core needs of an alternate file, beside .debug_info and .debug_str: there is no code in it, so nothing of it.
WANTED: Final = ("abbrev", "line_str", "str_offsets")

Buffer = bytes | bytearray | memoryview


@record(frozen=True)
class Link:
    """What a file says of its alternate file."""

    section: str
    name: str
    identity: bytes


class Alternate(dict[str, Buffer]):
    """Sections of an alternate file by short name, and where those are that were appended to the file's own."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.info_at = 0
        """Where its units start in the file's `info`."""
        self.str_at = 0
        """Where its strings start in the file's `str`."""
        self.has_units = False


def find_alternate_file(image: ElfImage) -> tuple[ElfImage | None, str]:
    """The alternate file of `image`, open; if there is none, why, or "" if the file does not say which. Not to have one
    is not an error: perhaps nothing that is there is ever needed.

    Raises `InputError` if the link to it is damaged.
    """
    link = alternate_link(image)
    if link is None:
        return None, ""
    places = _places(image.path, link, separate.DEBUG_ROOT)
    found, tried, refused = separate.first_fitting(places, lambda candidate: _difference(image, candidate, link))
    if found is not None:
        return found, ""
    named = f"{shortened(link.name)}, {shortened(link.identity.hex())}"
    looked = f"Looked for it ({link.section}: {named}) as {', '.join(map(shortened, tried))}."
    return None, f"{looked} Not it: {'; '.join(refused)}." if refused else looked


def alternate_link(image: ElfImage) -> Link | None:
    """What the file says of its alternate file, None if nothing. Raises `InputError` if that is damaged."""
    section = image.section(".gnu_debugaltlink")
    if section is not None:
        name, nul, identity = image.head(section, 2 * separate.LONGEST + 2).partition(b"\0")
        if len(name) > separate.LONGEST:
            raise separate.long_name(image.place(section))
        if not name or not nul or not identity or len(identity) > separate.LONGEST:
            raise InputError(image.place(section), f"{section.size} bytes", "a file name and a build id")
        return Link(section.name, os.fsdecode(name), identity)
    found = _supplement(image)
    if found is None or found[0] != 0:
        return None
    return Link(".debug_sup", os.fsdecode(found[1]), found[2])


def _supplement(image: ElfImage) -> tuple[int, bytes, bytes] | None:
    """Of `.debug_sup`: whether this is the supplementary file, the name of the other, and an identity of both (DWARF 5,
    7.3.6). None if there is no such section.
    """
    section = image.debug_section(".debug_sup")
    if section is None:
        return None
    data = image.head(section, separate.LONGEST + 256)
    found = f"{image.declared_size(section)} bytes"
    wrong = InputError(image.place(section), found, "version 5, a flag, a file name and an identity")
    if len(data) < 4 or unpack_from(f"{image.order}H", data)[0] != 5:
        raise wrong
    name, nul, rest = data[3:].partition(b"\0")
    if len(name) > separate.LONGEST:
        raise separate.long_name(image.place(section))
    size = rest[0] if rest else 0
    if not nul or not 0 < size < 0x80 or len(rest) <= size or (data[2] == 0 and not name):
        raise wrong
    return data[2], name, rest[1 : 1 + size]


def _places(path: str, link: Link, root: str) -> Iterator[str]:
    """Where the alternate file may be, in the order of the search."""
    digits = link.identity.hex()
    if len(link.identity) > 2:
        yield f"{root}/.build-id/{digits[:2]}/{digits[2:]}.debug"
    last = link.name.rpartition("/")[2]
    own = os.path.dirname(path)  # noqa: PTH120
    real = os.path.dirname(os.path.realpath(path))  # noqa: PTH120
    for folder in (own, real):
        start = f"{folder}/" if folder else ""
        # Even where the name is a path from the root: a tree of files may have been moved.
        yield f"{start}{link.name}"
        yield f"{start}.dwz/{last}"
        yield f"{start}.debug/{link.name}"
        yield f"{root}/{last}"
        yield f"{root}/.dwz/{last}"
    if link.name.startswith("/"):
        yield link.name
        # The reference does not look there: in the tree of an unpacked package, FOLDER/usr/lib/debug.
        tree, found, _ = f"{real}/".rpartition(f"{root}/")
        if found:
            yield f"{tree}{link.name}"


def _difference(image: ElfImage, found: ElfImage, link: Link) -> str:
    """Why `found` is not the alternate file of `image`; "" if it is."""
    try:
        theirs = _identity(found, link)
    except InputError as error:
        return f"is damaged ({error})"
    if theirs != link.identity:
        return f"has {'the identity ' + shortened(theirs.hex()) if theirs else 'no identity'}"
    if (found.is64, found.little) != (image.is64, image.little):
        return "is for another kind of machine"
    present = [found.debug_section(f".debug_{name}") is not None for name in ("info", "abbrev", "str")]
    # Where files share nothing but strings, there are no units.
    if present[0] != present[1] or not any(present):
        return "has no DWARF"
    return ""


def _identity(found: ElfImage, link: Link) -> bytes | None:
    if link.section == ".debug_sup":
        own = _supplement(found)
        return own[2] if own is not None and own[0] == 1 else None
    return build_id(found)
