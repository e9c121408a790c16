"""`pybtf dedup`: one BTF of several."""

from __future__ import annotations

from pybtf.cli.arguments import PATH, Option, stdin_once
from pybtf.errors import UsageError

OPTIONS = (Option("output", PATH, "OUT", "o"), Option("base", PATH, "FILE"))


def dedup(files: tuple[str, ...], output: str | None, base: str | None) -> int:
    """The command, after its options have been read. The exit status."""
    if not files:
        raise UsageError("missing argument 'FILE'; see pybtf dedup --help")
    from pybtf.cli.output import checked, write

    inputs = (*files, *([base] if base is not None else []))
    stdin_once(inputs)
    out = checked(output, inputs)
    from pybtf.btf.builder import Builder
    from pybtf.btf.opening import open_btf, open_on

    under = open_btf(base) if base is not None else None
    builder = Builder(under, name=files[0] if len(files) == 1 else f"{files[0]} and what follows")
    little = True
    for number, path in enumerate(files):
        btf = open_on(path, under)
        builder.append(btf)
        if number == 0:
            little = btf.header.little
    builder.dedup()
    write(out, builder.to_bytes("little" if little else "big"))
    return 0
