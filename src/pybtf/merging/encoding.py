"""`pybtf object`: values for object files, one or many, and for the members of archives."""

from __future__ import annotations

import os

from pybtf.elf.image import ElfImage
from pybtf.errors import InputError
from pybtf.features import Features
from pybtf.merging.index import find_index, index_of
from pybtf.merging.objects import has_dwarf, is_for_lto, object_values, shaping, source_digest
from pybtf.merging.pieces import INLINE, ONE_UNIT, RULES, STRIPPED, Piece
from pybtf.merging.placing import Placing, put_values, stored_path, with_values
from pybtf.records import record

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


def encode_object(path: str, features: Features, how: Placing) -> Outcome:
    """Give the object file `path` its values, in place, all or nothing. Raises `PybtfError`."""
    with ElfImage.open(path) as image:
        size = image.size
        early = _needless(image, features, how)
        if early is not None:
            return Outcome(path, early, before=size, after=size)
        values = object_values(image, path, features, how.strip)
        status = image.status
    put_values(path, values, how, status)
    after = os.stat(path).st_size  # noqa: PTH116
    return Outcome(path, DONE, values.piece.units, size, after, bool(values.piece.flags & ONE_UNIT))


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
        return None if has_dwarf(image) else NOTHING
    if known.name != how.section:
        if not has_dwarf(image):
            raise _lost(image, f"values in {known.name}, and no DWARF to make others of")
        raise InputError(
            image.place(known), "values of this object under another name", how.section, "Compile it anew."
        )
    pieces = index_of(image, known)
    if not has_dwarf(image):
        _check_made(image, pieces, features)
        return CURRENT
    if len(pieces) == 1 and _fits(image, pieces[0], features, how):
        return CURRENT
    return None


def _check_made(image: ElfImage, pieces: list[Piece], features: Features) -> None:
    """Raise `InputError` if values that cannot be made anew are not those that are asked for."""
    for piece in pieces:
        if (piece.options, piece.rules) != (shaping(features), RULES):
            raise _lost(image, "values made with other features or by another version of pybtf, and no DWARF")


def _lost(image: ElfImage, found: str) -> InputError:
    return InputError(image.place(), found, "DWARF", "Compile it anew.")


def _fits(image: ElfImage, piece: Piece, features: Features, how: Placing) -> bool:
    """Whether values that are there are just those that would be made."""
    return (
        not how.strip
        and (piece.options, piece.rules) == (shaping(features), RULES)
        and not piece.flags & STRIPPED
        and bool(piece.flags & INLINE) == how.inline
        and (how.store is None or os.path.exists(stored_path(how.store, piece.payload_digest)))  # noqa: PTH110
        and (how.store is None or image.section(".btf.values") is None)
        and (how.store is not None or how.inline or image.section(".btf.values") is not None)
        and piece.source_digest == source_digest(image)
    )
