"""`pybtf dump`: BTF as text, with bpftool's words."""

from __future__ import annotations

from pybtf.btf.kind_numbers import DATASEC, FLOAT, FUNC, INT, VAR
from pybtf.cli.arguments import CHOICE, FLAG, PATH, TEXTS, Option, stdin_once
from pybtf.errors import UsageError, unknown
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybtf.core.btf.type_view import View

FORMATS = ("c", "raw", "json")
OPTIONS = (
    Option("format", CHOICE, "|".join(FORMATS)),
    Option("json", FLAG),
    Option("unsorted", FLAG),
    Option("pretty", FLAG),
    Option("root", TEXTS, "NAME|ID"),
    Option("base", PATH, "FILE"),
    Option("output", PATH, "OUT", "o"),
)

def dump(
    files: tuple[str, ...], format: str | None, json: bool, unsorted: bool, pretty: bool, root: tuple[str, ...],
    base: str | None, output: str | None,
) -> int:  # fmt: skip
    """The command, after its options have been read. The exit status."""
    if json and format not in (None, "json"):
        raise UsageError(f"--format {format} and --json do not go together")
    format = "json" if json else format or "c"
    if format not in FORMATS:
        raise unknown("value", format, FORMATS, of="--format")
    if unsorted and format != "c":
        raise UsageError("--unsorted goes with --format c; the others follow the BTF")
    if pretty and format != "json":
        raise UsageError("--pretty goes with --json")
    if not files:
        raise UsageError("missing argument 'FILE'; see pybtf dump --help")
    if len(files) > 1:
        from pybtf.cli.habits import of_dump, of_names

        raise UsageError(f"one FILE at a time{of_dump(files) or of_names(files)}")
    stdin_once((files[0], base))
    if output is not None:
        from pybtf.cli.output import opened, spared

        spared("-o", output, opened(files[0], base, output))
    from pybtf.cli.reading import open_view

    view = open_view(files[0], base)
    chosen = _chosen(view, root, format == "c")
    if output not in (None, "-"):
        from pybtf.cli.output import write

        write(str(output), lambda put: _put(put, view, chosen, format, unsorted, pretty))
        return 0
    from pybtf.support.process import printing

    with printing() as put:
        _put(put, view, chosen, format, unsorted, pretty)
    return 0


def _put(
    put: Callable[[bytes], object], view: View, chosen: list[int], format: str, unsorted: bool, pretty: bool
) -> None:
    if format == "c":
        from pybtf.core.dump.dump_header import dump_header

        put(dump_header(view, chosen, not unsorted))
    else:
        from pybtf.core.dump.dump_types import dump_types

        dump_types(view, put, chosen, format == "json", pretty)


def _chosen(view: View, roots: tuple[str, ...], declare: bool) -> list[int]:
    """The ids of what was asked for, each once; none if nothing was. `declare`: what declarations need."""
    if not roots:
        return []
    from pybtf.cli.choice import SHOWN, chosen

    ids = []
    for root in roots:
        found = chosen(view, [root], (*SHOWN, INT, FLOAT, DATASEC))
        numbered = root.isascii() and root.isdecimal()
        ids += [view.target(id) if declare and not numbered and view.kind(id) in (FUNC, VAR) else id for id in found]
    return list(dict.fromkeys(ids))
