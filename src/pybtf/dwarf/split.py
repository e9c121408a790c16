"""Split DWARF: what a unit has in another file (DWARF 5, 7.3.2; GNU's extension of DWARF 4).

A program that was compiled with -gsplit-dwarf has, for each unit, a *skeleton*: the name of a file, an identity
(`dwo_id`), and where the unit's part of `.debug_addr` begins. All else is in that file: `NAME.dwo`, or in a package of
all of them, `PROGRAM.dwp`, of which an index says whose parts are where (package.py).

The core wants one run of bytes of each section. So the units take the places of their skeletons in `info`, in the order
of the program's own `.debug_info`, and their other sections are appended to the program's. Nothing in them is changed:
for each unit the core is told where its parts begin (`split_units`). Type units follow, of each signature the first, as
a linker would have left them.

A `.dwo` is looked for by the name that the skeleton has: as it is, if it is a path from the root; in the folder in
which the compiler ran; then beside the program, with and without these folders, for whoever has moved both. It
must have the unit with the skeleton's `dwo_id`.
"""

from __future__ import annotations

import os
from array import array
from itertools import islice

from pybtf.dwarf.package import Parts, check_parts, read_index
from pybtf.dwarf.roots import (
    ADDR_BASE,
    COMP_DIR,
    GNU_ADDR_BASE,
    GNU_DWO_ID,
    RANGES_BASE,
    SPLIT_COMPILE,
    SPLIT_TYPE,
    STMT_LIST,
    Budget,
    Damaged,
    Root,
    UnitHead,
    heads,
    root,
)
from pybtf.dwarf.separate import LONGEST
from pybtf.elf.compressed import FREE_SIZE, MAX_RATIO
from pybtf.elf.constants import ET_REL
from pybtf.elf.image import ElfImage, Section
from pybtf.errors import InputError, Place, shortened
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from pybtf.dwarf.sections import Buffer, DebugSections

_RUNS: Final = ("abbrev", "str", "str_offsets", "loc", "loclists")
_NOWHERE: Final = 0xFFFFFFFFFFFFFFFF
_HANDED_ON: Final = {
    ADDR_BASE: "addr_base", GNU_ADDR_BASE: "GNU_addr_base", RANGES_BASE: "GNU_ranges_base", STMT_LIST: "stmt_list"
}  # fmt: skip
"""What a skeleton says of the program's own sections."""
_TIMES: Final = 16
_ALWAYS: Final = 1 << 20
"""An object that is linked twice has two skeletons of one unit. So many times the bytes of a file's units may be taken,
and so many bytes more: not without end, as in sixty bytes a program can name one large unit again.
"""
_UNPACKED: Final = (
    f"compressed sections that, with those of other .dwo files, become {FREE_SIZE >> 20} MiB more than "
    f"{MAX_RATIO} times the files", "fewer bytes",
    "If the files can be trusted, decompress them with `objcopy --decompress-debug-sections` first.",
)  # fmt: skip
LARGEST: Final = 0xFFFFFFF0
"""Bytes of a section after all files are in it: offsets are of 32 bits."""


def join_split(image: ElfImage, found: DebugSections, package: str | None, degrade: bool) -> Split:
    """Put the units of split DWARF into the place of their skeletons in `found`, and their sections after what is
    there.

    Raises `InputError` if one of them cannot be had; with `degrade` its skeleton stays.
    """
    split = Split(image, found, package)
    split.join(degrade)
    return split


_TypeUnit = tuple[UnitHead, Parts | None, bool]
"""A type unit, where its parts are in a package, and whether it is in `.debug_types`."""


def _first(row: tuple[int, object]) -> int:
    return row[0]


class _File:
    """A `.dwo` or `.dwp`: its units, and where its sections are in the runs, once they have been appended."""

    def __init__(self, image: ElfImage) -> None:
        self.path = image.path
        self.sections: dict[str, Buffer] = {}
        for name in ("info", "types", *_RUNS):
            several = _sections(image, name)
            if len(several) == 1:
                self.sections[name] = image.copy(several[0])
            elif several:
                self.sections[name] = b"".join([image.data(each) for each in several])
        self.source = image.source
        self.little = image.little
        self.at: dict[str, int] = {}
        size = sum(len(self.sections.get(name, b"")) for name in ("info", "types"))
        self.left = _ALWAYS + _TIMES * size
        """Bytes of units that may still be taken."""
        self._beside: dict[int, tuple[list[_TypeUnit], list[_TypeUnit]]] | None = None
        self.units: dict[int, tuple[UnitHead, Parts | None]] = {}
        """By dwo_id."""
        self.types: list[_TypeUnit] = []
        if not self.sections.get("info") or "abbrev" not in self.sections:
            raise InputError(image.place(), "no .debug_info.dwo or no .debug_abbrev.dwo", "both")
        self.packed = image.section(".debug_cu_index") is not None
        if self.packed:
            self._read_package(image)
        else:
            self._read_units(image)

    def _read_units(self, image: ElfImage) -> None:
        """Of a `.dwo`."""
        info = self.sections["info"]
        budget = Budget(len(info))
        for head in self._heads(image, "info"):
            if head.kind == SPLIT_TYPE:
                self.types.append((head, None, False))
            elif head.kind == SPLIT_COMPILE:
                self.units.setdefault(head.identity, (head, None))
            elif head.version < 5:
                try:
                    top = root(
                        head, info, self.sections["abbrev"], self.sections, little=image.little, offsets_base=0,
                        budget=budget,
                    )  # fmt: skip
                except Damaged:
                    place = Place(self.path, ".debug_info.dwo", head.start)
                    raise InputError(place, "a unit whose root cannot be read", "a unit") from None
                if GNU_DWO_ID in top.numbers:
                    self.units.setdefault(top.numbers[GNU_DWO_ID], (head, None))
        self.types += [(head, None, True) for head in self._heads(image, "types")]

    def _heads(self, image: ElfImage, name: str) -> Iterator[UnitHead]:
        data = self.sections.get(name, b"")
        place = Place(self.path, f".debug_{name}.dwo")
        return heads(data, 0, len(data), place, little=image.little, types=name == "types")

    def _read_package(self, image: ElfImage) -> None:
        self._unread = {name: len(self.sections.get(name, b"")) for name in ("info", "types")}
        units, types = read_index(image, ".debug_cu_index"), read_index(image, ".debug_tu_index")
        check_parts(image, (*units.values(), *types.values()))
        for identity, parts in units.items():
            head = self._head_of(image, parts, "info", identity)
            if head is not None:
                self.units[identity] = head, parts
        for identity, parts in types.items():
            name = "types" if parts.of("types") is not None else "info"
            head = self._head_of(image, parts, name, identity)
            if head is not None:
                self.types.append((head, parts, name == "types"))
        self.types.sort(key=lambda row: (row[2], row[0].start))

    def _head_of(self, image: ElfImage, parts: Parts, name: str, identity: int) -> UnitHead | None:
        """The unit in a part of a package that has this identity, if it can have one in its header."""
        place = parts.of(name)
        data = self.sections.get(name, b"")
        if place is None:
            return None
        start, end = place[0], place[0] + place[1]
        where = Place(self.path, f".debug_{name}.dwo", start)
        if end > len(data):
            raise InputError(where, f"a part that ends at {end:#x}", f"an end within its {len(data):#x} bytes")
        self._unread[name] -= place[1]
        if self._unread[name] < 0:
            raise InputError(where, "parts that overlap", "a part for each unit")
        for head in heads(data, start, end, where, little=image.little, types=name == "types"):
            if head.identity == identity or (head.version < 5 and name == "info"):
                return head
        raise InputError(where, f"no unit with the identity {identity:#018x}", "that of the index")

    def beside(self) -> dict[int, tuple[list[_TypeUnit], list[_TypeUnit]]]:
        """Of each unit of a `.dwo`, by where it starts, the type units of `info` that are in front of it, if it is the
        first, and those that follow it.
        """
        if self._beside is None:
            self._beside = {}
            front: list[_TypeUnit] = []
            types = [] if self.packed else [each for each in self.types if not each[2]]
            starts = {head.start for head, _ in self.units.values()}
            rows = sorted([(start, None) for start in starts] + [(each[0].start, each) for each in types], key=_first)
            behind = front
            for start, each in rows:
                if each is None:
                    behind = []
                    self._beside[start] = front, behind
                    front = []
                else:
                    behind.append(each)
        return self._beside

    def take(self, head: UnitHead) -> None:
        """Counts what is taken. Raises `InputError` if it is many times what there is."""
        self.left -= head.end - head.start
        if self.left < 0:
            place = Place(self.path, ".debug_info.dwo", head.start)
            raise InputError(
                place, f"a unit of a file that skeletons take more than {_TIMES} times", "a skeleton for each"
            )

    def part(self, name: str, parts: Parts | None) -> tuple[int, int]:
        """Where in the run a section's part begins and ends."""
        size = len(self.sections.get(name, b""))
        at = self.at.get(name, 0)
        if parts is None or name == "str":
            return at, at + size
        offset, length = parts.of(name) or (0, 0)
        if offset + length > size:
            where = Place(self.path, f".debug_{name}.dwo", offset)
            raise InputError(where, f"a part that ends at {offset + length:#x}", f"an end within its {size:#x} bytes")
        return at + offset, at + offset + length


class Split:
    """The joining of one program with the files that its skeletons name."""

    def __init__(self, image: ElfImage, found: DebugSections, package: str | None) -> None:
        self.image = image
        self.found = found
        self._info: list[Buffer] = []
        self._size = 0
        self._runs: dict[str, list[Buffer]] = {name: [found[name]] if name in found else [] for name in _RUNS}
        self._sizes = {name: len(found.get(name, b"")) for name in _RUNS}
        self._rows = array("Q")
        self._files: dict[str, _File | str] = {}
        """By path; or why it is none."""
        self._read_already: dict[object, _File | str] = {}
        """By what `_which` says of a path."""
        self._free = FREE_SIZE
        """Bytes that may still be unpacked beyond what files of their sizes may have: small ones can be many."""
        self._passed: list[str] = []
        """Why packages cannot be used."""
        self._package = self._open_package(package)
        self._used: list[_File] = []
        self._signatures: set[int] = set()
        """Of the type units that are taken."""

    # ---- units ----

    def join(self, degrade: bool) -> None:
        """Units into the places of their skeletons."""
        found, image = self.found, self.image
        info = found["info"]
        place = Place(found.path, ".debug_info")
        kept = seen = 0  # of `info`, up to here
        budget = Budget(len(info))
        for head in heads(info, 0, len(info), place, little=image.little, degrade=degrade):
            seen = head.end
            try:
                top = root(
                    head, info, found["abbrev"], found, little=image.little, offsets_base=None, budget=budget
                )
            except Damaged:
                continue  # the core will say what is wrong
            name = top.name()
            if name is None:
                continue
            identity = head.identity if head.version >= 5 else top.numbers.get(GNU_DWO_ID, 0)
            try:
                self._check(head, top)
                file = self._find(head, top, os.fsdecode(name), identity)
            except InputError:
                if degrade:
                    continue
                raise
            self._keep(info, kept, head.start)
            self._add_around(file, file.units[identity], top)
            kept = head.end
        self._keep(info, kept, seen)
        for file in self._used:
            for unit in file.types:
                if not unit[2]:
                    self._add_type(file, unit)
        self._keep(info, seen, len(info))  # what is damaged comes last: perhaps nothing after it is read
        found["info"] = b"".join(self._info)
        for section, run in self._runs.items():
            if len(run) > 1 or section not in found:
                data = b"".join(run)
                if data:
                    found[section] = data
        found.split_units = self._rows.tobytes()

    def append_types(self, found: DebugSections) -> None:
        """The type units of DWARF 4, which are told from others by where they are."""
        self._info, self._size = [found["info"]], len(found["info"])
        for file in self._used:
            for unit in file.types:
                if unit[2]:
                    self._add_type(file, unit)
        if len(self._info) > 1:
            found["info"] = b"".join(self._info)
        found.split_units = self._rows.tobytes()

    def _keep(self, info: Buffer, start: int, end: int) -> None:
        """Units that are here."""
        if start < end:
            self.found.parts.append((self._size, ".debug_info", self.found.path, self._size - start))
            self._grow(memoryview(info)[start:end])

    def _grow(self, data: Buffer) -> None:
        self._info.append(data)
        self._size += len(data)
        if self._size > LARGEST:
            raise InputError(self.image.place(), "units of 4 GiB and more in its .dwo files", "less")

    def _add_around(self, file: _File, unit: tuple[UnitHead, Parts | None], top: Root) -> None:
        """A unit, and where a linker would leave them in the order of the files, the type units beside it."""
        before, after = file.beside().get(unit[0].start, ((), ())) if self.image.etype != ET_REL else ((), ())
        for each in before:
            self._add_type(file, each)
        self._add(file, unit, top)
        for each in after:
            self._add_type(file, each)

    def _add_type(self, file: _File, unit: _TypeUnit) -> None:
        head, parts, _ = unit
        if head.identity not in self._signatures:
            self._signatures.add(head.identity)
            self._add(file, (head, parts), None, "types" if unit[2] else "info")

    def _add(self, file: _File, unit: tuple[UnitHead, Parts | None], top: Root | None, name: str = "info") -> None:
        head, parts = unit
        file.take(head)
        start, end = self._size, self._size + head.end - head.start
        self.found.parts.append((start, f".debug_{name}.dwo", file.path, start - head.start))
        self._grow(memoryview(file.sections[name])[head.start : head.end])
        offsets, offsets_end = file.part("str_offsets", parts)
        lists, lists_end = file.part("loclists" if head.version >= 5 else "loc", parts)
        loclists = lists
        if head.version >= 5:
            # After the headers: of the string offsets length, version and padding; of the lists length, version,
            # sizes and number.
            offsets = min(offsets + (16 if head.wide else 8), offsets_end)
            loclists = min(lists + (20 if head.wide else 12), lists_end)
        numbers = top.numbers if top is not None else {}
        if RANGES_BASE in numbers:
            self.found.ranges_bases[start] = numbers[RANGES_BASE]
        self._rows.extend((
            start, end, file.part("abbrev", parts)[0], file.part("str", parts)[0], offsets, offsets_end,
            numbers.get(ADDR_BASE, numbers.get(GNU_ADDR_BASE, 0)), lists, loclists, numbers.get(STMT_LIST, _NOWHERE),
        ))  # fmt: skip

    # ---- files ----

    def _check(self, head: UnitHead, top: Root) -> None:
        """Raises `InputError` if a skeleton has an offset that the core has no number for: there are forms of more than
        64 bits.
        """
        for attribute, name in _HANDED_ON.items():
            value = top.numbers.get(attribute, 0)
            if value > _NOWHERE:
                place = Place(self.found.path, ".debug_info", head.start)
                raise InputError(place, f"a skeleton with DW_AT_{name} {value:#x}", "an offset of at most 64 bits")

    def _find(self, head: UnitHead, top: Root, name: str, identity: int) -> _File:
        """The file with a skeleton's unit. Raises `InputError`, with all that was tried."""
        place = Place(self.found.path, ".debug_info", head.start)
        if len(name) > LONGEST:
            found = f"a skeleton, whose unit is in a file with a name of {len(name)} bytes"
            raise InputError(place, found, f"at most {LONGEST}")
        folder = os.fsdecode(top.texts.get(COMP_DIR, b""))
        refused = list(self._passed)
        if self._package is not None:
            if identity in self._package.units:
                return self._use(self._package)
            refused.append(f"{self._package.path} has no unit with this identity")
        tried = []
        for path in self._places(name, folder if len(folder) <= LONGEST else ""):
            if path in tried:
                continue
            tried.append(path)
            file = self._open(path)
            if isinstance(file, _File):
                if identity in file.units:
                    return self._use(file)
                has = ", ".join(f"{each:#018x}" for each in islice(file.units, 3)) or "none"
                refused.append(f"{path} has the identity {has}")
            elif file:
                refused.append(file)
        hint = f"Looked for it as {', '.join(map(shortened, tried))}."
        if refused:
            hint += f" Not it: {'; '.join(refused).removesuffix('.')}."
        if name.endswith(".pcm"):
            hint += " It is a module of clang, which pybtf does not read: build without -gmodules."
        raise InputError(
            place, f"a skeleton, whose unit is in {shortened(name)}, with the identity {identity:#018x}", "that file",
            hint,
        )  # fmt: skip

    def _places(self, name: str, folder: str) -> Iterator[str]:
        beside = os.path.dirname(self.found.path)  # noqa: PTH120
        if name.startswith("/"):
            yield name
        elif folder.startswith("/"):
            yield os.path.normpath(f"{folder}/{name}")
        for each in (f"{folder}/{name}", name, os.path.basename(name)):  # noqa: PTH119
            yield os.path.normpath(f"{beside or '.'}/{each.lstrip('/')}")

    def _use(self, file: _File) -> _File:
        """The same file, with its sections in the runs."""
        if not file.at:
            for name in _RUNS:
                data = file.sections.get(name, b"")
                file.at[name] = self._sizes[name]
                self._runs[name].append(data)
                self._sizes[name] += len(data)
                if self._sizes[name] > LARGEST:
                    raise InputError(self.image.place(), f"4 GiB and more of .debug_{name}.dwo", "less")
            self._used.append(file)
            if file.source is not None:
                self.found.sources.append(file.source)
        return file

    def _open(self, path: str) -> _File | str:
        """A file; "" if there is none, else why it cannot be used. One that has several names is read once: a name is
        a few bytes in a program, and there are any number of them for one file.
        """
        if path not in self._files:
            if not os.path.lexists(path):
                return ""
            which = _which(path)
            if which not in self._read_already:
                self._read_already[which] = self._read(path)
            self._files[path] = self._read_already[which]
        return self._files[path]

    def _read(self, path: str) -> _File | str:
        try:
            return self._load(path)
        except InputError as error:
            return str(error)

    def _load(self, path: str) -> _File:
        with ElfImage.open(path) as image:
            own = self.image
            if (image.is64, image.little, image.machine) != (own.is64, own.little, own.machine):
                raise InputError(path, "is for another kind of machine", f"that of {own.path}")
            file = _File(image)
            self._free -= image.free_taken()
            if self._free < 0:
                raise InputError(image.place(), *_UNPACKED)
            return file

    def _open_package(self, given: str | None) -> _File | None:
        """The `.dwp` that is given, or that is beside the program. Raises `InputError` if the one that is given cannot
        be used; another one is passed over.
        """
        own = self.image.path
        places: dict[object, str] = {}
        for path in (f"{own}.dwp", f"{os.path.realpath(own)}.dwp", f"{self.found.path}.dwp"):
            places.setdefault(_which(path), path)
        for path in places.values() if given is None else (given,):
            if given is not None:
                return self._load(path)
            if not os.path.lexists(path):
                continue
            file = self._read(path)
            if isinstance(file, _File):
                return file
            self._passed.append(file)
        return None


def _which(path: str) -> object:
    """What all names of a file have in common; of what cannot be looked at, the name."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return path
    return status.st_dev, status.st_ino


def _sections(image: ElfImage, name: str) -> list[Section]:
    """The first section of this name; of units all, since gcc gives each type unit a section of its own."""
    found = [each for each in image.sections if each.name in (f".debug_{name}.dwo", f".zdebug_{name}.dwo")]
    if name not in ("info", "types"):
        return found[:1]
    if len(found) > 1 and sum(each.size for each in found) > image.size:
        raise InputError(image.place(found[0]), f"{len(found)} sections of units that overlap", "one for each type")
    return found
