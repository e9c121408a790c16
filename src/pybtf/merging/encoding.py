"""`pybtf object`: values for object files, one or many, and for the members of archives."""

from __future__ import annotations

import os
import stat

from pybtf.elf.atomic import write_all
from pybtf.elf.constants import ET_REL
from pybtf.elf.image import ElfImage, Source
from pybtf.elf.outline import read_outline
from pybtf.elf.values_index import STRIPPED, compressed_name
from pybtf.elf.writer import replace_contents
from pybtf.errors import InputError
from pybtf.features import Features
from pybtf.merging.archives import THIN, Member, check_member, files_of, is_archive, members, replaced
from pybtf.merging.facts import has_dwarf, is_for_lto, shaping, source_digest
from pybtf.merging.index import find_index, find_payloads, index_of
from pybtf.merging.objects import object_values, require_object
from pybtf.merging.pieces import INLINE, ONE_UNIT, RULES, Piece, payloads
from pybtf.merging.placing import Placing, is_stored, put_into_store, put_values, with_values
from pybtf.support.records import record

DONE = "done"
NOTHING = "nothing"
CURRENT = "current"


@record(frozen=True)
class Outcome:
    """What was done to an object: `DONE`, `CURRENT` (it had just these values), `NOTHING` (it has no DWARF)."""

    path: str
    what: str
    units: int = 0
    before: int = 0
    after: int = 0
    one_unit: bool = False


def encode_object(path: str, features: Features, how: Placing, protected: bool = False) -> Outcome:
    """Give the object file `path` its values, in place, all or nothing; `protected`: even if it is write-protected.
    Raises `PybtfError`.
    """
    with ElfImage.open(path) as image:
        size = image.size
        early = _needless(image, features, how)
        if early is not None:
            return Outcome(path, early, before=size, after=size)
        values = object_values(image, path, features, how.strip)
        status = image.status
    put_values(path, values, how, status, protected)
    after = os.stat(path).st_size  # noqa: PTH116
    return Outcome(path, DONE, values.piece.units, size, after, bool(values.piece.flags & ONE_UNIT))


def encode_any(path: str, features: Features, how: Placing, member: bool = False) -> list[Outcome]:
    """`encode_object` for an object file, or for the members of an archive: in place for a regular one, and where they
    are for a thin one, of which `path` may be a `member`. Raises `PybtfError`; a regular archive is then as it was.
    """
    source = Source(path)
    head = source.head(8)
    if member:
        check_member(path, head)
        if is_archive(head):
            hint = "Give values to this one, then make the thin one anew: it has the places of its members."
            raise InputError(path, "an archive with members that a thin archive names", "object files", hint)
    if not is_archive(head):
        return [encode_object(path, features, how)]
    data = source.read()
    there = members(path, data)
    if data[:8] == THIN:
        return [outcome for each in files_of(there) for outcome in encode_any(each, features, how, member=True)]
    outcomes, new = [], {}
    for each in there:
        if not each.table:
            outcome, content = _encode_member(path, each, data, features, how)
            outcomes.append(outcome)
            if content is not None:
                new[each.head] = content
    changed = source.change()
    if changed is not None:
        raise changed
    if new:
        replace_contents(path, replaced(path, data, there, new), expect=source.status, durable=False)
    return outcomes


def _encode_member(
    path: str, member: Member, data: bytes, features: Features, how: Placing
) -> tuple[Outcome, bytes | None]:
    """What became of a member, and its new contents, if they are others."""
    title = f"{path}({member.name})"
    content = data[member.start : member.start + member.size]
    with ElfImage(title, content) as image:
        early = _needless(image, features, how)
        if early is not None:
            return Outcome(title, early, before=len(content), after=len(content)), None
        values = object_values(image, path, features, how.strip)
    fd = os.memfd_create("member", os.MFD_CLOEXEC)
    try:
        write_all(fd, content)
        made = with_values(read_outline(title, fd, len(content)), values, how)
    finally:
        os.close(fd)
    one = bool(values.piece.flags & ONE_UNIT)
    return Outcome(title, DONE, values.piece.units, len(content), len(made), one), made


def encode_compiled(path: str, features: Features, how: Placing) -> None:
    """`encode_object` for what a compiler has just made, if that is an object with DWARF: bitcode and assembler's
    listings are none, and objects for link-time optimisation have no code yet. Raises `PybtfError`.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - a pipe would be waited for
            return
        with open(path, "rb") as file:
            head = file.read(4)
    except (OSError, ValueError):
        return
    if head != b"\x7fELF":
        return
    with ElfImage.open(path) as image:
        if image.etype != ET_REL or not has_dwarf(image) or is_for_lto(image):
            return
    encode_object(path, features, how, protected=True)  # it is ours: ccache write-protects what it has linked


def _needless(image: ElfImage, features: Features, how: Placing) -> str | None:
    """Why nothing is to be done about an object, or None. Raises `InputError` for one that cannot be encoded."""
    if is_for_lto(image):
        raise InputError(
            image.place(),
            "an object for link-time optimisation (.gnu.debuglto_*), whose code does not exist yet",
            "an object as it is linked",
            "Encode what comes of the link, or build without -flto.",
        )
    known = find_index(image)
    if known is None:
        if not has_dwarf(image):
            return NOTHING
        taken = image.section(how.section) or image.section(compressed_name(how.section))
        if taken is not None:
            raise InputError(
                image.place(taken),
                "a section of the object, which has no values",
                "none of this name",
                "Choose another name with --section.",
            )
        return None
    if known.name not in (how.section, compressed_name(how.section)):
        if not has_dwarf(image):
            raise _lost(image, f"values in {known.name}, and no DWARF to make others of")
        raise InputError(
            image.place(known), "values of this object under another name", how.section, "Compile it anew."
        )
    pieces = index_of(image, known)
    if not has_dwarf(image):
        _check_made(image, pieces, features, how)
        if how.store is not None:
            _store_payloads(image, how.store)
        return CURRENT
    if any(piece.flags & STRIPPED for piece in pieces):
        raise InputError(
            image.place(known),
            "values of objects without DWARF, and DWARF of others",
            "DWARF of all",
            "Give values to the objects before ld -r makes one of them.",
        )
    if len(pieces) == 1 and _fits(image, pieces[0], features, how):
        return CURRENT
    return None


def _check_made(image: ElfImage, pieces: list[Piece], features: Features, how: Placing) -> None:
    """Raise `InputError` if values that cannot be made anew are not those that are asked for."""
    require_object(image)
    for piece in pieces:
        if (piece.options, piece.rules) != (shaping(features), RULES):
            raise _lost(image, "values made with other features or by another version of pybtf, and no DWARF")
        if how.inline and piece.payload_size and not piece.flags & INLINE:
            raise _lost(image, "values that are not inline, and no DWARF")


def _store_payloads(image: ElfImage, store: str) -> None:
    """Puts the values that an object has in a section into the store as well."""
    section = find_payloads(image)
    if section is not None:
        for _, values in payloads(image.data(section), image.place(section), little=image.little):
            put_into_store(store, bytes(values))


def _lost(image: ElfImage, found: str) -> InputError:
    return InputError(image.place(), found, "DWARF", "Compile it anew.")


def _fits(image: ElfImage, piece: Piece, features: Features, how: Placing) -> bool:
    """Whether values that are there are just those that would be made."""
    return (
        not how.strip
        and (piece.options, piece.rules) == (shaping(features), RULES)
        and not piece.flags & STRIPPED
        and bool(piece.flags & INLINE) == how.inline
        and (how.store is None or find_payloads(image) is None)
        and (how.store is not None or how.inline or find_payloads(image) is not None)
        and piece.source_digest == source_digest(image)
        and (how.store is None or is_stored(how.store, piece.payload_digest, piece.payload_size))
    )
