"""What pahole and bpftool call what a command here does: hints for those who are used to them. Only imported when
something was not understood.
"""

from __future__ import annotations

import os

PAHOLE = {
    "-J": "encode FILE",
    "--btf_encode": "encode FILE",
    "--btf_encode_detached": "encode --detached OUT FILE",
    "--btf_features": "encode --features LIST FILE",
    "--btf_base": "encode --base BTF FILE",
    "-C": "show NAME FILE",
    "--class_name": "show NAME FILE",
    "-E": "show -E NAME FILE",
    "--expand_types": "show -E NAME FILE",
    "-s": "show --sizes FILE",
    "--sizes": "show --sizes FILE",
    "-F": "show NAME FILE",
    "--format_path": "show NAME FILE",
    "--compile": "dump FILE",
}
SHOWN = {
    "-q": "show --no-comments NAME FILE",
    "--quiet": "show --no-comments NAME FILE",
    "-i": "show --contains NAME FILE",
    "-f": "show --find-pointers-to NAME FILE",
    "--rel_offset": "show -E -r NAME FILE",
    "--show_reorg_steps": "show -R -S NAME FILE",
    "-T": "duplicates FILE",
    "--nr_definitions": "duplicates FILE",
    "-I": "show --provenance DATABASE NAME FILE",
    "--show_decl_info": "show --provenance DATABASE NAME FILE",
    "--prettify": "decode --btf FILE NAME DATA",
}
"""Where types are shown: other commands may be expected to have options of these letters, about something else."""
ONLY_PAHOLE = {
    "-a": "", "--anon_include": "",
    "-A": "", "--nested_anon_include": "",
    "-l": "", "--show_first_biggest_size_base_type_member": "",
    "-u": "", "--defined_in": "",
    "-m": "", "--nr_methods": "",
    "-n": "", "--nr_members": "",
    "-N": "", "--class_name_len": "",
    "-t": " SEP", "--separator": "=SEP",
    "-x": " PREFIX", "--exclude": "=PREFIX",
    "-y": " PREFIX", "--prefix_filter": "=PREFIX",
    "-z": " N", "--hole_size_ge": "=N",
    "--flat_arrays": "",
    "--structs": "",
    "--unions": "",
    "--suppress_aligned_attribute": "",
    "--suppress_packed": "",
}  # fmt: skip
"""Likewise what only `pybtf-pahole` has, with the value it takes."""
BPFTOOL = {
    "btf": "dump FILE",
    "btf dump": "dump FILE",
    "gen": "min-core BTF OBJECT... -o OUT",
    "gen min_core_btf": "min-core BTF OBJECT... -o OUT",
    "version": "--version",
    "-V": "--version",
    "-B": "dump --base BTF FILE",
    "--base-btf": "dump --base BTF FILE",
    "-j": "dump --json FILE",
    "--json": "dump --json FILE",
    "-p": "dump --json --pretty FILE",
}
OUTPUT = ("-o", "--output")
"""Of some commands here; of those that may write into FILE it is `--detached`."""
DETACHING = ("pybtf encode", "pybtf merge")
SHOWING = ("pybtf", "pybtf show")
DUMPING = ("pybtf", "pybtf dump")
ASKING = ("list", "show", "dump id", "dump map", "dump prog")
"""What bpftool's `btf` asks the kernel."""
_DUMP_WORDS = {"format": "--format", "root_id": "--root", "unsorted": "--unsorted"}


def of_option(name: str, command: str) -> str:
    """What comes after `no such option`: ` (for pahole's there is 'pybtf encode FILE')`, or nothing."""
    if name in OUTPUT and command in DETACHING:
        return f" ('{command} --detached OUT FILE' writes the BTF to OUT)"
    if command == "pybtf cc" and not name.startswith("--"):
        return ", the compiler and its options come after --: pybtf cc -- gcc -c main.c"
    if name in PAHOLE:
        return f" (for pahole's there is 'pybtf {PAHOLE[name]}')"
    if name in SHOWN and command in SHOWING:
        return f" (for pahole's there is 'pybtf {SHOWN[name]}')"
    if name in ONLY_PAHOLE and command in SHOWING:
        return f" (pahole's is in 'pybtf-pahole -F btf {name}{ONLY_PAHOLE[name]} FILE')"
    return of_word(name) if command in DUMPING else ""


def of_option_like_file(name: str, arguments: list[str]) -> str:
    """What comes after `no such option` if an argument that begins so is the name of a file."""
    for each in arguments:
        if each.startswith(name) and os.path.lexists(each):
            from shlex import quote

            return f"; the file of that name is {quote(f'./{each}')}"
    return ""


def of_word(name: str) -> str:
    """` (for bpftool's there is 'pybtf dump FILE')`, or nothing."""
    return f" (for bpftool's there is 'pybtf {BPFTOOL[name]}')" if name in BPFTOOL else ""


def of_words(words: list[str]) -> str:
    """As `of_word`, for the words of a command line of bpftool, of which the first is not a command here."""
    if words[:3] == ["btf", "dump", "file"]:
        return of_dump(tuple(words[2:])) or of_word("btf dump")
    if words[0] == "resolve_btfids":
        return ": it is of the kernel's own tools; 'pybtf verify --btf-ids FILE' says which names it will not find"
    if words[0] == "btf" and " ".join(words[1:]).startswith(ASKING):
        return ": pybtf asks no kernel what is loaded; the BTF of the kernel and its modules is in /sys/kernel/btf"
    return of_word(" ".join(words[:2]))


def of_file(name: str) -> str:
    """What comes after `there is no command` for a file that is there."""
    start = b""
    if os.path.isfile(name):  # noqa: PTH113
        try:
            with open(name, "rb") as file:
                start = file.read(2)
        except OSError:
            pass
    from pybtf.btf.kind_numbers import MAGICS

    command = "dump" if start in MAGICS else "encode"
    return f" (did you mean 'pybtf {command} {name}'?)"


def of_names(files: tuple[str, ...]) -> str:
    """What comes after `one FILE at a time` if the others are names of types, which other commands take beside FILE."""
    there = [each for each in files if os.path.lexists(each)]
    if len(there) != 1:
        return ""
    from shlex import join

    roots = [word for each in files if each != there[0] for word in ("--root", each)]
    return f"; a type is named by --root: {join(['pybtf', 'dump', *roots, there[0]])}"


def of_dump(files: tuple[str, ...]) -> str:
    """As `of_word`, for what follows `btf dump` in bpftool: `file FILE`, `root_id ID`, and perhaps `format FORMAT`."""
    if len(files) < 2 or (files[0] != "file" and not set(files[1:]) & set(_DUMP_WORDS)):
        return ""
    rest = iter(files[1:] if files[0] == "file" else files)
    file = next(rest)
    options: dict[str, list[str]] = {"--format": ["raw"]}
    for word in rest:
        value = next(rest, "") if word != "unsorted" else ""
        if word not in _DUMP_WORDS or (word != "unsorted" and not value):
            return ""
        if word == "root_id":
            options.setdefault("--root", []).append(value)
        else:
            options[_DUMP_WORDS[word]] = [value]
    words = [f"{option} {value}".rstrip() for option, values in options.items() for value in values]
    return f" (for bpftool's there is 'pybtf dump {' '.join(words)} {file}')"
