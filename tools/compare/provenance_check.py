"""Compares what `pybtf encode --provenance` says with what llvm-dwarfdump finds at the same offsets.

    python -m tools.compare.provenance_check [--sample N] [--seed S] FILE|KERNEL...

KERNEL is a name that tools/judge/reference.py knows. N types and N functions with a place of declaration are drawn,
including those left out. For each, the DIE at the offset must have the name, a tag of the right kind, and the file and
line; and the unit must be the one around it. This needs llvm-dwarfdump, which shares no code with pybtf, and takes
seconds for each entry of a kernel.

Exit status: 1 if one entry is wrong.
"""

from __future__ import annotations

import argparse
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.judge.reference import Unavailable, kernel

TAGS = {
    "STRUCT": ("structure_type", "class_type", "interface_type"), "UNION": ("union_type",),
    "ENUM": ("enumeration_type",), "ENUM64": ("enumeration_type",), "TYPEDEF": ("typedef",), "INT": ("base_type",),
    "FLOAT": ("base_type",), "VAR": ("variable",), "FUNC": ("subprogram",), "FWD": ("structure_type", "union_type"),
    "FUNC_PROTO": ("subroutine_type", "subprogram"),
}  # fmt: skip
ROW = "x.die, file.name, x.line, unit.name"
JOINED = "JOIN file ON file.id = x.file JOIN unit ON unit.id = x.unit"
Entry = tuple[str, str, int, str, int, str]
"""Kind, name, DIE, file, line and unit."""


def dump(path: Path, die: int) -> tuple[str, dict[str, str], str]:
    """The tag and attributes of the DIE at an offset, and the name of its unit."""
    command = ["llvm-dwarfdump", f"--debug-info={die:#x}", "--show-parents", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    tag, unit, attributes = "", "", dict[str, str]()
    for line in text.splitlines():
        found = re.match(r"(0x[0-9a-f]+):\s+DW_TAG_(\w+)", line)
        if found:
            tag, attributes = found[2], {}
            continue
        value = re.match(r"\s+DW_AT_(\w+)\s+\((.*)\)$", line)
        if value:
            attributes[value[1]] = value[2].strip('"')
            if tag.endswith("_unit") and value[1] == "name":
                unit = attributes["name"]
    return tag, attributes, unit


def wrong(path: Path, entry: Entry) -> str:
    """What is wrong with an entry; "" if nothing is."""
    kind, name, die, file, line, unit = entry
    tag, attributes, around = dump(path, die)
    for _ in range(16):
        origin = attributes.get("abstract_origin") or attributes.get("specification")
        if "decl_file" in attributes or not origin:
            break
        target = re.match(r"0x[0-9a-f]+", origin)
        if not target:
            break
        below, more, _ = dump(path, int(target[0], 16))
        tag, attributes = below, more | {"name": more.get("name", attributes.get("name", ""))}
    if tag not in TAGS.get(kind, (tag,)):
        return f"is DW_TAG_{tag}"
    if name and kind != "FUNC_PROTO" and attributes.get("name") not in (name, name.partition(".")[0]):
        return f"has the name {attributes.get('name')}"
    if around != unit:
        return f"is in the unit {around}, not {unit}"
    plain = re.sub("/+", "/", file.removeprefix("./"))
    if not re.search(rf"(^|/){re.escape(plain)}$", attributes.get("decl_file", "")):
        return f"is declared in {attributes.get('decl_file')}, not {file}"
    if attributes.get("decl_line") != str(line):
        return f"is declared in line {attributes.get('decl_line')}, not {line}"
    return ""


def entries(database: Path) -> tuple[list[Entry], list[Entry]]:
    """All types and all functions with a place of declaration."""
    with sqlite3.connect(database) as connection:
        types = connection.execute(f"SELECT x.kind, coalesce(x.name, ''), {ROW} FROM type AS x {JOINED}").fetchall()
        functions = connection.execute(f"SELECT 'FUNC', x.name, {ROW} FROM function AS x {JOINED}").fetchall()
    return types, functions


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=10, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("files", nargs="+", metavar="FILE|KERNEL")
    arguments = parser.parse_args()
    failed = 0
    for name in arguments.files:
        try:
            path = Path(name) if Path(name).exists() else kernel(name)
        except Unavailable as error:
            print(f"skipped: {error}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            database = Path(folder) / "provenance"
            command = [sys.executable, "-m", "pybtf", "encode", "-q", "--detached", f"{folder}/btf", str(path)]
            command += ["--provenance", str(database)]
            if subprocess.run(command, check=False).returncode:
                return 1
            types, functions = entries(database)
        for what, rows in (("types", types), ("functions", functions)):
            drawn = random.Random(arguments.seed).sample(rows, min(arguments.sample, len(rows)))
            faults = [(entry, wrong(path, entry)) for entry in drawn]
            for entry, fault in faults:
                if fault:
                    print(f"{name}: {entry[0]} {entry[1]}, DIE {entry[2]:#x}: {fault}")
            count = sum(bool(fault) for _, fault in faults)
            failed += count
            print(f"{name}: {len(rows):,} {what} are declared somewhere; of {len(drawn)} drawn {count} are wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
