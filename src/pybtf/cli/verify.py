"""`pybtf verify`: would a kernel accept this BTF, and does a module's belong to this vmlinux."""

from __future__ import annotations

import os

from pybtf.cli import console
from pybtf.cli.arguments import CHOICE, FLAG, JOBS, PATH, PATHS, TEXT, Option, stdin_once
from pybtf.cli.faults import BUG, FAILED
from pybtf.errors import UsageError, printable, quoted, unknown
from pybtf.options import MAX_JOBS
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import write_stdout

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pybtf.errors import InputError
    from pybtf.verify.task import Settings

LOADERS = ("user", "vmlinux", "module")
OPTIONS = (
    Option("base", PATHS, "FILE"),
    Option("kernel", TEXT, "VERSION|all"),
    Option("loader", CHOICE, "|".join(LOADERS)),
    Option("btf-ids", FLAG),
    Option("btf", TEXT, "FILE"),
    Option("fix", PATH, "OUT"),
    Option("rebase", TEXT, "NEW"),
    Option("from-list", PATH, "LIST"),
    Option("require-btf", FLAG),
    Option("strict", FLAG),
    Option("json", FLAG),
    Option("jobs", JOBS, "N", "j"),
    Option("quiet", FLAG, letter="q"),
)


def verify(
    files: tuple[str, ...],
    base: tuple[str, ...],
    kernel: str | None,
    loader: str | None,
    btf_ids: bool,
    btf: str | None,
    fix: str | None,
    rebase: str | None,
    from_list: str | None,
    require_btf: bool,
    strict: bool,
    json: bool,
    jobs: int | None,
    quiet: bool,
) -> int:
    """The command, after its options have been read. The exit status."""
    if not files and from_list is None:
        raise UsageError("missing argument 'FILE'; see pybtf verify --help")
    if loader is not None and loader not in LOADERS:
        raise unknown("value", loader, LOADERS, of="--loader")
    stdin_once((*files, *base, from_list))
    if fix is not None and from_list is not None:
        raise UsageError("--fix and --from-list do not go together: it is about one FILE")
    from pybtf.elf.mapped import mapped

    versions = read_versions(kernel)
    if from_list is not None:
        from pybtf.inputs import read_list

        files += tuple(read_list(from_list))
    if base and loader not in (None, "module"):
        raise UsageError(f"--base is about modules, and --loader is {loader}")
    if btf_ids:
        from pybtf.cli.verify_ids import verify_ids

        if loader is not None:
            raise UsageError("--btf-ids is about the link, and has no --loader")
        if require_btf:
            raise UsageError("--btf-ids and --require-btf do not go together: without BTF, DWARF has the names")
        if fix is not None or rebase is not None:
            other = "--fix" if fix is not None else "--rebase"
            raise UsageError(f"--btf-ids and {other} do not go together: it is about names, and writes no BTF")
        if len(versions) > 1:
            raise UsageError("--btf-ids takes one version, not all")
        with mapped():
            return verify_ids(files, base, btf, versions, strict, json, quiet)
    if btf is not None:
        raise UsageError("--btf goes with --btf-ids; otherwise FILE is the BTF that is verified")
    if rebase is not None and fix is None:
        raise UsageError("--rebase goes with --fix OUT, which is where the result goes")
    fixed = None
    if fix is not None:
        from pybtf.cli.verify_fix import verify_fix

        with mapped():
            fixed = verify_fix(files, base, fix, rebase, versions, quiet or json)
        files = (fix,)
        base = (rebase,) if rebase is not None else base
        if fix == "-" or not os.path.isfile(fix):  # noqa: PTH113 - a pipe, or /dev/null: nothing can be read back
            return 0
    from pybtf.inputs import find_inputs
    from pybtf.verify.task import Settings, open_base, run

    inputs = [("-", None)] if files == ("-",) else [(each.path, each.problem) for each in find_inputs(files)]
    settings = Settings(versions, loader, [open_base(path, versions) for path in base], require_btf)
    results = _all(inputs, settings, jobs or len(os.sched_getaffinity(0)), run)
    for result in results:
        if result["error"] is not None:
            console.error(result["error"])
    if json:
        named = [{**each, "file": path} for each, (path, _) in zip(results, inputs, strict=True)]
        _print_json(named, settings, fixed)
    else:
        _print(results, quiet, strict)
    return max((each.get("status", FAILED) for each in results if is_bad(each, strict)), default=0)


def read_versions(kernel: str | None) -> list[int]:
    """The versions that are asked about: 100 times the major and the minor. None if that follows from the file."""
    if kernel is None:
        return []
    from pybtf.verify.judge import NEWEST, VERSIONS
    from pybtf.verify.task import version_of

    if kernel == "all":
        return list(VERSIONS)
    version = version_of(kernel)
    if version is None:
        raise UsageError(
            f"--kernel expects a version such as 6.1 or 6.1.0-50-amd64, 4.18 or newer, or all, not {quoted(kernel)}"
        )
    if version > NEWEST:
        last = f"{NEWEST // 100}.{NEWEST % 100}"
        console.note(f"{kernel} is newer than {last}, the last kernel whose rules pybtf knows; these are applied")
    return [version]


def is_bad(result: dict[str, Any], strict: bool) -> bool:
    if result["error"] is not None or result["verdict"] not in ("accepted", "not read"):
        return True
    return strict and bool(result["findings"] or result["notes"])


def _all(
    inputs: Sequence[tuple[str, InputError | None]], settings: Settings, jobs: int, run: Any
) -> list[dict[str, Any]]:
    """What is to be said of each file, in the order of the arguments. With each: what is wrong with it as a folder."""

    def work(given: tuple[str, InputError | None], _: object) -> dict[str, Any]:
        path, problem = given
        try:
            if problem is not None:
                raise problem
            return run(path, settings)  # type: ignore[no-any-return]
        except Exception as error:
            from pybtf.cli.faults import explain

            text, status = explain(error)
            return {"file": path, "error": text, "status": status}

    if len(inputs) < 8 or jobs == 1:
        return [work(each, None) for each in inputs]
    from pybtf.workers import Ended, Workers

    results: dict[int, dict[str, Any]] = {}
    with Workers(inputs, work, min(jobs, MAX_JOBS)) as workers:
        for number, result in workers:
            if isinstance(result, Ended):
                text = f"a worker ended with status {result.status}"
                result = {"file": inputs[number][0], "error": text, "status": BUG}
            results[number] = result
    return [results[number] for number in range(len(inputs))]


def _print_json(results: list[dict[str, Any]], settings: Settings, fixed: list[str] | None) -> None:
    import json

    whole: dict[str, Any] = {"schema": 1, "bases": [base.path for base in settings.bases], "files": results}
    if fixed is not None:
        whole["fixed"] = fixed
    write(json.dumps(whole, indent=2) + "\n")


def _says_more(result: dict[str, Any]) -> bool:
    return bool(result["findings"] or result["notes"] or result["fits"])


def _print(results: list[dict[str, Any]], quiet: bool, strict: bool) -> None:
    from pybtf.verify.report import summary, text

    shown = []
    for result in results:
        if result["error"] is not None:  # it is said already
            continue
        if not quiet and (len(results) == 1 or _says_more(result) or is_bad(result, strict)):
            shown += text(result)
        elif quiet and is_bad(result, strict):
            shown += text(result)[:1]
    if len(results) > 1 and not quiet:
        shown.append(summary(results))
    write("".join(f"{printable(line)}\n" for line in shown))


def write(text: str) -> None:
    write_stdout(text.encode("utf-8", "backslashreplace"))
