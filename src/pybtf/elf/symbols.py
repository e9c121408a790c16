"""Symbol tables of an image, handed to the compiled core, whose errors get their place here."""

from __future__ import annotations

from pybtf.core.elf.function_table import FunctionTable
from pybtf.core.elf.symbols import SymbolError, SymbolSource
from pybtf.elf.constants import SHT_NOBITS, SHT_STRTAB, SHT_SYMTAB, SHT_SYMTAB_SHNDX
from pybtf.elf.image import ElfImage, Section, section_type_name
from pybtf.errors import InputError
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

_HEADER: Final = 64
_COPIES: Final = 2


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
    strtab = image.linked(symtab, SHT_STRTAB, "string table")
    extended = image.of_type(SHT_SYMTAB_SHNDX)
    _count(image, symtab, symtab.size + strtab.size + _HEADER * len(extended))
    data = image.copy(symtab)
    if len(data) % size:
        raise InputError(image.place(symtab), f"{len(data)} bytes", f"a multiple of {size}")
    shndx = next((s for s in extended if s.link == symtab.index), None)
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


def _count(image: ElfImage, symtab: Section, size: int) -> None:
    """Each section of relocations may have a table of its own, and all of these be the same bytes of the file. Raises
    `InputError` if more is copied than a file of this size has.
    """
    image.symbol_bytes += size
    if image.symbol_sources and image.symbol_bytes > _COPIES * image.size:
        found = f"with it, symbol tables and their strings have {image.symbol_bytes} bytes"
        raise InputError(image.place(symtab), found, "tables that do not overlap")


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
    symtab, source = _symtab(image)
    try:
        return FunctionTable(source, object_section)
    except SymbolError as error:
        raise symbol_error(image, symtab, error) from None


def function_table_meanwhile(
    image: ElfImage, object_section: int | None = None
) -> tuple[FunctionTable, Callable[[], None]]:
    """As `function_table`, read by a thread of its own, and what waits for it; the table is not to be used before.

    Raises as `function_table`, and so does what waits. The thread has all it needs for itself, so nothing breaks if
    nobody waits for it.
    """
    from pybtf.support.light_thread import LightThread

    symtab, source = _symtab(image)
    table = FunctionTable()
    failures: list[Exception] = []

    def fill() -> None:
        try:
            table.fill(source, object_section)
        except Exception as error:
            failures.append(error)

    thread = LightThread(fill)
    try:
        thread.start()
    except RuntimeError:  # the system allows no more
        fill()

    def wait() -> None:
        thread.join()
        for error in failures:
            raise symbol_error(image, symtab, error) if isinstance(error, SymbolError) else error from None

    return table, wait


def _symtab(image: ElfImage) -> tuple[Section, SymbolSource]:
    """The symbol table and what is in it. Raises `InputError` if there is none."""
    symtab = image.section(".symtab")
    if symtab is None:
        raise InputError(
            image.place(),
            "has no symbol table (.symtab)",
            "the functions' symbols",
            "A stripped file cannot be encoded; use the unstripped one, or its debug file.",
        )
    if symtab.type == SHT_NOBITS:  # types and variables are encoded nevertheless, as by pahole
        return symtab, SymbolSource(b"", b"", is64=image.is64, little=image.little)
    if symtab.type != SHT_SYMTAB:
        raise InputError(
            image.place(symtab), f"has the type {section_type_name(symtab.type)}", "SHT_SYMTAB (2)"
        )
    return symtab, symbol_source(image, symtab)
