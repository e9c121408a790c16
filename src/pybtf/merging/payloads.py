"""Where the values of a linked file's objects are: in the index itself, in objects and archives, in a store, a cache.

Each is asked for by its digest, and what is found is compared with it. So no object can be taken for another, nor one
that was compiled anew for the one that was linked.
"""

# ruff: noqa: PTH113, PTH118, PTH120
# To import pathlib takes longer than to look for an object.

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from pybtf.core.elf.find_section import find_section
from pybtf.core.support.mapped_file import MappedFile
from pybtf.elf.constants import SHF_EXECINSTR
from pybtf.elf.image import ElfImage, Source
from pybtf.elf.values_index import STRIPPED
from pybtf.errors import InputError
from pybtf.merging.archives import check_member, is_archive, members
from pybtf.merging.index import find_index, index_of
from pybtf.merging.objects import has_dwarf, source_digest
from pybtf.merging.pieces import INLINE, PAYLOAD, Piece, digest, first_payload, payloads
from pybtf.merging.placing import stored_path
from pybtf.pipeline import Buffer

# Known to type checkers under this name; importing `typing` takes longer than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pybtf.merging.cache import Cache

_PAYLOAD_NAME = PAYLOAD.encode()
_ADVICE = "Link again, with the objects as they are."


class Payloads:
    """The values of objects by digest, each with the file it is from."""

    def __init__(self, cache: Cache | None = None) -> None:
        self.cache = cache
        self.wanted: dict[bytes, Buffer] = {}
        """What has been asked for and was not inline, for a cache to keep."""
        self._mapped: dict[int, tuple[MappedFile, str]] = {}
        self.found: dict[bytes, tuple[Buffer, str]] = {}
        self.without: list[str] = []
        """Objects that have code, but neither values nor DWARF."""
        self._held: dict[str, list[bytes]] = {}

    def each(
        self, pieces: list[Piece], file: str, store: str | None, paths: list[str]
    ) -> Iterator[tuple[Buffer, Buffer]]:
        """The values of all pieces of `file` and the addresses of these, in order; where each was is put into `paths`.

        Each is looked for when it is asked for, and what has to be seen of all of them at that moment is: its pages do
        not count for this process afterwards. Raises `InputError` for the first that is nowhere.
        """
        for piece in pieces:
            values, where = self(piece, file, store)
            paths.append(where)
            yield values, memoryview(piece.addresses)
            if isinstance(values, memoryview) and isinstance(values.obj, MappedFile):
                values.obj.pass_over(values)

    def __call__(self, piece: Piece, file: str, store: str | None) -> tuple[Buffer, str]:
        """The values that a piece of `file` stands for, and where they were. Raises `InputError` if they are nowhere.
        """
        if piece.flags & INLINE:
            return self._checked(piece, piece.payload, file)
        cached = self.cache.find(piece.payload_digest) if self.cache is not None else None
        if cached is not None and self.cache is not None:
            self.wanted[piece.payload_digest] = cached
            return cached, self.cache.path
        known = self.found.get(piece.payload_digest)
        if known is None and store is not None:
            known = self._stored(piece, stored_path(store, piece.payload_digest))
        if known is None:
            self._look_beside(piece, file)
            known = self.found.get(piece.payload_digest)
        if known is None:
            raise self._missing(piece, store)
        values, where = self._checked(piece, *known)
        self.wanted[piece.payload_digest] = values
        return values, where

    def _checked(self, piece: Piece, values: Buffer, where: str) -> tuple[Buffer, str]:
        if digest(values) != piece.payload_digest or len(values) != piece.payload_size:
            raise InputError(where, f"the values of {piece.path} are not those that were linked", "them", _ADVICE)
        if isinstance(values, memoryview) and isinstance(values.obj, MappedFile):
            self._mapped[id(values.obj)] = values.obj, where
        return values, where

    def check_unchanged(self) -> None:
        """Raise `InputError` if somebody has written to a file since its values were compared with their digest."""
        changed = [where for mapped, where in self._mapped.values() if mapped.was_written()]
        if self.cache is not None and self.cache.was_changed():
            changed.append(self.cache.path)
        if changed:
            raise InputError(changed[0], "was changed while it was read", "a file that nobody writes to")

    def _stored(self, piece: Piece, path: str) -> tuple[Buffer, str] | None:
        try:
            with open(path, "rb") as file:
                return file.read(), path
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(path, f"cannot be read: {error.strerror}", f"the values of {piece.path}") from None

    def _look_beside(self, piece: Piece, file: str) -> None:
        """Look at the object where it was when it was encoded: from here, and from where the linked file is."""
        if piece.path and not self._look_at(piece, piece.path):
            self._look_at(piece, os.path.join(os.path.dirname(file), piece.path))

    def _look_at(self, piece: Piece, path: str) -> bool:
        """Whether the object at `path` has the values."""
        if path in self._held:
            return False
        values = _at_hand(piece, path)
        if values is not None:
            self.found[piece.payload_digest] = values, path
        elif os.path.isfile(path):
            self._take_object(path)
        return piece.payload_digest in self.found

    def _missing(self, piece: Piece, store: str | None) -> InputError:
        changed = any(self._held.get(path) for path in self._held if path.endswith(piece.path))
        if changed:
            return InputError(
                piece.path, "has values that are not those of the object that was linked", "them", _ADVICE
            )
        where = f"the object, or {stored_path(store, piece.payload_digest)}" if store is not None else "the object"
        return InputError(
            piece.path or "an object",
            "its values are not to be found",
            where,
            "--objects and --store say where objects and values are.",
        )

    # What is looked at from the start.

    def take(self, paths: Iterable[str]) -> None:
        """Look at objects and archives. Raises `InputError` for one that should have values and has none."""
        for path in paths:
            self._take_object(path, strict=True)

    def _take_object(self, path: str, strict: bool = False) -> None:
        for name, image in images(path):
            with image:
                self._held[name] = self._take_image(name, image, strict)

    def _take_image(self, name: str, image: ElfImage, strict: bool) -> list[bytes]:
        section = image.section(PAYLOAD)
        here = []
        if section is not None:
            for each, values in payloads(image.data(section), image.place(section), little=image.little):
                here.append(each)
                self.found.setdefault(each, (values, name))
        if strict:
            self._check(name, image)
        return here

    def _check(self, name: str, image: ElfImage) -> None:
        """Raise `InputError` for an object whose values are missing, or not those of its DWARF."""
        index = find_index(image)
        if index is None:
            if has_dwarf(image):
                raise InputError(image.place(), "an object without values", "those of pybtf object", "Encode it.")
            if any(section.flags & SHF_EXECINSTR and section.size for section in image.sections):
                self.without.append(name)
            return
        pieces = index_of(image, index)
        as_made = len(pieces) == 1 and not pieces[0].flags & STRIPPED and has_dwarf(image)
        if as_made and source_digest(image) != pieces[0].source_digest:
            raise InputError(
                image.place(index),
                "values that are not those of the object's DWARF, which was changed since",
                "values of this DWARF",
                "Run pybtf object again.",
            )


def _at_hand(piece: Piece, path: str) -> memoryview | None:
    """The values, if the object at `path` is as usual: a file with a payload in a section, of which it is the first.

    This is for the thousands that are; of all others `_take_image` knows what is wrong with them.
    """
    try:
        view = memoryview(MappedFile(path))
    except OSError:
        return None
    where = find_section(view, _PAYLOAD_NAME)
    return first_payload(view[slice(*where)], piece.payload_digest) if where is not None else None


def images(path: str, member: bool = False) -> Iterator[tuple[str, ElfImage]]:
    """The object at a path, or all of the archive, with names for messages. `member`: of a thin archive.

    Each is mapped as long as somebody has a part of it.
    """
    data = _mapped(path)
    head = bytes(data[:8])
    if member:
        check_member(path, head)
    if not is_archive(head):
        yield path, ElfImage(path, data)
        return
    for each in members(path, data):
        if each.table:
            continue
        if each.path is not None:
            yield from images(each.path, member=True)
        else:
            yield f"{path}({each.name})", ElfImage(f"{path}({each.name})", data[each.start : each.start + each.size])


def _mapped(path: str) -> memoryview:
    try:
        return memoryview(MappedFile(path))
    except OSError:
        return memoryview(Source(path).map())  # which says what is wrong


def listed(path: str) -> list[str]:
    """The objects that `--objects` names: the file itself, if it is an object or an archive, else those it lists."""
    from pybtf.inputs import read_list

    try:
        with open(path, "rb") as file:
            head = file.read(8)
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}", "objects, or a list of them") from None
    return [path] if is_archive(head) or head[:4] == b"\x7fELF" else read_list(path)
