"""The values of one object file: its DWARF, decoded where the compiler has just written it.

An address in an object is a relocation: what is copied for the index is that of the attribute in .debug_info, or of the
entry of .debug_addr, with symbol and addend. So the linker does with the copy what it does with the DWARF, also where
it takes a weak symbol from elsewhere, moves code (relaxation) or leaves it out.
"""

from __future__ import annotations

import os
from _bisect import bisect_right  # as `bisect`, at once
from array import array
from struct import Struct

from pybtf.core.elf.address_tokens import put_tokens
from pybtf.core.elf.relocate import apply_relocations
from pybtf.core.export import Export
from pybtf.dwarf.faults import fault_error
from pybtf.dwarf.merging import built_with_lto
from pybtf.dwarf.sections import DebugSections, debug_sections
from pybtf.elf.constants import ET_REL, SHF_ALLOC, SHT_RELA, SHT_SYMTAB
from pybtf.elf.image import ElfImage, machine_name
from pybtf.elf.layout import section_addresses
from pybtf.elf.relocation import field_has_addend, is_mips64, relocation_table
from pybtf.elf.symbols import symbol_source
from pybtf.elf.values_index import STRIPPED
from pybtf.errors import EncodeError, InputError
from pybtf.features import Features
from pybtf.merging.discarded import mark_discarded
from pybtf.merging.facts import shaping, source_digest, source_files
from pybtf.merging.pieces import ONE_UNIT, RULES, Piece, addresses_at, payload_digest
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import record

if TYPE_CHECKING:
    from typing import Final

_TOKEN_BITS: Final = 21  # of the gap between two tokens in 64 bits; offsets of merged globals have some 16
_PARTS: Final = (("info", ".debug_info"), ("addr", ".debug_addr"))


@record(frozen=True)
class Values:
    """What an object is given: its piece of the index, with the relocations of that, and the payload.

    `relocations`: the data of a section of relocations, for an index that begins with this piece; `rela`: of which
    kind; `symtab`: the section whose symbols they refer to.
    """

    piece: Piece
    payload: bytes
    relocations: bytes
    rela: bool
    symtab: int


def require_object(image: ElfImage) -> None:
    """Raise `InputError` unless it is an object file."""
    if image.etype != ET_REL:
        raise InputError(image.place(), f"an ELF file of type {image.etype}", "an object file, ET_REL (1)")


def object_values(image: ElfImage, path: str, features: Features, stripped: bool) -> Values:
    """The values of an open object file, which is known as `path` to those who look for its payload.

    Raises `InputError` if it has no DWARF, is not an object, or cannot be told from what it is linked with;
    `EncodeError` for what BTF cannot express.
    """
    require_object(image)
    places = section_addresses(image)
    sections = debug_sections(image, places)
    options = shaping(features)
    tokens = _Tokens(image, sections, places)
    units, payload, found = _export(image, sections, tokens.sections, options)
    if payload is None:
        return _nothing(image, path, options, units)
    flags = STRIPPED if stripped else 0
    refs = tokens.references(found)
    without = tokens.without_places()
    if without is not None:
        cut = _export(image, sections, without, options)[1]
        assert cut is not None
        payload = mark_discarded(payload, cut, [ref.relocated for ref in refs], image.order)
    if tokens.must_check(found):
        _check(image, sections, tokens, places, refs, options)
    piece = Piece(
        flags,
        units,
        options,
        RULES,
        payload_digest(payload),
        source_digest(image),
        len(payload),
        8 if image.is64 else 4,
        path,
        source_files(image),
        array("Q", tokens.words(refs)),
    )
    return Values(piece, payload, tokens.relocations(refs, addresses_at()), tokens.rela, tokens.symtab)


def _nothing(image: ElfImage, path: str, options: int, units: int) -> Values:
    """A piece that only says that this object cannot be encoded by itself: its DWARF stays where it is."""
    piece = Piece(
        ONE_UNIT, units, options, RULES, payload_digest(b""), source_digest(image), 0, 8, path, source_files(image),
        array("Q"),
    )
    return Values(piece, b"", b"", True, 0)


def _export(
    image: ElfImage, sections: DebugSections, contents: DebugSections, options: int
) -> tuple[int, bytes | None, array[int]]:
    """Number of units, their values (None: they are one logical unit), and the addresses that were read."""
    run = Export(contents, little=image.little, machine=image.machine, options=options)
    units = run.scan(False)
    _raise_fault(image, run, sections)
    if built_with_lto(image) or sections.alternate is not None or run.has_reference_to_other_units():
        return units, None, array("Q")
    payload, addresses, die = run.units_as_bytes()
    if die is not None:
        raise EncodeError(
            image.place(image.debug_section(".debug_info")),
            f"the function at DIE {die:#x}, which is described in part by one of another name",
            "copies of a function that have its name",
            "Encode the linked DWARF instead.",
        )
    _raise_fault(image, run, sections)
    return units, payload, array("Q", addresses)


def _raise_fault(image: ElfImage, run: Export, sections: DebugSections) -> None:
    fault = run.fault()
    if fault is not None:
        raise fault_error(image.path, fault, sections)


def _copy(image: ElfImage, sections: DebugSections) -> DebugSections:
    """The same sections, of which one may then be replaced."""
    found = DebugSections(image)
    found.update(sections)
    found.types_at = sections.types_at
    found.split_units = sections.split_units
    return found


@record(frozen=True)
class _Reference:
    """An address as a relocation has it: `symbol` and `type` as in the object, or none of it and a number."""

    relocated: bool
    symbol: int
    type: int
    addend: int


class _Tokens:
    """The DWARF of an object in which addresses are replaced by tokens; see core/elf/address_tokens.py."""

    def __init__(self, image: ElfImage, sections: DebugSections, places: memoryview) -> None:
        self.image = image
        self.rela = True
        self.symtab = 0
        self._entries: list[tuple[str, memoryview, int]] = []  # the DWARF, its relocations, number of the first
        self._firsts: list[int] = []
        self.count = 0
        self.bits = 64 if image.is64 else 32
        self.mips64 = is_mips64(image)
        self._collect(sections)
        if sections.split_units:
            # The object's own units, skeletons, are not where its relocations say, once those of its files are in.
            self.sections = debug_sections(image, places, fill=self._put)
        else:
            self.sections = _copy(image, sections)
            self._put(self.sections)

    def _collect(self, sections: DebugSections) -> None:
        """Finds the relocations of the sections that can hold addresses."""
        image = self.image
        for name, title in _PARTS:
            section = image.debug_section(title)
            if section is None or name not in sections:
                continue
            for relocation in image.relocations_of(section):
                if not relocation.size:
                    continue
                symtab = image.linked(relocation, SHT_SYMTAB, "symbol table").index
                rela = relocation.type == SHT_RELA
                if self.symtab and (symtab, rela) != (self.symtab, self.rela):
                    raise InputError(image.place(relocation), "relocations of several kinds", "those of one compiler")
                self.symtab, self.rela = symtab, rela
                data = image.data(relocation)
                self._entries.append((name, memoryview(data), self.count))
                self._firsts.append(self.count)
                self.count += len(data) // self._size
        # All tokens, and a gap after the last, in the half of the numbers that begins with a bit.
        if self.bits == 64:
            self.gap = 1 << _TOKEN_BITS
            self.base = 1 << 63 | os.urandom(1)[0] << 55
        else:
            self.gap = (1 << 30) // (self.count + 1)
            self.base = 1 << 31
        if self.gap == 0 or self.count >> 32:
            raise InputError(image.place(), f"{self.count} relocations in DWARF", "fewer")

    @property
    def _size(self) -> int:
        return (self.bits // 8) * (3 if self.rela else 2)

    def _put(self, sections: DebugSections) -> None:
        image = self.image
        table = relocation_table(image)
        if table is None:
            if self._entries:
                raise InputError(image.place(), machine_name(image.machine), "a machine whose relocations are known")
            return
        unallocated = self._unallocated()
        for name in {name for name, _, _ in self._entries}:
            sections[name] = bytearray(sections[name])
        for name, data, first in self._entries:
            symtab = image.table.at(self.symtab)
            put_tokens(
                sections[name],
                data,
                symbol_source(image, symtab),
                unallocated,
                table,
                rela=self.rela,
                mips64=self.mips64,
                base=self.base + self.gap * first,
                gap=self.gap,
            )

    def without_places(self) -> DebugSections | None:
        """The same DWARF with the lists of places that depend on addresses as GNU ld leaves them where it discards the
        code; None if there are none.
        """
        image = self.image
        section = image.debug_section(".debug_loc")
        relocations = [each for each in image.relocations_of(section) if each.size] if section is not None else []
        table = relocation_table(image)
        if not relocations or table is None or "loc" not in self.sections:
            return None
        contents = bytearray(self.sections["loc"])
        for relocation in relocations:
            put_tokens(
                contents,
                image.data(relocation),
                symbol_source(image, image.linked(relocation, SHT_SYMTAB, "symbol table")),
                self._unallocated(),
                table,
                rela=relocation.type == SHT_RELA,
                mips64=self.mips64,
                base=0,
                gap=0,
            )
        if contents == self.sections["loc"]:
            return None
        found = _copy(image, self.sections)
        found["loc"] = contents
        return found

    def _unallocated(self) -> bytes:
        """By section, whether its symbols are not addresses of code or data."""
        sections = self.image.sections[1:]
        return bytes([0, *(0 if section.flags & SHF_ALLOC or section.type == 0 else 1 for section in sections)])

    def references(self, addresses: array[int]) -> list[_Reference]:
        """What each address that was read stands for."""
        return [self._reference(address) for address in addresses]

    def _number(self, address: int) -> int:
        """The number of the token that an address is; negative or too large: it is none."""
        return (address - self.base) // self.gap

    def must_check(self, addresses: array[int]) -> bool:
        """Whether one of the addresses may be what it is by chance."""
        return self.bits == 32 or any(
            0 <= self._number(address) < self.count and (address - self.base) % self.gap for address in addresses
        )

    def _reference(self, address: int) -> _Reference:
        number = self._number(address)
        if not 0 <= number < self.count:
            return _Reference(False, 0, 0, address)
        name, data, first = self._entries[bisect_right(self._firsts, number) - 1]
        offset, symbol, kind, addend = self._entry(data, number - first)
        more = (address - self.base) % self.gap
        if field_has_addend(self.image, kind, rela=self.rela):
            word = self.bits // 8
            section = self.image.debug_section(dict(_PARTS)[name])
            assert section is not None
            field = bytes(self.image.data(section)[offset : offset + word])
            addend += int.from_bytes(field, "little" if self.image.little else "big")
        return _Reference(True, symbol, kind, addend + more)

    def _entry(self, data: memoryview, number: int) -> tuple[int, int, int, int]:
        """Offset, symbol, type and addend of a relocation."""
        fields = self._struct().unpack_from(data, number * self._size)
        addend = fields[2] if self.rela else 0
        if self.mips64 and self.image.little:
            return fields[0], fields[1] & 0xFFFFFFFF, fields[1] >> 56, addend
        shift = 32 if self.bits == 64 else 8
        return fields[0], fields[1] >> shift, fields[1] & ((1 << shift) - 1), addend

    def _info(self, ref: _Reference) -> int:
        """Symbol and type as a record has them."""
        if self.mips64 and self.image.little:
            return ref.symbol | ref.type << 56
        return ref.symbol << (32 if self.bits == 64 else 8) | ref.type

    def _struct(self) -> Struct:
        letters = ("QQq" if self.rela else "QQ") if self.bits == 64 else ("IIi" if self.rela else "II")
        return Struct(self.image.order + letters)

    def words(self, refs: list[_Reference]) -> list[int]:
        """What the words hold before these relocations."""
        return [ref.addend % (1 << self.bits) if self._in_field(ref) else 0 for ref in refs]

    def _in_field(self, ref: _Reference) -> bool:
        """Whether the addend has to be where the assembler puts it: linkers may ignore the record's (SuperH)."""
        return not ref.relocated or field_has_addend(self.image, ref.type, rela=self.rela)

    def relocations(self, refs: list[_Reference], start: int) -> bytes:
        """The relocations of consecutive words at `start` that refer to this."""
        pack, word = self._struct().pack, self.bits // 8
        out = []
        for i, ref in enumerate(refs):
            if ref.relocated:
                place, info = start + i * word, self._info(ref)
                addend = 0 if self._in_field(ref) else self._signed(ref.addend)
                out.append(pack(place, info, addend) if self.rela else pack(place, info))
        return b"".join(out)

    def _signed(self, addend: int) -> int:
        half = 1 << self.bits - 1
        return (addend + half) % (2 * half) - half


def _check(
    image: ElfImage,
    sections: DebugSections,
    tokens: _Tokens,
    places: memoryview,
    refs: list[_Reference],
    options: int,
) -> None:
    """Raise `InputError` unless the relocations found give the addresses that the DWARF has without tokens."""
    _, _, wanted = _export(image, sections, sections, options)
    word = 8 if image.is64 else 4
    order = Struct(f"{image.order}{len(refs)}{'Q' if word == 8 else 'I'}")
    found = bytearray(order.pack(*tokens.words(refs)))
    table = relocation_table(image)
    if table is not None and tokens.symtab:
        source = symbol_source(image, image.table.at(tokens.symtab))
        records = tokens.relocations(refs, 0)
        apply_relocations(found, records, source, places, table, rela=tokens.rela, mips64=tokens.mips64)
    if list(order.unpack(found)) != list(wanted):
        raise InputError(
            image.place(image.debug_section(".debug_info")),
            "addresses that cannot be told from each other",
            "what a compiler writes",
            "Encode the linked DWARF instead.",
        )
