"""What pahole and bpftool call what a command here does: hints for those who are used to them. Only imported when
something was not understood.
"""

from __future__ import annotations

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
    "-s": "size FILE",
    "--sizes": "size FILE",
    "--compile": "dump FILE",
}
BPFTOOL = {"btf": "dump FILE", "gen": "min-core BTF OBJECT... -o OUT"}


def of_option(name: str) -> str:
    """` (for pahole's there is 'pybtf encode FILE')`, or nothing."""
    return f" (for pahole's there is 'pybtf {PAHOLE[name]}')" if name in PAHOLE else ""


def of_word(name: str) -> str:
    """` (for bpftool's there is 'pybtf dump FILE')`, or nothing."""
    return f" (for bpftool's there is 'pybtf {BPFTOOL[name]}')" if name in BPFTOOL else ""


def of_dump(files: tuple[str, ...]) -> str:
    """The same for what follows `btf dump` in bpftool: `file FILE`, and perhaps `format FORMAT`."""
    if files[0] != "file" and "format" not in files[1:]:
        return ""
    format = files[files.index("format") + 1 :][:1] if "format" in files else ()
    name = files[1] if files[0] == "file" else files[0]
    return f" (for bpftool's there is 'pybtf dump --format {''.join(format) or 'raw'} {name}')"
