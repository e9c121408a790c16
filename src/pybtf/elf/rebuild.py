"""A relocatable file written anew, with sections added, replaced or emptied.

`plan.py` puts bytes into a file that must otherwise stay as it is, because something may map it. Nothing maps an object
file: its sections may lie anywhere. So this is the simple way: header, existing sections in file order, new
sections, section table. What must not change are the indexes of sections and symbols, for relocations, groups and
the symbol table refer to them. So no section is taken out of the table; one that is to go becomes inactive, together
with the relocations against it, and symbols of it stay what they are. A group loses the members that go; if none is
left, it goes as well. Empty sections would not do: GNU objcopy drops some of them and then cannot write their group,
and `ld -r --compress-debug-sections` cannot compress them.
"""

from __future__ import annotations

from pybtf.elf.constants import (
    ET_REL,
    SHF_INFO_LINK,
    SHN_LORESERVE,
    SHN_XINDEX,
    SHT_GROUP,
    SHT_NOBITS,
    SHT_NULL,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
)
from pybtf.elf.outline import Outline
from pybtf.elf.wire import Shdr
from pybtf.errors import InputError, Place
from pybtf.support.records import record

_MAX_ALIGN = 64
"""In the file, where it is of use only to those who map it. What a section is given in memory is in its header."""
_ALIGN = 8


@record(frozen=True)
class NewSection:
    """A section to be added, or to take the place of one of this name. `relocations`: the data of its section of
    relocations, with addends or not as `rela` says, which refer to the symbols of section `symtab`.
    """

    name: str
    content: bytes
    flags: int = 0
    relocations: bytes | None = None
    rela: bool = True
    symtab: int = 0


def rebuild(outline: Outline, new: list[NewSection], empty: set[int]) -> bytes:
    """The file with `new` in it, and without the contents of the sections `empty`.

    Raises `InputError` if it is not a relocatable file, or its sections overlap.
    """
    wire, path = outline.wire, outline.path
    if outline.ehdr.type != ET_REL or outline.phdrs:
        raise InputError(Place(path), f"an ELF file of type {outline.ehdr.type}", "an object file, ET_REL (1)")
    shdrs, names = list(outline.shdrs), bytearray(outline.strings)
    contents: dict[int, bytes] = {}
    gone = _with_relocations(shdrs, empty)
    for index in gone:
        shdrs[index] = _emptied(shdrs[index])
    for section in new:
        _add(outline, shdrs, names, contents, section)
    contents[outline.shstrndx] = bytes(names)
    out = bytearray(outline.read(0, wire.ehdr.size))
    _check_sizes(outline, shdrs, contents)
    _shrink_groups(outline, shdrs, contents, gone)
    for index in sorted(range(1, len(shdrs)), key=lambda each: _place(outline, each)):
        header = shdrs[index]
        if header.type in (SHT_NULL, SHT_NOBITS):
            continue
        content = contents.get(index)
        if content is None:
            content = outline.read(header.offset, header.size) if header.size else b""
        out += bytes(-len(out) % max(1, min(header.addralign, _MAX_ALIGN)))
        shdrs[index] = header._replace(offset=len(out), size=len(content))
        out += content
    out += bytes(-len(out) % wire.word)
    ehdr = outline.ehdr._replace(shoff=len(out), phoff=0, phnum=0)
    if ehdr.shnum == 0 or len(shdrs) >= SHN_LORESERVE:
        shdrs[0] = shdrs[0]._replace(size=len(shdrs))
        ehdr = ehdr._replace(shnum=0)
    else:
        ehdr = ehdr._replace(shnum=len(shdrs))
    if ehdr.shstrndx == SHN_XINDEX:
        shdrs[0] = shdrs[0]._replace(link=outline.shstrndx)
    out[: wire.ehdr.size] = wire.pack_ehdr(outline.ident, ehdr)
    out += b"".join(map(wire.pack_shdr, shdrs))
    if len(out) > wire.word_max:
        raise InputError(Place(path), f"{len(out)} bytes with what is added", "what an ELF file of its class can have")
    return bytes(out)


def _emptied(header: Shdr) -> Shdr:
    """An inactive section."""
    return header._replace(type=SHT_NULL, flags=0, offset=0, size=0, link=0, info=0)


def _with_relocations(shdrs: list[Shdr], empty: set[int]) -> set[int]:
    """These sections and those of relocations against them."""
    return empty | {
        index for index, header in enumerate(shdrs) if header.type in (SHT_REL, SHT_RELA) and header.info in empty
    }


def _shrink_groups(outline: Outline, shdrs: list[Shdr], contents: dict[int, bytes], gone: set[int]) -> None:
    """Take the sections that are gone out of their groups, and make groups inactive that have no others."""
    word = outline.wire.u32
    for index, header in enumerate(shdrs):
        if not gone or header.type != SHT_GROUP or not header.size or header.size % word.size:
            continue
        flags, *members = [each for (each,) in word.iter_unpack(outline.read(header.offset, header.size))]
        left = [member for member in members if member not in gone]
        if len(left) < len(members):
            contents[index] = b"".join(map(word.pack, (flags, *left)))
            if not left:
                shdrs[index] = _emptied(header)


def _place(outline: Outline, index: int) -> tuple[int, int]:
    """Sorts sections by where they lie; those that are new come last."""
    if index < len(outline.shdrs):
        return outline.shdrs[index].offset, index
    return outline.size, index


def _check_sizes(outline: Outline, shdrs: list[Shdr], contents: dict[int, bytes]) -> None:
    """Raise `InputError` if the sections share bytes, so that copies of them could be any number."""
    total = sum(
        header.size
        for index, header in enumerate(shdrs)
        if index not in contents and header.type not in (SHT_NULL, SHT_NOBITS)
    )
    if total > outline.size:
        raise InputError(Place(outline.path), f"sections of {total} bytes", f"no more than the file's {outline.size}")


def _add(
    outline: Outline, shdrs: list[Shdr], names: bytearray, contents: dict[int, bytes], section: NewSection
) -> None:
    """Add a section and its relocations, or replace those that are there."""
    index = _put(
        outline,
        shdrs,
        names,
        section.name,
        Shdr(0, SHT_PROGBITS, section.flags, 0, 0, len(section.content), 0, 0, _ALIGN, 0),
    )
    contents[index] = section.content
    data = section.relocations
    kind, prefix = (SHT_RELA, ".rela") if section.rela else (SHT_REL, ".rel")
    name = prefix + section.name
    if data is None:
        known = outline.find(name.encode())
        if known is not None:
            shdrs[known] = shdrs[known]._replace(size=0)
        return
    word = outline.wire.word
    header = Shdr(
        0, kind, SHF_INFO_LINK, 0, 0, len(data), section.symtab, index, word, word * (3 if section.rela else 2)
    )
    contents[_put(outline, shdrs, names, name, header)] = data


def _put(outline: Outline, shdrs: list[Shdr], names: bytearray, name: str, header: Shdr) -> int:
    """Give a header its place in the table: that of the section of this name, or the end. Returns the index."""
    encoded = name.encode()
    index = outline.find(encoded)
    if index is None:
        at = names.find(b"\0" + encoded + b"\0") + 1
        if at == 0:
            at = len(names)
            names += encoded + b"\0"
        shdrs.append(header._replace(name=at))
        return len(shdrs) - 1
    old = outline.shdrs[index]
    if index == outline.shstrndx or old.type != header.type:
        raise InputError(Place(outline.path, name), f"a section of type {old.type:#x}", f"type {header.type}, or none")
    shdrs[index] = header._replace(name=old.name)
    return index
