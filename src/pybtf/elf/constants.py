"""The numbers of the ELF format that pybtf acts on (System V gABI, chapters 4 and 5)."""

from __future__ import annotations

from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

ET_REL: Final = 1

SHN_UNDEF: Final = 0
SHN_LORESERVE: Final = 0xFF00
"""First section index that cannot be written into a 16-bit field: 65,280."""
SHN_XINDEX: Final = 0xFFFF
"""`e_shstrndx` when the true index is in `sh_link` of section 0."""

EM_386: Final = 3
EM_X86_64: Final = 62
EM_AARCH64: Final = 183
EM_BPF: Final = 247

SHT_NULL: Final = 0
SHT_PROGBITS: Final = 1
SHT_SYMTAB: Final = 2
SHT_STRTAB: Final = 3
SHT_RELA: Final = 4
SHT_DYNAMIC: Final = 6
SHT_NOTE: Final = 7
SHT_NOBITS: Final = 8
SHT_REL: Final = 9
SHT_GROUP: Final = 17
SHT_SYMTAB_SHNDX: Final = 18
SHT_MIPS_DWARF: Final = 0x7000001E

SHF_ALLOC: Final = 0x2
SHF_EXECINSTR: Final = 0x4
SHF_INFO_LINK: Final = 0x40
SHF_GROUP: Final = 0x200
SHF_COMPRESSED: Final = 0x800
SHF_EXCLUDE: Final = 0x8000_0000

ELFCOMPRESS_ZLIB: Final = 1
ELFCOMPRESS_ZSTD: Final = 2

NT_GNU_BUILD_ID: Final = 3

DWARF_SECTIONS: Final = frozenset(
    (
        ".debug_info", ".debug_abbrev", ".debug_line", ".debug_line_str", ".debug_str", ".debug_str_offsets",
        ".debug_addr", ".debug_aranges", ".debug_ranges", ".debug_rnglists", ".debug_loc", ".debug_loclists",
        ".debug_frame", ".debug_macro", ".debug_macinfo", ".debug_types", ".debug_names", ".debug_pubnames",
        ".debug_pubtypes", ".debug_gnu_pubnames", ".debug_gnu_pubtypes", ".debug_gdb_scripts",
    )
)  # fmt: skip
"""What compilers and linkers call the parts of DWARF."""
