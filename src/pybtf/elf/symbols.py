"""Symbol tables of an image, handed to the compiled core, whose errors get their place here."""

from __future__ import annotations

from pybtf.core.elf.function_table import FunctionTable
from pybtf.core.elf.symbols import SymbolError, SymbolSource
from pybtf.elf.constants import SHT_NOBITS, SHT_STRTAB, SHT_SYMTAB, SHT_SYMTAB_SHNDX
from pybtf.elf.image import ElfImage, Section, section_type_name
from pybtf.errors import InputError


def symbol_source(image: ElfImage, symtab: Section) -> SymbolSource:
    """The symbols of the section `symtab`, with its strings and extended indexes: one object for all who ask.

    They are copies: the table of functions is made in several steps, which must see the same. Raises `InputError`.
    """
    known = image.symbol_sources.get(symtab.index)
    if known is not None:
        return known
    size = symbol_size(image)
    if symtab.entsize != size:
        raise InputError(image.place(symtab), f"entries of {symtab.entsize} bytes", f"{size}")
    data = image.copy(symtab)
    if len(data) % size:
        raise InputError(image.place(symtab), f"{len(data)} bytes", f"a multiple of {size}")
    strtab = image.linked(symtab, SHT_STRTAB, "string table")
    shndx = next((s for s in image.of_type(SHT_SYMTAB_SHNDX) if s.link == symtab.index), None)
    try:
        source = SymbolSource(
            data,
            image.copy(strtab),
            is64=image.is64,
            little=image.little,
            shndx=None if shndx is None else image.copy(shndx),
        )
    except SymbolError as error:
        raise symbol_error(image, symtab, error) from None
    image.symbol_sources[symtab.index] = source
    return source


def symbol_error(image: ElfImage, symtab: Section, error: SymbolError) -> InputError:
    """The same error, with its place in `symtab`."""
    place = image.place(symtab, error.symbol * symbol_size(image))
    return InputError(place, f"symbol {error.symbol}: {error.found}", error.expected)


def symbol_size(image: ElfImage) -> int:
    """Bytes of one symbol."""
    return 24 if image.is64 else 16


def function_table(image: ElfImage, object_section: int | None = None) -> FunctionTable:
    """The functions of `.symtab`, not frozen yet, and the objects of a section (see `FunctionTable`).

    Raises `InputError` if there is no symbol table, or a function or object has no usable name.
    """
    symtab = image.section(".symtab")
    if symtab is None:
        raise InputError(
            image.place(),
            "has no symbol table (.symtab)",
            "the functions' symbols",
            "A stripped file cannot be encoded; use the unstripped one, or its debug file.",
        )
    if symtab.type == SHT_NOBITS:  # types and variables are encoded nevertheless, as by pahole
        return FunctionTable(SymbolSource(b"", b"", is64=image.is64, little=image.little), object_section)
    if symtab.type != SHT_SYMTAB:
        raise InputError(
            image.place(symtab), f"has the type {section_type_name(symtab.type)}", "SHT_SYMTAB (2)"
        )
    try:
        return FunctionTable(symbol_source(image, symtab), object_section)
    except SymbolError as error:
        raise symbol_error(image, symtab, error) from None
