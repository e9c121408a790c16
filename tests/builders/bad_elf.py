"""Files that are not ELF, and damaged ELF files. See `bad.py`."""

from __future__ import annotations

import struct
import zlib

from tests.builders import rawbtf
from tests.builders.bad import X86, bad, odd, patched
from tests.builders.dwarfwriter import dwarf
from tests.builders.elfwriter import SHF_COMPRESSED, Elf, Reloc, Section, Symbol, elf
from tests.builders.kernelish import FLAVOURS, INT, kernel, relocatable, sections, symbols, unit

SOUND = kernel()

# Offsets of fields in Elf64_Ehdr and Elf64_Shdr.
E_MACHINE, E_SHOFF, E_SHENTSIZE, E_SHNUM, E_SHSTRNDX = 18, 40, 58, 60, 62
SH_NAME, SH_TYPE, SH_OFFSET, SH_SIZE, SH_LINK, SH_INFO, SH_ENTSIZE = 0, 4, 24, 32, 40, 44, 56


def header(field: int, layout: str, value: int) -> bytes:
    """The sound file with a field of the ELF header changed."""
    return patched(SOUND.data, field, struct.pack("<" + layout, value))


def section(name: str, field: int, layout: str, value: int, whole: Elf = SOUND) -> bytes:
    """The sound file with a field of a section header changed."""
    return patched(whole.data, whole.header_at[name] + field, struct.pack("<" + layout, value))


# -- the file ----------------------------------------------------------------------------------------


@bad(offset=False)
def empty_file() -> bytes:
    return b""


@bad(offset=False)
def text_file() -> bytes:
    return b"#!/bin/sh\necho this is no ELF file\n" * 20


@bad(offset=False)
def one_byte() -> bytes:
    return b"\x7f"


@bad(offset=False)
def magic_only() -> bytes:
    return b"\x7fELF"


@bad(offset=False)
def identification_only() -> bytes:
    return SOUND.data[:16]


@bad(offset=False)
def header_cut_by_one_byte() -> bytes:
    return SOUND.data[:63]


@bad(offset=False)
def header_only() -> bytes:
    return SOUND.data[:64]


@bad(offset=False)
def cut_in_the_middle() -> bytes:
    return SOUND.data[: len(SOUND.data) // 2]


@bad(offset=False)
def cut_by_one_byte() -> bytes:
    return SOUND.data[:-1]


@bad(offset=False)
def raw_btf() -> bytes:
    return rawbtf.raw_btf([])


@bad(offset=False)
def archive() -> bytes:
    return (
        b"!<arch>\n"
        + b"x.o/".ljust(16)
        + b"0".ljust(32)
        + str(len(SOUND.data)).encode().ljust(10)
        + b"`\n"
        + SOUND.data
    )


@bad(offset=False)
def class_unknown() -> bytes:
    return patched(SOUND.data, 4, b"\x03")


@bad(offset=False)
def byte_order_unknown() -> bytes:
    return patched(SOUND.data, 5, b"\x00")


@bad(offset=False)
def byte_order_wrong() -> bytes:
    """Marked as big-endian: every number is nonsense."""
    return patched(SOUND.data, 5, b"\x02")


@bad(offset=False)
def class_wrong() -> bytes:
    return patched(SOUND.data, 4, b"\x01")


@bad(offset=False)
def section_table_past_the_end() -> bytes:
    return header(E_SHOFF, "Q", 1 << 40)


@bad(offset=False)
def section_table_near_2_64() -> bytes:
    return header(E_SHOFF, "Q", (1 << 64) - 64)


@bad(offset=False)
def section_table_absent() -> bytes:
    return header(E_SHOFF, "Q", 0)


@bad(offset=False)
def section_count_too_big() -> bytes:
    return header(E_SHNUM, "H", 0xFEFF)


@bad(offset=False)
def section_count_zero() -> bytes:
    """Then the count is in section 0, and is 0 there too."""
    return header(E_SHNUM, "H", 0)


@bad(offset=False)
def section_count_huge() -> bytes:
    """e_shnum 0, and 2^60 in section 0."""
    data = header(E_SHNUM, "H", 0)
    return patched(data, SOUND.header_at[""] + SH_SIZE, struct.pack("<Q", 1 << 60))


@bad(offset=False)
def section_header_size_wrong() -> bytes:
    return header(E_SHENTSIZE, "H", 8)


@bad(offset=False)
def section_names_index_past_the_end() -> bytes:
    return header(E_SHSTRNDX, "H", 200)


# -- sections ----------------------------------------------------------------------------------------


@bad(offset=False)
def section_name_past_the_table() -> bytes:
    return section(".debug_info", SH_NAME, "I", 0x7FFFFFFF)


@bad(".debug_info", offset=False)
def debug_info_past_the_end() -> bytes:
    return section(".debug_info", SH_OFFSET, "Q", 1 << 33)


@bad(".debug_info", offset=False)
def debug_info_too_long() -> bytes:
    return section(".debug_info", SH_SIZE, "Q", 1 << 33)


@bad(".debug_info", offset=False)
def debug_info_wraps_around() -> bytes:
    return section(".debug_info", SH_OFFSET, "Q", (1 << 64) - 16)


@bad(".debug_abbrev", offset=False)
def debug_abbrev_too_long() -> bytes:
    return section(".debug_abbrev", SH_SIZE, "Q", (1 << 64) - 1)


@bad(".symtab", offset=False)
def symtab_too_long() -> bytes:
    return section(".symtab", SH_SIZE, "Q", 24 << 30)


@bad(".symtab", offset=False)
def symtab_past_the_end() -> bytes:
    return section(".symtab", SH_OFFSET, "Q", 1 << 62)


@bad(".symtab", offset=False)
def symtab_entry_size_zero() -> bytes:
    return section(".symtab", SH_ENTSIZE, "Q", 0)


@bad(".symtab", offset=False)
def symtab_not_a_multiple() -> bytes:
    return section(".symtab", SH_SIZE, "Q", 24 * 2 + 7)


@bad(".symtab", offset=False)
def symtab_without_strings() -> bytes:
    return section(".symtab", SH_LINK, "I", 0)


@bad(".symtab", offset=False)
def symtab_string_table_past_the_end() -> bytes:
    return section(".symtab", SH_LINK, "I", 1000)


@bad(".strtab", offset=False)
def strtab_past_the_end() -> bytes:
    return section(".strtab", SH_OFFSET, "Q", 1 << 33)


@bad(".symtab")
def symbol_name_past_the_strings() -> bytes:
    return patched(SOUND.data, SOUND.data_at[".symtab"] + 24, struct.pack("<I", 0x01000000))


@bad(".symtab")
def symbol_name_unterminated() -> bytes:
    """The string table ends in the middle of the last name."""
    return section(".strtab", SH_SIZE, "Q", 5)


@bad(offset=False)
def no_sections_of_debug_information() -> bytes:
    return elf(sections(X86), symbols(X86)).data


@bad(offset=False)
def no_debug_abbrev() -> bytes:
    written = dwarf([unit([INT])])
    return kernel(written._replace(sections={".debug_info": written.sections[".debug_info"]})).data


@bad(offset=False)
def debug_info_empty() -> bytes:
    return kernel(debug={".debug_info": b""}).data


@bad(offset=False)
def debug_info_nobits() -> bytes:
    """The opposite of a file made by `objcopy --only-keep-debug`."""
    return kernel(debug={".debug_info": Section(".debug_info", b"", "NOBITS", size=200)}).data


@bad(offset=False)
def no_symbol_table() -> bytes:
    return kernel(symbols=None).data


@bad(offset=False)
def symbol_table_of_another_name() -> bytes:
    return section(".symtab", SH_NAME, "I", 0)


# -- compressed sections -----------------------------------------------------------------------------


def compressed(data: bytes) -> bytes:
    return kernel(debug={".debug_info": Section(".debug_info", data, flags=SHF_COMPRESSED)}).data


INFO = dwarf([unit([INT])]).sections[".debug_info"]
CHDR = struct.Struct("<IIQQ")


@bad(".debug_info", offset=False)
def compression_header_cut() -> bytes:
    return compressed(b"\x01\0\0\0\0")


@bad(".debug_info", offset=False)
def compression_unknown() -> bytes:
    return compressed(CHDR.pack(77, 0, len(INFO), 1) + zlib.compress(INFO))


@bad(".debug_info", offset=False)
def compression_stream_broken() -> bytes:
    return compressed(CHDR.pack(1, 0, len(INFO), 1) + b"this is no zlib stream")


@bad(".debug_info", offset=False)
def compression_stream_cut() -> bytes:
    return compressed(CHDR.pack(1, 0, len(INFO), 1) + zlib.compress(INFO)[:-6])


@bad(".debug_info", offset=False)
def compression_size_too_small() -> bytes:
    return compressed(CHDR.pack(1, 0, len(INFO) - 3, 1) + zlib.compress(INFO))


@bad(".debug_info", offset=False)
def compression_size_too_big() -> bytes:
    return compressed(CHDR.pack(1, 0, len(INFO) + 3, 1) + zlib.compress(INFO))


@bad(".debug_info", offset=False)
def compression_size_of_an_exabyte() -> bytes:
    """The size in a header must not be allocated without a check."""
    return compressed(CHDR.pack(1, 0, 1 << 60, 1) + zlib.compress(INFO))


@bad(".debug_info", offset=False)
def compression_bomb() -> bytes:
    """A stream of 64 MB where the header announces 200 bytes."""
    return compressed(CHDR.pack(1, 0, 200, 1) + zlib.compress(bytes(64 << 20)))


@bad(".zdebug_info", offset=False)
def old_compression_without_magic() -> bytes:
    written = dwarf([unit([INT])])
    return kernel(
        written._replace(
            sections={
                ".zdebug_info": b"BLIZ" + bytes(8) + zlib.compress(INFO),
                ".debug_abbrev": written.sections[".debug_abbrev"],
            }
        )
    ).data


# -- relocations -------------------------------------------------------------------------------------


def relocated(*relocations: Reloc, section_name: str = ".debug_info") -> bytes:
    written = dwarf([unit([INT])])
    return elf(
        [
            *(part._replace(address=0) for part in sections(X86)),
            *(Section(name, data) for name, data in written.sections.items()),
        ],
        [Symbol("f", 0, 16)],
        {section_name: relocations},
        type="ET_REL",
    ).data


@bad(".rela.debug_info")
def relocation_past_the_section() -> bytes:
    return relocated(Reloc(1 << 20, "f", 1))


@bad(".rela.debug_info")
def relocation_over_the_end() -> bytes:
    return relocated(Reloc(len(INFO) - 3, "f", 1))


@bad(".rela.debug_info")
def relocation_near_2_64() -> bytes:
    return relocated(Reloc((1 << 64) - 4, "f", 1))


@bad(".rela.debug_info")
def relocation_of_no_symbol() -> bytes:
    return relocated(Reloc(12, 5000, 10))


@bad(".rela.debug_info")
def relocation_of_unknown_type() -> bytes:
    return relocated(Reloc(12, "f", 222))


@bad(".rela.debug_info", offset=False)
def relocation_section_not_a_multiple() -> bytes:
    whole = relocatable()
    return section(".rela.debug_info", SH_SIZE, "Q", 25, whole)


@bad(".rela.debug_info", offset=False)
def relocation_symbols_elsewhere() -> bytes:
    whole = relocatable()
    return section(".rela.debug_info", SH_LINK, "I", 900, whole)


@odd
def relocation_entry_size_zero() -> bytes:
    whole = relocatable()
    return section(".rela.debug_info", SH_ENTSIZE, "Q", 0, whole)


@odd
def relocation_of_a_section_that_is_not_there() -> bytes:
    whole = relocatable()
    return section(".rela.debug_info", SH_INFO, "I", 900, whole)


@odd
def symbol_in_no_section() -> bytes:
    """st_shndx 500."""
    return patched(SOUND.data, SOUND.data_at[".symtab"] + 24 + 6, struct.pack("<H", 500))


@odd
def sections_over_each_other() -> bytes:
    """.debug_abbrev overlaps .debug_info."""
    return section(".debug_abbrev", SH_OFFSET, "Q", SOUND.data_at[".debug_info"])


@odd
def machine_unknown() -> bytes:
    return header(E_MACHINE, "H", 0x1234)


@odd
def section_type_unknown() -> bytes:
    return section(".debug_info", SH_TYPE, "I", 0x6FFF1234)


@odd
def big_endian_file_of_a_little_machine() -> bytes:
    return kernel(None, FLAVOURS["s390x"]._replace(machine="EM_X86_64")).data


@odd
def btf_ids_broken() -> bytes:
    """The section of kfunc ids ends inside a pair, and a set points past it."""
    ids = Section(".BTF_ids", bytes(13), flags=2, address=0x5000)
    return kernel(
        extra_sections=[ids],
        extra_symbols=[
            Symbol("__BTF_ID__set8__a", 0x5000, 0xFFFFFFFFFFFF, "OBJECT", ".BTF_ids"),
            Symbol("__BTF_ID__set8__b", 0x500C, 8, "OBJECT", ".BTF_ids"),
            Symbol("__BTF_ID__func__f__1", 0x5008, 8, "OBJECT", ".BTF_ids"),
            Symbol("__BTF_ID__func__f__2", 0, 8, "OBJECT", ".BTF_ids"),
        ],
    ).data


@odd
def notes_broken() -> bytes:
    """A note whose size exceeds its section by nearly 4 GB."""
    return kernel(
        extra_sections=[Section(".note.Linux", struct.pack("<3I", 0xFFFFFFFF, 0xFFFFFFF0, 0x101), "NOTE")]
    ).data
