"""Records what pahole prints for the types in fixtures/golden, for test_show.py: fixtures/show/expected.json.

    python -m tools.golden.show_golden

For each file, the title of each struct and union (`struct pair`) and the start of the digest of its text; for some
files the text itself, for readers; and in fixtures/show/functions the same for what pfunct prints about all functions.
The programs in fixtures/show/options are compiled and encoded unless they already are, and the texts of all their types
with many options are written to expected.json there. pahole is that of tools/judge/reference.py.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from pybtf.btf.builder import Builder
from pybtf.btf.kinds import Kind
from pybtf.btf.reader import BTF
from pybtf.btf.types import Param
from tools.compare.show_compare import by_pahole, by_pfunct, definitions, title
from tools.judge import reference

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "fixtures" / "golden"
FOLDER = ROOT / "fixtures" / "show"
LANGUAGES = ("49_more", "51_rust")
"""C++ and Rust: pahole has doubts about members that lie on each other, or outside."""
READABLE = ("00_kernel_like.gcc-O2-5-exe.usual.btf", "12_bitfields.gcc-O0-5-obj.usual.btf")


OPTIONS = {
    "members": ["-E", "-p", "-E -p", "-q", "-q -E", "-r -E", "--hex"],
    "attributes": ["-E", "-p", "-E -p", "-r", "-q"],
    "typedefs": ["-E", "-p", "-q -p"],
    "pointers": ["-E", "-p", "-E -p"],
    "packed": ["-E", "-p"],
    "order": ["-R", "-R -S", "-R -q"],
    "random": ["-R"],
    "enums": ["", "--hex"],
    "skipped": ["", "-E", "-p", "-E -p", "-q", "-r -E"],
    "flexible": ["", "-E"],
    "lines": ["", "-c 128", "-c 32 -E", "-c 24", "-c 96", "-c 7 -E", "-c 1", "-c 48 -E -p", "-c 16 -R"],
    "alike": [],
    "qualifiers": ["", "-E", "-p", "-q"],
    "arrays": ["", "-E"],
    "nameless": ["", "-E"],
    "biggest": [],
}
"""For each program in fixtures/show/options what is recorded."""
SELECTED = {
    "flexible.selected": ("flexible", "--with_embedded_flexible_array"),
    "alike.selected": ("alike", ""),
    "alike.sorted": ("alike", "--sort"),
    "alike.users": ("alike", "-f target"),
    "enums.selected": ("enums", "--contains_enumerator=Y"),
    "arrays.flat": ("arrays", "--flat_arrays"),
    "arrays.flexible": ("arrays", "--with_flexible_array -s"),
    "attributes.not-aligned": ("attributes", "--suppress_aligned_attribute"),
    "packed.not-packed": ("packed", "--suppress_packed"),
    "nameless.all": ("nameless", "-a"),
    "nameless.prefix": ("nameless", "-a -q -y n"),
    "nameless.sizes": ("nameless", "-a -s"),
    "nameless.methods": ("nameless", "-m"),
    "nameless.nested": ("nameless", "-a -A"),
    "nameless.by-name": ("nameless", "-a -A -q --sort"),
    "alike.definitions": ("alike", "-T"),
    "order.definitions": ("order", "-T -s -H 2"),
    "biggest.all": ("biggest", "-l"),
    "biggest.inside": ("biggest", "-l -E -C inside,by_typedef,twice"),
    "order.biggest": ("order", "-l -R -S -C a2,b2"),
}
"""What is recorded of whole files: of which, and with which options."""


def record_options() -> int:
    """The texts of named types, with options: expected.json, by file, options and name."""
    folder = FOLDER / "options"
    found: dict[str, dict[str, dict[str, str]]] = {}
    for name, lists in OPTIONS.items():
        path = folder / f"{name}.btf"
        if not path.exists():
            with tempfile.TemporaryDirectory() as scratch:
                compiled = f"{scratch}/x.o"
                subprocess.run(["gcc", "-w", "-g", "-c", "-o", compiled, folder / f"{name}.c"], check=True)
                subprocess.run([*reference.pahole(), "-J", f"--btf_encode_detached={path}", compiled], check=True)
        btf = BTF.from_file(path)
        kinds = (Kind.STRUCT, Kind.UNION, Kind.ENUM, Kind.ENUM64, Kind.TYPEDEF)
        names = sorted({type.name for type in btf if type.kind in kinds and type.name})
        for options in lists:
            texts = {each: by_pahole(str(path), None, *options.split(), "-C", each) for each in names}
            found.setdefault(name, {})[options] = {each: text for each, text in texts.items() if text}
    (folder / "expected.json").write_text(json.dumps(found, indent=1) + "\n")
    for name, (file, options) in SELECTED.items():
        selected = by_pahole(str(folder / f"{file}.btf"), None, *options.split())
        (folder / f"{name}.txt").write_text(selected)
    return sum(len(texts) for lists in found.values() for texts in lists.values())


def odd_functions() -> bytes:
    """Functions with tags, and with pointers to functions in all places."""
    made = Builder()
    number = made.add_int("int", 4, 1)
    made.add_int("long int", 8, 1)
    prototype = made.add_func_proto(number, [Param("x", number), Param("", number)])
    pointer = made.add_ptr(prototype)
    nested = made.add_ptr(made.add_func_proto(0, [Param("cb", pointer), Param("", made.add_ptr(0)), Param("", 0)]))
    types = [
        pointer, nested, made.add_ptr(pointer), made.add_ptr(nested), made.add_const(pointer),
        made.add_ptr(made.add_array(pointer, 3, number)), made.add_ptr(made.add_typedef("call", prototype)),
        made.add_typedef("callback", pointer), made.add_ptr(made.add_type_tag("user", prototype)),
        made.add_volatile(pointer), made.add_ptr(made.add_const(prototype)),
        made.add_ptr(made.add_func_proto(pointer, [Param("a", number)])),
    ]  # fmt: skip
    made.add_func("named", made.add_func_proto(0, [Param(f"a{i}", type) for i, type in enumerate(types)]))
    made.add_func("nameless", made.add_func_proto(pointer, [Param("", type) for type in types]))
    made.add_func("nothing", made.add_func_proto(0))
    made.add_func("dots", made.add_func_proto(number, [Param("", 0)]))
    tagged = made.add_func("tagged", made.add_func_proto(number, [Param("p", pointer), Param("q", number)]))
    for name, component in (("second", 1), ("two", -1), ("one", -1), ("first", 0), ("once_more", 1)):
        made.add_decl_tag(name, tagged, component)
    return made.to_bytes()


def record_functions() -> int:
    """odd.btf and its text, and for each golden file the digest of its functions, sorted."""
    (FOLDER / "functions").mkdir(exist_ok=True)
    (FOLDER / "functions" / "odd.btf").write_bytes(odd_functions())
    lines = sorted(by_pfunct(str(FOLDER / "functions" / "odd.btf")))
    (FOLDER / "functions" / "odd.txt").write_text("\n".join(lines) + "\n")
    found: dict[str, str] = {}
    for path in sorted(GOLDEN.glob("*.usual.btf")):
        lines = sorted(by_pfunct(str(path)))
        if lines and not path.name.startswith(LANGUAGES):
            found[path.name] = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    (FOLDER / "functions" / "golden.json").write_text(json.dumps(found, indent=1) + "\n")
    return len(found)


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    print(f"functions of {record_functions()} files")
    found: dict[str, list[list[str]]] = {}
    for path in sorted(GOLDEN.glob("*.usual.btf")):
        if path.name.startswith(LANGUAGES):
            continue
        btf = BTF.from_file(path)
        if not any(btf.by_name(name, Kind.INT) for name in ("long int", "long", "long unsigned int", "unsigned long")):
            continue  # pahole then does not know the size of pointers, and takes 0
        text = by_pahole(str(path), None)
        rows = [
            [title(each), hashlib.sha256(each.encode("utf-8", "surrogateescape")).hexdigest()[:16]]
            for each in definitions(text)
        ]
        if rows:
            found[path.name] = rows
        if path.name in READABLE:
            (FOLDER / f"{path.stem}.txt").write_bytes(text.encode("utf-8", "surrogateescape"))
    (FOLDER / "expected.json").write_text(json.dumps({"inputs": found}, indent=1) + "\n")
    print(f"{record_options()} texts with options")
    print(f"{sum(map(len, found.values()))} types of {len(found)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
