"""`pybtf min-core`: the part of a kernel's BTF that BPF objects need."""

from __future__ import annotations

from pybtf.cli import console
from pybtf.cli.arguments import PATH, Option
from pybtf.errors import UsageError

OPTIONS = (Option("output", PATH, "OUT", "o"),)


def min_core(files: tuple[str, ...], output: str | None) -> int:
    """The command, after its options have been read. The exit status."""
    if len(files) < 2:
        missing = "OBJECT" if files else "BTF"
        raise UsageError(f"missing argument '{missing}'; see pybtf min-core --help")
    from pybtf.cli.output import checked, write

    out = checked(output, files)
    from pybtf.btf.ext import read_object
    from pybtf.btf.min_core import MinCore
    from pybtf.btf.opening import open_on

    btf = open_on(files[0], None, "The first file is the BTF of a kernel, not of a module.")
    needs = MinCore(btf)
    relocations = 0
    for path in files[1:]:
        local, ext = read_object(path)
        if ext is not None:
            needs.add(local, ext)
            relocations += sum(1 for _ in ext.relocations())
    write(out, needs.to_bytes())
    if not relocations:
        few = f"{files[1]} has" if len(files) == 2 else f"these {len(files) - 1} objects have"
        console.note(f"{few} no CO-RE relocations, which say what is needed: the BTF has no types")
    return 0
