"""Writes the constants of the formats that the compiled core uses, by name.

    python -m tools.project.constants            write them
    python -m tools.project.constants --check    only compare; exit status 1 if a file is out of date

The core uses a name such as `DW_TAG_member` in its sources, and this program writes its number: for DWARF and ELF from
pyelftools' tables, for BTF from `pybtf.btf.kinds`. Names that pyelftools does not have are in EXTENSIONS.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from elftools.dwarf import constants as dwarf_constants
from elftools.dwarf import dwarf_expr
from elftools.dwarf import enums as dwarf_enums
from elftools.elf import constants as elf_constants
from elftools.elf import enums as elf_enums

from pybtf.btf.kinds import IntEncoding, Kind

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "src" / "pybtf" / "core"
EXTENSIONS = {
    "DW_TAG_LLVM_annotation": 0x6000,  # clang, for btf_decl_tag and btf_type_tag
    "DW_TAG_GNU_annotation": 0x6001,  # gcc 16
    "DW_AT_GNU_annotation": 0x2139,
    "DW_OP_GNU_reinterpret": 0xF9,
}


class File(NamedTuple):
    """What is written to a file of the core, and which names in the sources belong there."""

    path: Path
    head: str
    pattern: str
    known: Callable[[], dict[str, int]]


def numbers(*tables: Mapping[str, object]) -> dict[str, int]:
    """The names and numbers of all tables."""
    return {name: number for table in tables for name, number in table.items() if isinstance(number, int)}


def dwarf() -> dict[str, int]:
    tables = [table for name, table in vars(dwarf_enums).items() if name.startswith("ENUM_DW")]
    return numbers(*tables, dwarf_expr.DW_OP_name2opcode, vars(dwarf_constants), EXTENSIONS)


def elf() -> dict[str, int]:
    tables = [table for name, table in vars(elf_enums).items() if re.match("ENUM_(E_|SH_TYPE_(BASE|MIPS)|ST_)", name)]
    return numbers(*tables, vars(elf_constants.SH_FLAGS), vars(elf_constants.SHN_INDICES))


def kinds() -> dict[str, int]:
    encodings = {f"INT_{each.name}": each.value for each in IntEncoding}
    return {f"KIND_{kind.name}": kind.value for kind in Kind if kind} | encodings


FILES = (
    File(
        CORE / "model" / "dwarf_constants.pxd",
        "DWARF constants by their names in the standard (DWARF 5, chapter 7)",
        r"\bDW_(?:TAG|AT|FORM|OP|ATE|CC|LANG|LLE|UT)_\w+",
        dwarf,
    ),
    File(
        CORE / "elf" / "elf_constants.pxd",
        "ELF constants by their names in the standard (System V gABI, chapter 4)",
        r"\b(?:EM|SHT|SHF|SHN|STT)_[A-Z]\w+",
        elf,
    ),
    File(CORE / "btf" / "kinds.pxd", "Kinds of BTF types, and encodings of INT (Documentation/bpf/btf.rst)", "", kinds),
)
GROUPS = ("DW_TAG", "DW_AT", "DW_FORM", "DW_OP", "KIND")


def used(pattern: str, known: dict[str, int]) -> set[str]:
    """The names in the core's code. `DW_AT_type` occurs in no code, but in many comments."""
    generated = {file.path for file in FILES}
    found: set[str] = set()
    for path in CORE.rglob("*.p*"):
        if path.suffix in (".py", ".pxd") and path not in generated:
            code = re.sub(r'"""[\s\S]*?"""|#.*', "", path.read_text())
            found.update(re.findall(pattern, code))
    if unknown := found - set(known):
        sys.exit(f"in no table: {', '.join(sorted(unknown))}")
    return found


def text(file: File) -> str:
    """The text that the file should have."""
    known = file.known()
    names = used(file.pattern, known) if file.pattern else set(known)
    style = "d" if file.pattern == "" else "#04x"
    ordered = sorted(names, key=lambda name: order(name, known[name]))
    lines = [f"    {name} = {known[name]:{style}}\n" for name in ordered]
    return f"# {file.head}, written by tools/project/constants.py.\n\ncdef enum:\n{''.join(lines)}"


def order(name: str, number: int) -> tuple[int, str, int]:
    """Tags, attributes, forms and operations come first; each group is in the order of its numbers."""
    first, second, *_ = name.split("_")
    group = f"{first}_{second}" if first == "DW" else first
    return (GROUPS.index(group) if group in GROUPS else len(GROUPS), group, number)


def main() -> int:
    status = 0
    for file in FILES:
        wanted = text(file)
        if file.path.exists() and file.path.read_text() == wanted:
            continue
        if "--check" not in sys.argv[1:]:
            file.path.write_text(wanted)
        else:
            print(f"{file.path.relative_to(ROOT)} is not what this program writes", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
