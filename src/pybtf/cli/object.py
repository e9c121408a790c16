"""`pybtf object`: values for BTF beside the code of object files, in place."""

from __future__ import annotations

from pybtf.cli import console
from pybtf.cli.arguments import FLAG, PATH, TEXT, TEXTS, Option
from pybtf.cli.faults import report_one
from pybtf.errors import UsageError, counted
from pybtf.support import TYPE_CHECKING

if TYPE_CHECKING:
    from pybtf.merging.encoding import Outcome
    from pybtf.merging.placing import Placing

PLACING = (
    Option("strip-dwarf", FLAG),
    Option("inline", FLAG),
    Option("store", PATH, "DIR"),
    Option("section", TEXT, "NAME"),
    Option("features", TEXTS, "LIST"),
)
OPTIONS = (*PLACING, Option("from-list", PATH, "LIST"), Option("quiet", FLAG, letter="q"))


def object(
    files: tuple[str, ...],
    strip_dwarf: bool,
    inline: bool,
    store: str | None,
    section: str | None,
    features: tuple[str, ...],
    from_list: str | None,
    quiet: bool,
) -> int:
    """The command, after its options have been read. The exit status."""
    how = placing(strip_dwarf, inline, store, section)
    if from_list is not None:
        from pybtf.inputs import read_list

        files += tuple(read_list(from_list))
    if not files:
        raise UsageError("missing argument 'FILE.o...'; see pybtf object --help")
    from pybtf.elf.mapped import mapped
    from pybtf.features import Features
    from pybtf.merging.encoding import encode_any

    wanted = Features.parse(*features)
    outcomes: list[Outcome] = []
    statuses: list[int] = []
    for path in files:
        try:
            with mapped(path):
                outcomes += encode_any(path, wanted, how)
        except Exception as error:
            statuses.append(report_one(error, path))
    if not quiet and (outcomes or len(files) > 1):
        console.say(_line(outcomes, len(statuses)))
    return max(statuses, default=0)


def placing(strip: bool, inline: bool, store: str | None, section: str | None) -> Placing:
    """How objects are to carry their values. Raises `UsageError` for what does not go together."""
    from pybtf.elf.constants import DWARF_SECTIONS
    from pybtf.merging.pieces import INDEX, PAYLOAD
    from pybtf.merging.placing import Placing

    if inline and store is not None:
        raise UsageError("--inline and --store do not go together")
    name = section or INDEX
    if not name.startswith(".debug_") or len(name) == len(".debug_"):
        raise UsageError(f"--section {name}: linkers treat it as DWARF only if its name begins with .debug_")
    if name == PAYLOAD or name.removesuffix(".dwo") in DWARF_SECTIONS:
        whose = "of the values themselves" if name == PAYLOAD else "of a part of DWARF"
        raise UsageError(f"--section {name} is the name {whose}; choose another, as .debug_weaknames")
    return Placing(strip, inline, store, name)


def _line(outcomes: list[Outcome], failed: int) -> str:
    """`12 objects: 10 encoded (12 units), 1 had values, 1 without DWARF; 1.24 MB, 2.05 MB before`"""
    from pybtf.cli.summary import size
    from pybtf.merging.encoding import CURRENT, DONE, NOTHING

    done = [outcome for outcome in outcomes if outcome.what == DONE]
    parts = [f"{len(done):,} encoded ({counted(sum(outcome.units for outcome in done), 'unit')})"]
    for what, words in ((CURRENT, "had these values"), (NOTHING, "without DWARF")):
        number = sum(outcome.what == what for outcome in outcomes)
        parts += [f"{number:,} {words}"] if number else []
    one = sum(outcome.one_unit for outcome in outcomes)
    parts += [f"{one:,} of units that refer to each other, which cannot be merged"] if one else []
    parts += [f"{failed:,} failed"] if failed else []
    before, after = sum(outcome.before for outcome in done), sum(outcome.after for outcome in done)
    sizes = f"; {size(after)}, {size(before)} before" if done else ""
    return f"{counted(len(outcomes) + failed, 'object')}: {', '.join(parts)}{sizes}"
