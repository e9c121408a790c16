"""Values put into an object file, or into a store; and taken from there.

The payload may be in three places. In the object, in a section that a final link leaves out (SHF_EXCLUDE); inline in
the index, which goes through the link; or in a *store*, a folder of files called by their digests.
"""

# ruff: noqa: PTH103
# To import pathlib takes as long as to encode an object.

from __future__ import annotations

import os
import stat

from pybtf.elf.atomic import explained, write_file
from pybtf.elf.constants import SHF_EXCLUDE
from pybtf.elf.outline import Outline
from pybtf.elf.rebuild import NewSection, rebuild
from pybtf.elf.values_index import compressed_name
from pybtf.elf.writer import rewrite
from pybtf.merging.objects import Values
from pybtf.merging.pieces import INDEX, INLINE, ONE_UNIT, PAYLOAD, pack, pack_payload, payload_digest, stored_path
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from typing import Final

DWARF: Final = (b".debug_", b".zdebug_")


@record(frozen=True)
class Placing:
    """How an object is to carry its values. `section`: the name of the index; `store`: a folder for payloads."""

    strip: bool = False
    inline: bool = False
    store: str | None = None
    section: str = INDEX


def with_values(outline: Outline, values: Values, how: Placing) -> bytes:
    """The object file with its values. The payload is written to the store, if there is one. Raises `PybtfError`."""
    little = outline.wire.little
    piece = values.piece
    if how.inline:
        piece = piece._replace(flags=piece.flags | INLINE, payload=values.payload)
    new = [
        NewSection(
            how.section,
            pack(piece, little=little),
            relocations=values.relocations or None,
            rela=values.rela,
            symtab=values.symtab,
        )
    ]
    if how.store is not None:
        put_into_store(how.store, values.payload)
    elif not how.inline:
        new.append(NewSection(PAYLOAD, pack_payload(values.payload, little=little), flags=SHF_EXCLUDE))
    gone = [compressed_name(how.section), compressed_name(PAYLOAD)]
    gone += [PAYLOAD] if len(new) == 1 else []
    old = {index for index in [outline.find(name.encode()) for name in gone] if index is not None}
    strip = how.strip and not piece.flags & ONE_UNIT  # of which there are no values
    return rebuild(outline, new, old | (_dwarf(outline, how.section) if strip else set()))


def put_values(
    path: str, values: Values, how: Placing, expect: os.stat_result | None, protected: bool = False
) -> None:
    """Replace an object file by one with its values, `protected` (writer.py) or not. Raises `PybtfError`; the file is
    then as it was.
    """
    rewrite(
        path, lambda outline: with_values(outline, values, how), expect=expect, durable=False, protected=protected
    )


def _dwarf(outline: Outline, index: str) -> set[int]:
    """The sections of DWARF: not those of values."""
    keep = (index.encode() + b"\0", PAYLOAD.encode() + b"\0")
    begins = outline.strings.startswith  # no name is copied: very many sections may have one long name
    return {
        number
        for number, header in enumerate(outline.shdrs[1:], 1)
        if begins(DWARF, header.name) and not begins(keep, header.name)
    }


def is_stored(store: str, its_digest: bytes, size: int) -> bool:
    """Whether the store has the payload with this digest: not only a file of its name, which may be damaged."""
    path = stored_path(store, its_digest)
    try:
        found = os.stat(path)  # noqa: PTH116
        if not stat.S_ISREG(found.st_mode) or found.st_size != size:
            return False
        with open(path, "rb") as file:
            return payload_digest(file.read(size)) == its_digest
    except OSError:
        return False


def put_into_store(store: str, payload: bytes) -> None:
    """Makes the store have a payload. Raises `OutputError`."""
    its_digest = payload_digest(payload)
    if is_stored(store, its_digest, len(payload)):
        return
    path = stored_path(store, its_digest)
    folder = os.path.dirname(path)  # noqa: PTH120
    with explained(folder, "Name another folder with --store."):
        os.makedirs(folder, exist_ok=True)
    write_file(path, payload, durable=False)
