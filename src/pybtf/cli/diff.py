"""`pybtf diff`: what changed between two BTFs, by meaning."""

from __future__ import annotations

import contextlib
import os
import sys

from pybtf.cli import console
from pybtf.cli.arguments import FLAG, JOBS, PATH, PATHS, TEXTS, Option, stdin_once
from pybtf.cli.faults import BUG
from pybtf.errors import InputError, UsageError, printable
from pybtf.options import MAX_JOBS
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import printing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NoReturn

    from pybtf.btf.reader import BTF
    from pybtf.core.btf.type_view import View
    from pybtf.differences.places import Places
    from pybtf.differences.select import Selection

PIECE = 10_000
"""Lines that are printed at once. Changes in JSON are longer."""


def _kinds() -> Iterable[str]:
    from pybtf.differences.select import ONLY

    return ONLY


def _classes() -> Iterable[str]:
    from pybtf.differences.model import CLASSES
    from pybtf.differences.select import RELOCATION

    return (*CLASSES, RELOCATION, "any")


OPTIONS = (
    Option("only", TEXTS, "KINDS", words=_kinds),
    Option("name", TEXTS, "PATTERN"),
    Option("ignore", PATHS, "FILE"),
    Option("fail-on", TEXTS, "CLASSES", words=_classes),
    Option("stat", FLAG),
    Option("reach", FLAG),
    Option("markdown", FLAG),
    Option("json", FLAG),
    Option("object", PATHS, "PROG"),
    Option("base", PATH, "FILE"),
    Option("old-base", PATH, "FILE"),
    Option("new-base", PATH, "FILE"),
    Option("old-provenance", PATH, "FILE"),
    Option("new-provenance", PATH, "FILE"),
    Option("dwarf", FLAG),
    Option("features", TEXTS, "LIST"),
    Option("jobs", JOBS, "N", "j"),
    Option("quiet", FLAG, letter="q"),
)


def diff(
    files: tuple[str, ...], only: tuple[str, ...], name: tuple[str, ...], ignore: tuple[str, ...],
    fail_on: tuple[str, ...], stat: bool, reach: bool, markdown: bool, json: bool, object: tuple[str, ...],
    base: str | None, old_base: str | None, new_base: str | None, old_provenance: str | None,
    new_provenance: str | None, dwarf: bool, features: tuple[str, ...], jobs: int | None, quiet: bool
) -> int:  # fmt: skip
    """The command, after its options have been read. The exit status."""
    if len(files) != 2:
        few = "argument 'NEW'" if files else "arguments 'OLD NEW'"
        missing = f"missing {few}; see pybtf diff --help"
        raise UsageError(missing if len(files) < 2 else "one OLD and one NEW at a time")
    if sum((stat, markdown, json)) > 1:
        raise UsageError("--stat, --markdown and --json do not go together")
    bases = old_base or base, new_base or base
    if base is not None and (old_base or new_base):
        raise UsageError("--base is that of both sides; --old-base and --new-base go without it")
    stdin_once((*files, *bases))
    if features and not dwarf:
        raise UsageError("--features goes with --dwarf")
    from pybtf.differences.select import ONLY, RELOCATION, Selection, failing, read_patterns, split_list

    fatal = failing(fail_on)
    if quiet and not fatal:
        raise UsageError("--quiet goes with --fail-on: it prints only what fails")
    if object:
        if only or name or ignore or stat or reach or markdown or dwarf or old_provenance or new_provenance or quiet:
            raise UsageError("--object is about relocations; of the other options it goes with --json and --fail-on")
        if fatal - {RELOCATION, "any"}:
            raise UsageError(f"with --object, --fail-on takes {RELOCATION} and any")
        return _objects(files, bases, object, json, fatal)
    if RELOCATION in fatal:
        raise UsageError(f"--fail-on {RELOCATION} goes with --object")
    from pybtf.differences.task import JSON, MARKDOWN, STAT, TEXT

    ignored = [pattern for path in ignore for pattern in read_patterns(path)]
    shown = fatal if quiet and "any" not in fatal else frozenset[str]()
    selection = Selection(split_list(only, ONLY, "only"), name, ignored, shown)
    form = JSON if json else MARKDOWN if markdown else STAT if stat else TEXT
    folders = [os.path.isdir(path) for path in files]  # noqa: PTH112
    if any(folders):
        if dwarf:
            raise UsageError("--dwarf takes two files")
        if not all(folders):
            _refuse_one_folder(files[folders.index(True)], files[folders.index(False)])
        if old_provenance or new_provenance:
            raise UsageError("--old-provenance and --new-provenance are about one file each, not a folder")
        if "-" in bases:
            raise UsageError("of folders, the bases cannot be standard input")
        rows = _folders(files, bases, selection, form, reach, jobs or len(os.sched_getaffinity(0)))
        status = max((row["status"] for row in rows), default=0)
        _print_folders(files, rows, form, quiet)
    else:
        views = _open(files, bases, dwarf, features, jobs)
        from pybtf.cli.diff_names import require_names

        require_names(views, name, selection, bool(fatal))
        places = _places(views, (old_provenance, new_provenance))
        rows = [_one(*views, selection, form, reach, places)]
        status = 0
        if dwarf and rows[0]["new_functions"]:
            _say_why(rows[0], form, files[0], bases[0], features, jobs)
        _print_one(files, rows[0], form)
    failed = any(row["count"] if "any" in fatal else any(row["classes"][name] for name in fatal) for row in rows)
    return max(status, 1 if failed and fatal else 0)


def _open(
    files: tuple[str, ...], bases: tuple[str | None, ...], dwarf: bool, features: tuple[str, ...], jobs: int | None
) -> tuple[View, View]:
    from pybtf.cli.reading import Views

    views = Views()
    new = views.open(files[1], bases[1])
    if not dwarf:
        return views.open(files[0], bases[0]), new
    from pybtf.api import encode
    from pybtf.core.btf.type_view import View
    from pybtf.elf.mapped import mapped

    with mapped(files[0]):
        encoded = encode(
            files[0], features=features or "default", jobs=jobs, base=bases[0], standalone=bases[0] is None
        )
    name = f"{files[0]}: DWARF"
    if encoded.base is not None:
        return View(bytes(encoded.data), name, bytes(encoded.base.btf.data), encoded.base.path), new
    return View(bytes(encoded.data), name), new


def _say_why(
    row: dict[str, Any], form: int, path: str, base: str | None, features: tuple[str, ...], jobs: int | None
) -> None:
    """Of functions that the BTF has, and that are not encoded from the DWARF: why not."""
    from pybtf.differences.task import JSON, MARKDOWN, TEXT
    from pybtf.explain.asking import Answer, answer, inquire, kernel_options

    options = kernel_options(features or "default", jobs, "", "", base, base is None)
    names = dict.fromkeys(row["new_functions"])
    found: dict[str, Answer] = {}
    inquire(path, options, lambda asked: found.update((each, answer(asked, each, full=False)) for each in names))
    if form == JSON:
        for change in row["changes"]:
            if change["kind"] == "function" and change["what"] == "added":
                change["reason"], change["verdict"] = found[change["name"]].reason, found[change["name"]].verdict
    elif form in (TEXT, MARKDOWN):
        start = "- " if form == MARKDOWN else "  "
        row["lines"] += ["", f"of the DWARF of {path}:", *(f"{start}{each.verdict}" for each in found.values())]


def _places(views: tuple[View, View], files: tuple[str | None, str | None]) -> Places | None:
    """Where changes are declared, if one of the databases is given."""
    if files == (None, None):
        return None
    from pybtf.btf.provenance import Provenance
    from pybtf.differences.places import Places

    old, new = (
        None if path is None else Provenance(path, view.data, view.name)
        for view, path in zip(views, files, strict=True)
    )
    return Places(old, new)


def _objects(
    files: tuple[str, ...], bases: tuple[str | None, ...], objects: tuple[str, ...], json: bool, fatal: frozenset[str]
) -> int:
    """What the two kernels make of BPF objects. The exit status."""
    from pybtf.differences.objects import BROKEN, UNCLEAR, diff_objects, lines, to_dict

    (old, old_modules), (new, new_modules) = (_kernel(*pair) for pair in zip(files, bases, strict=True))
    found = diff_objects(objects, old, new, old_modules, new_modules)
    if json:
        _write_json({"schema": 1, "old": files[0], "new": files[1], "objects": [to_dict(each) for each in found]})
    else:
        _write([line for each in found for line in lines(each)], True)
    broken = any(each.count(BROKEN) or each.count(UNCLEAR) for each in found)
    return 1 if (fatal and broken) or ("any" in fatal and any(each.outcomes for each in found)) else 0


def _kernel(path: str, base: str | None) -> tuple[BTF, list[str]]:
    """A side of `--object`: the BTF of a kernel; or a folder of modules, or one of them, on the BTF of their kernel."""
    from pybtf.btf.opening import open_btf

    folder = os.path.isdir(path)  # noqa: PTH112
    if base is None and not folder:
        return open_btf(path), []
    if base is None:
        raise UsageError(f"{path} is a folder of modules; with --object they need --old-base and --new-base")
    from pybtf.differences.modules import path_of
    from pybtf.inputs import find_inputs

    return open_btf(base), [path_of(each) for each in find_inputs([path])]


def _one(
    old: View, new: View, selection: Selection, form: int, reach: bool, places: Places | None = None
) -> dict[str, Any]:
    from pybtf.differences.compare import Differences
    from pybtf.differences.task import STAT, results

    return results(Differences(old, new, reach=form != STAT, names=reach), selection, form, reach, places)


def _refuse_one_folder(folder: str, other: str) -> NoReturn:
    """Raises `InputError` if what it is compared with is not there, else `UsageError`."""
    if other != "-" and not os.path.lexists(other):
        raise InputError(other, "no such folder", f"a folder of modules, as {folder} is one")
    what = "standard input" if other == "-" else f"the file {other}"
    raise UsageError(f"the folder {folder} is compared with {what}; expected two folders of modules, or two files")


def _folders(
    files: tuple[str, ...], bases: tuple[str | None, ...], selection: Selection, form: int, reach: bool, jobs: int
) -> list[dict[str, Any]]:
    """What is to be said of each module, by name."""
    from pybtf.btf.opening import Bases
    from pybtf.differences.model import CLASSES
    from pybtf.differences.modules import module_pairs, path_of

    pairs = module_pairs(files[0], files[1])
    opened = Bases()
    for base in filter(None, bases):
        with contextlib.suppress(InputError):  # which each module says
            opened.get(base)  # before there are workers, who have it in common

    def work(name: str, _: object) -> dict[str, Any]:
        old, new = by_name[name]
        row: dict[str, Any] = {"module": name, "status": 0, "error": None, "count": 1, "what": "changed"}
        if old is None or new is None:
            row["what"] = "added" if old is None else "removed"
            row["classes"] = {each: int(each == "removed" and new is None) for each in CLASSES}
            row["count"] = int(not selection.classes or any(row["classes"][each] for each in selection.classes))
            return row | {"summary": f"the module is {row['what']}", "lines": [], "changes": []}
        try:
            before = opened.open_view(path_of(old), bases[0])
            return row | _one(before, opened.open_view(path_of(new), bases[1]), selection, form, reach)
        except Exception as error:
            from pybtf.cli.faults import explain

            text, status = explain(error)
            nothing = dict.fromkeys(CLASSES, 0)
            return row | {"error": text, "status": status, "count": 0, "classes": nothing, "lines": [], "changes": []}

    by_name = {name: (old, new) for name, old, new in pairs}
    names = list(by_name)
    if len(names) < 8 or jobs == 1:
        return [work(name, None) for name in names]
    from pybtf.workers import Ended, Workers

    rows: dict[int, dict[str, Any]] = {}
    with Workers(names, work, min(jobs, MAX_JOBS)) as workers:
        for number, row in workers:
            if isinstance(row, Ended):
                text = f"{names[number]}: a worker ended with status {row.status}"
                row = {
                    "module": names[number], "error": text, "status": BUG, "count": 0, "what": "changed", "lines": [],
                    "classes": dict.fromkeys(CLASSES, 0), "changes": [],
                }  # fmt: skip
            rows[number] = row
    return [rows[number] for number in range(len(names))]


def _print_one(files: tuple[str, ...], row: dict[str, Any], form: int) -> None:
    from pybtf.differences.task import JSON, MARKDOWN, TEXT

    if form == JSON:
        _write_json({"schema": 1, "old": files[0], "new": files[1]} | _found(row))
        return
    lines = row["lines"]
    if form == MARKDOWN:
        lines = [_title(files), "", f"{row['summary'].capitalize()}.", "", *lines]
    elif form == TEXT and row["count"]:
        lines = [*lines, "", row["summary"]]
    _write(lines, form == TEXT)


def _print_folders(files: tuple[str, ...], rows: list[dict[str, Any]], form: int, quiet: bool) -> None:
    from pybtf.differences.task import JSON, MARKDOWN, STAT, TEXT

    for row in rows:
        if row["error"] is not None:
            console.error(row["error"])
    if form == JSON:
        modules = [{key: row[key] for key in ("module", "what", "error")} | _found(row) for row in rows]
        _write_json({"schema": 1, "old": files[0], "new": files[1], "modules": modules})
        return
    lines: list[str] = [_title(files), ""] if form == MARKDOWN else []
    changed = [row for row in rows if row["count"] and row["error"] is None]
    for row in changed:
        if form == STAT:
            lines.append(f"{row['module']}: {row['summary']}")
        elif form == MARKDOWN:
            lines += [f"# {row['module']}", "", f"{row['summary'].capitalize()}.", "", *row["lines"]]
        else:
            lines += [f"module {row['module']}: {row['summary']}", *(f"  {line}" for line in row["lines"])]
    if form in (STAT, TEXT) and (changed or not quiet):
        failed = sum(row["error"] is not None for row in rows)
        counts = {what: sum(row["what"] == what for row in changed) for what in ("added", "removed", "changed")}
        same = 0 if quiet else len(rows) - len(changed) - failed
        parts = [
            f"{count:,} {what}"
            for what, count in {**counts, "without a change": same, "failed": failed}.items()
            if count
        ]
        lines += [*([""] if lines else []), f"{len(rows):,} module{'s' * (len(rows) != 1)}: {', '.join(parts)}"]
    _write(lines, form == TEXT)


def _found(row: dict[str, Any]) -> dict[str, Any]:
    """What JSON says of two files; of a module that is there only once, or cannot be read, there is no summary."""
    summary = {"summary": row["tallies"]} if "tallies" in row else {}
    return summary | {"classes": row["classes"], "changes": row["changes"]}


def _title(files: tuple[str, ...]) -> str:
    """Of release notes: the files by name, or, where that says nothing, by path."""
    old, new = (path.rstrip("/").rpartition("/")[2] or path for path in files)
    return f"# {old} to {new}" if old != new else f"# {files[0]} to {files[1]}"


def _write_json(whole: dict[str, Any]) -> None:
    """Piece by piece: with all of the text in memory, it takes several times its length."""
    from itertools import islice

    from pybtf.support.json_text import pieces

    rest = pieces(whole, 2 if "changes" in whole else 4)  # down to single changes
    with printing() as put:
        while piece := "".join(islice(rest, PIECE // 100)):
            put(piece.encode())
        put(b"\n")


def _write(lines: list[str], signs: bool) -> None:
    from itertools import islice

    made = map(printable, lines)
    if signs and sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        from pybtf.differences.text import coloured

        made = map(coloured, made)
    with printing() as put:
        while piece := "".join([f"{line}\n" for line in islice(made, PIECE)]):
            put(piece.encode("utf-8", "backslashreplace"))
