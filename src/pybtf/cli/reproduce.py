"""`pybtf reproduce`: encode again and again under changed circumstances, and compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from json import dumps
from typing import Any

from pybtf import __version__
from pybtf.cli import console
from pybtf.cli.arguments import FLAG, JOBS, PATH, TEXT, TEXTS, Option, number_of
from pybtf.cli.faults import report_one
from pybtf.cli.output import spared
from pybtf.cli.request import STDOUT, path_of, spare_companions
from pybtf.cli.summary import size
from pybtf.errors import InputError, UsageError, counted, printable, quoted, unknown
from pybtf.languages import excluded_by_environment
from pybtf.options import make_options
from pybtf.reproduce.lockfile import Locked, is_digest, lock_text, read_lock
from pybtf.reproduce.reproduce import ROUNDS, Circumstance, Expectation, Question, Result, Trial, circumstances
from pybtf.reproduce.reproduce import reproduce as try_all
from pybtf.support.process import write_stdout
from pybtf.support.records import replace

SCHEMA = 1
"""Of the JSON: raised when a key is renamed, removed or changes its meaning."""

DIFFERENT = 1
MOST_NAMED = 5
"""Entries of a lock file that a message names."""


def _names() -> Iterable[str]:
    return [each.name for each in circumstances()]


MOST_ROUNDS = 1000
OPTIONS = (
    Option("expect", TEXT, "DIGEST"),
    Option("against", PATH, "OTHER"),
    Option("lock", PATH, "LOCK"),
    Option("write-lock", PATH, "LOCK"),
    Option("base", PATH, "FILE"),
    Option("standalone", FLAG),
    Option("force-base", FLAG),
    Option("features", TEXTS, "LIST"),
    Option("lang", TEXT, "LIST"),
    Option("lang-exclude", TEXT, "LIST"),
    Option("jobs", JOBS, "N", "j"),
    Option("rounds", TEXT, "N"),
    Option("skip", TEXT, "NAMES", words=_names),
    Option("json", FLAG),
    Option("quiet", FLAG, letter="q"),
    Option("verbose", FLAG, letter="v"),
)


def reproduce(
    files: tuple[str, ...],
    expect: str | None,
    against: str | None,
    lock: str | None,
    write_lock: str | None,
    base: str | None,
    standalone: bool,
    force_base: bool,
    features: tuple[str, ...],
    lang: str | None,
    lang_exclude: str | None,
    jobs: int | None,
    rounds: str | None,
    skip: str | None,
    json: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """The command, after its options have been read. The exit status."""
    if quiet and verbose:
        raise UsageError("--quiet and --verbose do not go together")
    if json and write_lock == STDOUT:
        raise UsageError("--json and --write-lock - do not go together: both are for standard output")
    # What is said about the files is not to get into a lock.
    say = console.say if write_lock == STDOUT else _say
    others = (write_lock, expect, against, base, standalone, force_base, features, lang, lang_exclude)
    locked = _locked(lock, files, any(others))
    questions = [each.question for each in locked.values()]
    if not questions:
        questions = _questions(files, features, lang, lang_exclude, base, standalone, force_base)
    if write_lock is not None:
        inputs = [each for each in (*files, base, against) if each is not None]
        spared("--write-lock", write_lock, inputs, "LOCK")
        spare_companions([("--write-lock LOCK", write_lock)], files, None)
    number = ROUNDS if rounds is None else number_of("rounds", rounds, MOST_ROUNDS)
    plan = _plan(circumstances(jobs, number), skip or "")
    expectation = _expectation(questions, expect, against)

    results = []
    rows: list[dict[str, Any]] = []
    for question in questions:
        entry = locked.get(question.path)
        expected = Expectation(f"{lock}", entry.sha256) if entry is not None else expectation
        try:
            result = try_all(question, plan, expected, None if json or not verbose else _tell)
        except InputError as error:
            if len(questions) == 1 or error.place.file == question.base:
                raise
            report_one(error, question.path)
            rows.append({"path": question.path, "error": str(error)})
            continue
        results.append(result)
        rows.append(result.to_dict())
        if not json:
            _report(result, entry, quiet, say)
    good = len(results) == len(rows) and all(result.reproducible and result.expected for result in results)
    if json:
        document = {"schema": SCHEMA, "pybtf": __version__, "same": good, "files": rows}
        write_stdout(dumps(document, indent=2) + "\n")
    if not good:
        return DIFFERENT
    if write_lock is not None:
        _write_lock(write_lock, results)
    return 0


def _questions(
    files: tuple[str, ...],
    features: tuple[str, ...],
    lang: str | None,
    lang_exclude: str | None,
    base: str | None,
    standalone: bool,
    force_base: bool,
) -> list[Question]:
    if not files:
        raise UsageError("missing argument 'FILE...'; see pybtf reproduce --help")
    if len(set(files)) < len(files):
        raise UsageError("a file is named twice")
    if lang is None and lang_exclude is None:
        lang_exclude = excluded_by_environment()
    for option, value in (("--lang", lang), ("--lang-exclude", lang_exclude)):
        if value == "":
            raise UsageError(f"{option} names no language")
    first = Question(files[0], features or ("default",), lang or "", lang_exclude or "", base, standalone, force_base)
    # Finds misspelt names before any work.
    make_options(
        first.features, 1, lang=first.lang, lang_exclude=first.lang_exclude, base=base, standalone=standalone,
        force_base=force_base,
    )  # fmt: skip
    if base is None and not standalone:
        from pybtf.pipeline.belonging import refuse_modules

        refuse_modules(files)
    return [replace(first, path=path) for path in files]


def _locked(lock: str | None, files: tuple[str, ...], others: bool) -> dict[str, Locked]:
    """The entries of the lock file that are to be checked: those of `files`, or all."""
    if lock is None:
        return {}
    if others:
        raise UsageError("--lock goes with no other option that says what to encode or what to expect")
    entries = read_lock(lock)
    unknown = [path for path in files if path not in entries]
    if unknown:
        known = ", ".join([*entries][:MOST_NAMED]) + (", ..." if len(entries) > MOST_NAMED else "")
        there_are = f"; it has entries of {known}" if known else ""
        raise UsageError(f"{lock} has no entry of {unknown[0]}{there_are}; --write-lock records a file")
    return {path: entries[path] for path in files or entries}


def _plan(plan: list[Circumstance], skip: str) -> list[Circumstance]:
    skipped = [name.strip() for name in skip.split(",") if name.strip()]
    known = [each.name for each in plan]
    for name in skipped:
        if name not in known:
            raise unknown("value", name, known, of="--skip")
    return [each for each in plan if each.name not in skipped]


def _expectation(questions: list[Question], expect: str | None, against: str | None) -> Expectation | None:
    if expect is None and against is None:
        return None
    if expect is not None and against is not None:
        raise UsageError("--expect and --against do not go together")
    if len(questions) > 1:
        raise UsageError("--expect and --against are about one FILE")
    if expect is not None:
        digest = expect.lower().removeprefix("sha256:")
        if not is_digest(digest):
            raise UsageError(f"--expect expects a SHA-256, 64 hexadecimal digits, not {quoted(expect)}")
        return Expectation("--expect", digest)
    from pybtf.btf.files import read_btf

    assert against is not None
    data, place = read_btf(against)
    if questions[0].distilled:
        data += read_btf(against, ".BTF.base")[0]
    return Expectation(str(place), sha256(data).hexdigest(), data)


def _tell(trial: Trial) -> None:
    verdict = (trial.sha256 or "")[:16] if trial.same else f"DIFFERENT: {trial.sha256}"
    if trial.sha256 is None:
        verdict = f"FAILED: {trial.problem}"
    console.say(console.printable(f"  {trial.name:16} {trial.seconds:6.2f} s  {verdict}"))


def _report(result: Result, entry: Locked | None, quiet: bool, say: Callable[[str], None]) -> None:
    """Say what was found about one file; with -q only if it is bad."""
    good = result.reproducible and result.expected
    if quiet and good:
        return
    name = printable(result.question.path)
    bad = [trial for trial in result.trials if not trial.same]
    tried = counted(len(result.trials), "encoding")
    failed = sum(trial.sha256 is None for trial in bad)
    if len(bad) > failed:
        more = f", and {failed} failed" if failed else ""
        say(f"{name}: not reproducible: {len(bad) - failed} of {tried} differ from the first{more}")
    elif failed:
        say(f"{name}: not known to be reproducible: {failed} of {tried} failed, the others are the same")
    else:
        say(f"{name}: reproducible: {tried}, all the same, {size(result.size)}")
    say(f"  sha256 {result.sha256}")
    for trial in bad:
        say(console.printable(f"  {trial.name} ({trial.about}): {trial.sha256 or f'failed: {trial.problem}'}"))
        if trial.difference is not None:
            _indented(say, trial.difference.lines("first", trial.name))
    expectation = result.expectation
    if expectation is None:
        return
    origin = printable(expectation.origin)
    if result.expected:
        say(f"  the same as {origin}")
        return
    say(f"  not as expected: {expectation.sha256} {origin}")
    if entry is not None and entry.input_sha256 != result.input_sha256:
        say(f"    the input is another file than the one recorded ({entry.input_sha256})")
    if entry is not None and entry.base_sha256 != result.base_sha256:
        say(f"    the base is another BTF than the one recorded ({entry.base_sha256})")
    elif entry is not None and entry.input_sha256 == result.input_sha256:
        say("    from the same input")
    if result.difference is not None:
        _indented(say, result.difference.lines("encoded", "expected"))


def _say(line: str) -> None:
    write_stdout(f"{line}\n")


def _indented(say: Callable[[str], None], lines: list[str]) -> None:
    for line in lines:
        say(console.printable(f"    {line}"))


def _write_lock(path: str, results: list[Result]) -> None:
    from pybtf.elf.atomic import write_file

    write_file(path_of(path), lock_text(results).encode())
