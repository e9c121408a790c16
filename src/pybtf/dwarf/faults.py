"""Faults of the compiled core as exceptions: one sentence for each name of core/codes.py (FAULT_NAMES)."""

from __future__ import annotations

from pybtf.dwarf.sections import DebugSections
from pybtf.errors import DiscardedError, EncodeError, InputError, Place, shortened
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

    from pybtf.core.run import FaultInfo

_SECTIONS: Final = (
    ".debug_info",
    ".debug_abbrev",
    ".debug_str",
    ".debug_line_str",
    ".debug_str_offsets",
    ".debug_addr",
    ".debug_loc",
    ".debug_loclists",
    ".debug_btf_values",
)

# name: (found, expected); {v} is the fault's value, {x} the same as an unsigned hexadecimal number, {tag} the name of
# the DWARF tag it is, {name} a name
_DAMAGE: Final[dict[str, tuple[str, str]]] = {
    "truncated": ("the data ends inside a value", "the rest of the value"),
    "leb": ("a LEB128 number that does not end", "a number of at most 64 bits"),
    "string": ("a string without its NUL byte", "a NUL byte before the end of the section"),
    "form": ("the unknown attribute form {x}", "a form of DWARF 2 to 5"),
    "abbrev_code": ("the abbreviation code {v}, which the unit's table does not have", "a code of its table"),
    "abbrev_offset": ("an abbreviation table that starts past the end of the section", "an offset below {x}"),
    "offset": ("an offset past the end of the section", "an offset below {x}"),
    "reference": ("a reference to {x}, which is outside", "the offset of a DIE"),
    "version": ("DWARF version {v}", "version 2, 3, 4 or 5"),
    "unit_length": ("the unit length {x}", "a length that ends within the section"),
    "depth": ("DIEs nested more than {v} deep", "a shallower tree"),
    "unit_tag": ("a unit that starts with {tag}", "DW_TAG_compile_unit"),
    "origin": (
        "an abstract origin at {x}, where no function is read",
        "a DW_TAG_subprogram, and not in what is passed over, such as a DW_TAG_module",
    ),
    "address_size": ("addresses of {v} bytes", "4 or 8 bytes"),
    "too_many": ("{v} members, enumerators, parameters or declarations", "at most 65535"),
    "cycle": ("a chain of references that comes back to {x}", "a chain that ends"),
    "index": ("the index {v} past the end of its table", "a smaller index"),
    "shared": ("shared data that expands to {v} bytes or steps", "no more sharing than compilers produce"),
    "size": ("{v} bytes of DWARF", "less than 4 GiB"),
    "tags": ("an object with {v} declaration tags", "at most 65535"),
    "attributes": ("an abbreviation with more than {v} attributes without bytes", "at most {v}"),
    "rest": ("{v} more bytes of the unit after the end of its tree of DIEs", "nothing but zeros"),
    "unit_type": ("the unit type {x}", "a unit type of DWARF 5, 1 to 6"),
    "split_form": (
        "the form {x} in split DWARF, an offset into a section that other files may be in, too",
        "an index, or a reference within the unit",
    ),
    "split": ("a skeleton, whose contents are in the file {name}", "a unit with its contents in this file"),
    "alternate": (
        "a reference into an alternate file (.gnu_debugaltlink) that was not found",
        "the alternate file",
    ),
    "alternate_ref": (
        "a reference to {x}, which is outside .debug_info of the alternate file {alternate}",
        "the offset of a DIE",
    ),
    "alternate_string": (
        "a name at {x} of .debug_str of the alternate file {alternate}, where it has none",
        "the offset of a string",
    ),
    "nested": ("something that is in an alternate file of an alternate file", "a file that is complete"),
    "values": ("values that are damaged", "what pybtf object has written"),
    "discarded": (
        "the function {name}, whose code the linker has discarded: what its DWARF then says depends on the linker",
        "code that is linked, or DWARF 5",
    ),
}
_HINTS: Final = {
    "split": (
        "pybtf looks for the file only if this is a skeleton of DWARF 5, or has DW_AT_GNU_dwo_name. Otherwise build "
        "without -gsplit-dwarf; or without -gmodules, if the file is a module of clang (.pcm)."
    ),
    "alternate": "{no_alternate}",
    "nested": "dwz does not write such files; use the file from before dwz.",
    "discarded": "Build with -gdwarf-5, or encode the linked DWARF.",
}
#: Forms that no version of DWARF has, and how to do without.
_FORM_HINTS: Final = {
    0x2001: "This is DW_FORM_LLVM_addrx_offset. Compile without -mllvm -minimize-addr-in-v5=Form.",
}
_DEGRADE: Final = "`pybtf encode --degrade` replaces what BTF cannot express, and says what was lost."
_NO_FLOAT: Final = f"Leave out the feature float. {_DEGRADE}"
_INEXPRESSIBLE: Final[dict[str, tuple[str, str, str]]] = {
    "unsupported_tag": ("a {tag}, which BTF cannot express", "C without _Atomic, references and the like", _DEGRADE),
    "no_name": ("a {tag} without a name", "a name", _DEGRADE),
    "float_complex": ("a complex or imaginary floating-point type", "a real one", _NO_FLOAT),
    "float_size": ("a floating-point type of {v} bytes", "2, 4, 8, 12 or 16 bytes", _NO_FLOAT),
    "member_offset": ("a member at bit {v}", "a multiple of 8, as it is not a bitfield", _DEGRADE),
    "bitfield_offset": ("a bitfield at bit {v}", "at most bit 16777215", _DEGRADE),
    "union_offset": ("a union member at bit {v}", "bit 0", _DEGRADE),
    "enum_value": ("the enumerator value {v} in an enumeration of 4 bytes", "a value of 32 bits", _DEGRADE),
    "enum_size": ("an enumeration of {v} bytes", "1, 2, 4 or 8 bytes", _DEGRADE),
    "variable_name": (
        "the variable {name}, whose name BTF does not allow",
        "at most 128 letters, digits, _ and .",
        "Add encode_force to the features.",
    ),
    "variable_type": ("the variable {name}, which has no type", "a type", "Add encode_force to the features."),
    "empty_tag": ("a declaration tag without a value", "a nonempty string", ""),
    "int_size": ("a number of {v} bytes", "1, 2, 4, 8 or 16 bytes", _DEGRADE),
    "member_end": ("a member that reaches past the end of {v} bytes", "members within the type", _DEGRADE),
}


_OWN_TAGS: Final = {0: "a null entry", 0x6000: "DW_TAG_LLVM_annotation", 0x6001: "DW_TAG_GNU_annotation"}


def fault_error(path: str, fault: FaultInfo, sections: object = None) -> Exception:
    """The exception for a fault in the file `path`, or in the file that these `DebugSections` are of."""
    code = fault["code"]
    if code == "memory":
        return MemoryError(f"{path}: not enough memory")
    place = Place(
        path,
        _SECTIONS[fault["section"]],
        fault["offset"],
        fault["unit"] if fault["unit"] >= 0 else None,
        fault["unit_name"] or None,
        fault["die"] or None,
    )
    alternate, no_alternate = None, ""
    if isinstance(sections, DebugSections):
        place = sections.place(place)
        alternate, no_alternate = sections.alternate, sections.no_alternate
    value = fault["value"]
    words = {
        "v": value,
        "x": hex(value & 0xFFFFFFFFFFFFFFFF),
        "tag": tag_name(value) if "{tag}" in str((_DAMAGE.get(code), _INEXPRESSIBLE.get(code))) else "",
        "name": shortened(fault["name"]),
        "alternate": alternate.path if alternate is not None else "",
        "no_alternate": no_alternate,
    }
    if code in _INEXPRESSIBLE:
        found, expected, hint = _INEXPRESSIBLE[code]
        return EncodeError(place, found.format(**words), expected.format(**words), hint)
    found, expected = _DAMAGE[code]
    error = DiscardedError if code == "discarded" else InputError
    hint = _FORM_HINTS.get(value, "") if code == "form" else _HINTS.get(code, "").format(**words)
    return error(place, found.format(**words), expected.format(**words), hint)


def tag_name(tag: int) -> str:
    """DW_TAG_... for people."""
    from elftools.dwarf.enums import ENUM_DW_TAG

    if tag in _OWN_TAGS:
        return _OWN_TAGS[tag]
    for name, number in ENUM_DW_TAG.items():
        if number == tag and name.startswith("DW_TAG_"):
            return str(name)
    return f"DW_TAG {tag:#x}"
