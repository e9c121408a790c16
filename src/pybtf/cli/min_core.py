"""`pybtf min-core`: the part of a kernel's BTF that BPF objects need."""

from __future__ import annotations

from ..errors import InputError, UsageError
from .arguments import PATH, Option

OPTIONS = (Option("output", PATH, "OUT", "o"),)


def min_core(files: tuple[str, ...], output: str | None) -> int:
    """The command, after its options have been read. The exit status."""
    if len(files) < 2:
        missing = "OBJECT" if files else "BTF"
        raise UsageError(f"missing argument '{missing}'; see pybtf min-core --help")
    from .output import checked, write

    out = checked(output, files)
    from ..btf.ext import read_object
    from ..btf.min_core import MinCore
    from ..btf.opening import open_btf

    btf = open_btf(files[0])
    if btf.base is not None:
        raise InputError(btf.place, "BTF that is split from a base", "BTF that stands alone: a kernel's")
    needs = MinCore(btf)
    for path in files[1:]:
        local, ext = read_object(path)
        if ext is not None:
            needs.add(local, ext)
    write(out, needs.to_bytes())
    return 0
