"""Where the values of a linked file's objects are: in the index itself, in objects and archives, in a store, a cache.

Each is looked up by its digest, and what is found is compared with it. So no object can be mistaken for another, nor a
recompiled one for the one that was linked. In the usual case, an object with one unit, workers do that
(core/payload_units.py), and this file only says where to look first.
"""

# ruff: noqa: PTH110, PTH112, PTH113, PTH118, PTH119, PTH120, PTH121
# To import pathlib takes longer than to look for an object.

from __future__ import annotations

import os
import stat
from _thread import allocate_lock

from pybtf.core.elf.read_section import section_of_file
from pybtf.core.support.mapped_file import MappedFile, own
from pybtf.elf.constants import SHF_EXECINSTR
from pybtf.elf.image import ElfImage, Source
from pybtf.elf.values_index import STRIPPED
from pybtf.errors import InputError
from pybtf.merging.archives import check_member, files_of, is_archive, members
from pybtf.merging.facts import has_dwarf, source_digest
from pybtf.merging.index import find_index, find_payloads, index_of
from pybtf.merging.pieces import (
    INLINE,
    PAYLOAD,
    Piece,
    block_digest,
    packed_size,
    payload_digest,
    payloads,
    stored_path,
    stored_payload,
)
from pybtf.pipeline.loaded import LoadedFile, ObjectValues, UnitValues
from pybtf.pipeline.passes import Buffer
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pybtf.merging.cache import Cache, Result

_PAYLOAD_NAME = PAYLOAD.encode()
_ADVICE = "Link again, with the objects as they are."
_AGAIN, _AGAIN_PER_BYTE = 64 << 20, 64  # bytes of values that may be read again, and how many more by the linked file's
_OTHERS = 3  # objects that have other values, in a message


class Payloads:
    """The values of objects by digest, each with the file it is from."""

    def __init__(self, cache: Cache | None = None) -> None:
        self.cache = cache
        self.found: dict[bytes, tuple[Buffer, str]] = {}
        self.without: list[str] = []
        """Objects that have code, but neither values nor DWARF."""
        self._held: dict[str, list[bytes]] = {}
        self._lock = allocate_lock()
        self._linked: tuple[ElfImage, list[Piece]] | None = None
        self._folders: dict[int, str] | None = None

    def unit_values(self, linked: LoadedFile, pieces: list[Piece], store: str | None) -> UnitValues:
        """The values of all pieces of the linked file, in order.

        Those of an object with one unit are awaited: found and compared with their digest by the worker that reads the
        unit. Those of others are looked for now: it depends on them how many units there are. Raises `InputError` for
        the first that is nowhere; so does `UnitValues.find`.
        """
        _check_repeats(linked.image, pieces)
        file = linked.image.path
        self._linked = linked.image, pieces
        paths = [piece.path for piece in pieces]
        beside = _beside_linked(pieces, file)
        place = self.cache.place if self.cache is not None else None
        cache = os.fsencode(self.cache.path) if self.cache is not None else None
        encode = os.fsencode

        def find(number: int) -> Buffer:
            with self._lock:
                values, paths[number] = self(pieces[number], file, store)
            return values

        def each() -> Iterator[ObjectValues]:
            for number, piece in enumerate(pieces):
                its_digest, size, addresses = piece.payload_digest, piece.payload_size, piece.addresses
                if piece.units != 1:
                    yield ObjectValues(addresses, find(number))
                elif piece.flags & INLINE:
                    yield ObjectValues(addresses, piece.payload, its_digest)
                elif at := place(its_digest, size) if place is not None else 0:
                    yield ObjectValues(addresses, None, its_digest, cache, size, at)
                elif known := self.found.get(its_digest):
                    values, paths[number] = known
                    yield ObjectValues(addresses, values, its_digest)
                elif store is None and piece.path:
                    path = paths[number] = os.path.join(beside, piece.path) if beside else piece.path
                    encoded = path.encode() if path.isascii() else encode(path)
                    yield ObjectValues(addresses, None, its_digest, encoded, size)
                else:
                    yield ObjectValues(addresses, None, its_digest)

        size = sum([piece.payload_size for piece in pieces])
        return UnitValues(linked, each(), paths, size, payload_digest, block_digest, find)

    def __call__(self, piece: Piece, file: str, store: str | None) -> tuple[Buffer, str]:
        """The values that a piece of `file` stands for, and where they were. Raises `InputError` if they are nowhere.
        """
        if piece.flags & INLINE:
            return self._checked(piece, piece.payload, file)
        cached = self.cache.find(piece.payload_digest) if self.cache is not None else None
        if cached is not None and self.cache is not None:
            return cached, self.cache.path
        known = self.found.get(piece.payload_digest)
        if known is None and store is not None:
            known = self._stored(piece, stored_path(store, piece.payload_digest))
        if known is None:
            known = self._beside(piece, file)
        if known is None:
            raise self._missing(piece, file, store)
        return self._checked(piece, *known)

    def _checked(self, piece: Piece, values: Buffer, where: str) -> tuple[Buffer, str]:
        """The values as they are compared: those that are mapped, to which somebody may write, are copied before."""
        compared = own(values)
        if payload_digest(compared) == piece.payload_digest and len(compared) == piece.payload_size:
            return compared, where
        if isinstance(values, memoryview) and isinstance(values.obj, MappedFile) and values.obj.was_written():
            raise InputError(where, "was changed while it was read", "a file that nobody writes to")
        raise InputError(where, f"the values of {piece.path} are not those that were linked", "them", _ADVICE)

    def keep(
        self, cache: Cache, pieces: list[Piece], file: str, store: str | None, result: Result | None
    ) -> str | None:
        """Have the cache keep the values of all pieces of `file` that are not inline, and a result (cache.py). What
        went wrong, or None.
        """
        wanted = {piece.payload_digest: piece for piece in pieces if not piece.flags & INLINE}
        sizes = {its_digest: piece.payload_size for its_digest, piece in wanted.items()}
        return cache.keep(sizes, lambda its_digest: self(wanted[its_digest], file, store)[0], result)

    def _stored(self, piece: Piece, path: str) -> tuple[Buffer, str] | None:
        """What a store has, if that is of the right size, else nothing: what is there may have no end."""
        expected = f"the values of {piece.path}"
        try:
            # O_NONBLOCK: opening a FIFO must not wait for a writer.
            with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb", buffering=0) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise InputError(path, "is not a regular file", expected)
                return (file.readall() if status.st_size == piece.payload_size else b""), path
        except (FileNotFoundError, NotADirectoryError):  # harmless if the values are elsewhere, otherwise reported
            return None
        except OSError as error:
            from pybtf.unreadable import unreadable

            raise unreadable(path, error, expected) from None

    def _beside(self, piece: Piece, file: str) -> tuple[Buffer, str] | None:
        """The values in the object where it may be. What is damaged there is an error if they are nowhere."""
        damaged = None
        for path in self._places(piece, file):
            try:
                found = self._of_object(piece, path)
            except InputError as error:
                damaged = damaged or error
                continue
            if found is not None:
                return found
        if damaged is not None:
            raise damaged
        return None

    def _places(self, piece: Piece, file: str) -> Iterator[str]:
        """Where the object may be, as it was called when it was encoded: from here, from where the linked file is, and
        from where it was compiled, if that is known.
        """
        if not piece.path:
            return
        yield piece.path
        yield os.path.join(os.path.dirname(file), piece.path)
        if self._folders is None:
            from pybtf.merging.unit_folders import unit_folders

            self._folders = unit_folders(*self._linked) if self._linked is not None else {}
        folder = self._folders.get(piece.at)
        if folder:
            yield os.path.join(folder, piece.path)

    def _of_object(self, piece: Piece, path: str) -> tuple[Buffer, str] | None:
        """The values, if the object at `path` has them."""
        if path in self._held:
            return None
        values = _at_hand(piece, path)
        if values is not None:
            return values, path
        if os.path.isfile(path):
            self._take_object(path)
        return self.found.get(piece.payload_digest)

    def _missing(self, piece: Piece, file: str, store: str | None) -> InputError:
        places = list(dict.fromkeys(self._places(piece, file)))
        looked = [f"{each} (it has none)" if self._held.get(each) == [] else each for each in places]
        if store is not None:
            there = "" if os.path.isdir(store) else f" (there is no folder {store})"
            looked.insert(0, f"{stored_path(store, piece.payload_digest)}{there}")
        hint = f"Looked for it as {', '.join(looked)}. " if looked else ""
        found = "its values are not to be found"
        others = [each for each, has in self._held.items() if has and _is_called(each, piece.path)]
        if others:
            some = ", ".join(others[:_OTHERS]) + (", ..." if len(others) > _OTHERS else "")
            found += f": there {'are' if len(others) > 1 else 'is'} {some}, with values of another object"
            hint += "If it was compiled anew since the link, link again; if this is another object of the same name, "
        else:
            hint += "If the object is elsewhere, "
        hint += "name the right one with --objects LIST; or build with --store DIR or --inline, which need no objects."
        return InputError(piece.path or "an object", found, "those of the object that was linked", hint)

    # What is looked at from the start.

    def take(self, paths: Iterable[str]) -> None:
        """Look at objects and archives. Raises `InputError` for one that should have values and has none."""
        for path in dict.fromkeys(paths):
            self._take_object(path, strict=True)

    def _take_object(self, path: str, strict: bool = False) -> None:
        for name, image in images(path):
            with image:
                self._held[name] = self._take_image(name, image, strict)

    def _take_image(self, name: str, image: ElfImage, strict: bool) -> list[bytes]:
        section = find_payloads(image)
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
                hint = "Run pybtf object on it."
                raise InputError(image.place(), "an object without values", "those of pybtf object", hint)
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


def _check_repeats(image: ElfImage, pieces: list[Piece]) -> None:
    """Raise `InputError` if pieces name the same values far more often than objects are linked again: each of a hundred
    bytes, they could all name megabytes, which are read for each.
    """
    known: set[bytes] = set()
    again = 0
    for piece in pieces:
        if piece.payload_digest not in known:
            known.add(piece.payload_digest)
        elif not piece.flags & INLINE:
            again += piece.payload_size
    if again > _AGAIN + _AGAIN_PER_BYTE * image.size:
        found = f"values of {again} bytes that its index names again and again"
        raise InputError(image.place(), found, "those of each object, which is linked once", _ADVICE)


def _beside_linked(pieces: list[Piece], file: str) -> str:
    """Where the objects are looked for first: in the folder of the linked file, if the first of them is there and not
    where we are, else "".
    """
    path = next((piece.path for piece in pieces if piece.path), "")
    folder = os.path.dirname(file)
    here = not folder or os.path.exists(path) or not os.path.exists(os.path.join(folder, path))
    return "" if here else folder


def _is_called(path: str, name: str) -> bool:
    """Whether an object or member that is known as `path` may be the one that was encoded as `name`."""
    if path.endswith(f"({os.path.basename(name)})"):
        return True
    plain = path.partition("(")[0] if path.endswith(")") else path
    return plain == name or plain.endswith("/" + name)


def _at_hand(piece: Piece, path: str) -> bytes | None:
    """The values, if the object at `path` is as usual: a file with them, and no others, in its section.

    This is for the thousands that are; of all others `_take_image` knows what is wrong with them.
    """
    size = piece.payload_size
    data = section_of_file(path, _PAYLOAD_NAME, packed_size(size))
    return stored_payload(data, size, piece.payload_digest) if data is not None else None


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
    there = members(path, data)
    for inner in files_of(there):
        yield from images(inner, member=True)
    for each in there:
        if each.path is None and not each.table:
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
            if is_archive(head) or head[:4] == b"\x7fELF":
                return [path]
            return read_list(path, file, head)  # of a pipe, what has been read is gone
    except OSError as error:
        from pybtf.unreadable import unreadable

        raise unreadable(path, error, "objects, or a list of them") from None


def replaced(name: str, paths: Iterable[str]) -> str | None:
    """Which of the files `paths`, of archives their members, an output called `name` would replace; None: no one."""
    if not os.path.exists(name):  # it is none of thousands
        return None
    for path in dict.fromkeys(paths):
        each = path.rpartition("(")[0] if path.endswith(")") else path
        if each and os.path.exists(each) and os.path.samefile(name, each):
            return each
    return None
