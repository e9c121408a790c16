"""From names to answers: what `pybtf why` and `pybtf.why` ask of one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from pybtf.arguments import check_text, path_of
from pybtf.base import open_base
from pybtf.btf import BTF
from pybtf.core.run import Run
from pybtf.dwarf.sections import DebugSections
from pybtf.elf.image import ElfImage
from pybtf.errors import UsageError
from pybtf.explain.functions import evidence, only_described
from pybtf.explain.inquiry import KEYWORDS, TYPE_KINDS, Inquiry
from pybtf.explain.others import type_evidence, type_reason, variable_evidence
from pybtf.explain.reasons import (
    FUNCTION_TRACES,
    FUNCTIONS,
    IN_BTF,
    NOT_FOUND,
    OF_SYMBOLS,
    VARIABLE_TRACES,
    VARIABLES,
    check_reason,
)
from pybtf.explain.words import advice, verdict
from pybtf.options import EncodeOptions, make_options
from pybtf.pipeline.passes import encode_file
from pybtf.report import Report
from pybtf.support import TYPE_CHECKING
from pybtf.support.records import field, record, replace
from pybtf.support.timings import Timings

if TYPE_CHECKING:
    from typing import Any

    from pybtf.base import Base
    from pybtf.features import Features

MOST_IN_FULL = 100
"""Names that a pattern may match for each to get its evidence: collecting it takes some milliseconds a name."""
MOST_TYPES_IN_FULL = 10
"""Likewise, types: each is looked for in all units."""
MOST_LIKE = 200_000
"""Names among which one that looks like an unknown one is looked for."""

LANG_EXCLUDE = "rust"
"""What kernels leave out when they make their BTF."""


@record(frozen=True)
class Answer:
    """Why one name is in BTF, or is not."""

    name: str
    kind: str | None
    """`function`, `variable`, `type`, or None if there is nothing of the name."""
    in_btf: bool
    reason: str | None
    """None if it is in BTF; else one of `pybtf.explain.reasons`, or `not_found`."""
    verdict: str
    """A sentence."""
    advice: str | None = None
    """What can be done about it."""
    evidence: dict[str, Any] | None = None
    """None if it was not asked for, or if there is nothing of the name."""
    like: list[str] = field(default_factory=list)
    """If there is nothing of the name: a name like it."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON's types."""
        return {
            "name": self.name, "kind": self.kind, "in_btf": self.in_btf, "reason": self.reason,
            "verdict": self.verdict, "advice": self.advice, "evidence": self.evidence, "like": self.like,
        }  # fmt: skip


def answer(inquiry: Inquiry, name: str, of: str | None = None, *, full: bool = True) -> Answer:
    """The answer about one name; without `full`, no evidence is collected, and no like name. `of`: it is asked for as
    a `function`, or as a `variable`.
    """
    kind = inquiry.kind(name, of)
    reason: str | None = None
    found: dict[str, Any] | None = None
    if kind == "function":
        reason = inquiry.function_reason(name)
        found = evidence(inquiry, name, reason or IN_BTF) if full else None
    elif kind == "variable":
        reason = inquiry.variable_reason(name)
        found = variable_evidence(inquiry, name, reason or IN_BTF) if full else None
    elif full and of != "variable" and (described := only_described(inquiry, name)) is not None:
        kind = "function"
        reason, found = described
    elif full and of is None:  # a type, or a name that only units know that are not encoded
        reason = type_reason(inquiry, name)
        kind = None if reason is None else "type"
        found = None if reason is None else type_evidence(inquiry, name, reason)
    elif kind == "type":
        reason = IN_BTF
    if reason is None:
        label = inquiry.labels.what(name) if full else None
        other = inquiry.kind(name) if of is not None and inquiry.knows(name) else None
        unknown = {"elsewhere": inquiry.is_elsewhere(name), "label": label, "of": of, "is_a": other}
        like = _like(inquiry, name, of) if full and label is None and other is None else []
        return Answer(name, None, False, NOT_FOUND, verdict(name, None, NOT_FOUND, unknown), None, None, like)
    text = verdict(name, kind, reason, found)
    told = _advice(inquiry, name, kind, reason, found)
    return Answer(name, kind, reason == IN_BTF, reason or None, text, told, found)


def _advice(inquiry: Inquiry, name: str, kind: str | None, reason: str, found: dict[str, Any] | None) -> str | None:
    """What can be done; who defines what is only declared is known without evidence."""
    if found is None and reason == "declaration":
        found = {"symbols": kind == "function" and inquiry.symbols_of(name), "complete": inquiry.complete}
    return advice(kind, reason, found)


def answers(inquiry: Inquiry, names: Sequence[str]) -> list[Answer]:
    """Answers about names and patterns of the shell (`tcp_*`), in their order; a pattern that matches nothing is not
    found. What looks like a pattern may be a name: Rust has functions called `add<[usize; 4]>`.
    """
    found = []
    for asked in names:
        of, name = inquiry.asked(asked)
        if not is_pattern(name) or inquiry.knows(name):
            found.append(answer(inquiry, name, of))
            continue
        matching = inquiry.matching(name, of)
        most = MOST_IN_FULL if matching and inquiry.kind(matching[0]) != "type" else MOST_TYPES_IN_FULL
        full = len(matching) <= most
        found += [answer(inquiry, each, of, full=full) for each in matching]
        if not matching:
            only_described = answer(inquiry, name, of)  # a type that only DWARF has
            nothing = Answer(name, None, False, NOT_FOUND, f"nothing matches {asked}")
            found.append(nothing if only_described.kind is None else only_described)
    return found


def listed(inquiry: Inquiry, reason: str, patterns: Sequence[str] = ()) -> list[Answer]:
    """All functions, or variables, with a reason (see `check_reason`), without evidence; `patterns`: only those."""
    kind, wanted = check_reason(reason)
    symbols = inquiry.symbols_by_reason(wanted) if kind == "function" and wanted in OF_SYMBOLS else []
    names = sorted({*inquiry.by_reason(kind).get(wanted, []), *symbols})
    if patterns:
        known = set(names)
        patterns = [each.removeprefix(f"{kind} ") for each in patterns]
        names = [
            name for name in names
            if any(name == each or (each not in known and fnmatchcase(name, each)) for each in patterns)
        ]  # fmt: skip
    in_btf = wanted == IN_BTF
    return [
        Answer(
            name, kind, in_btf, wanted or None, verdict(name, kind, wanted, None),
            _advice(inquiry, name, kind, wanted, None),
        )
        for name in names
    ]


def summary(inquiry: Inquiry) -> list[dict[str, Any]]:
    """How many functions and variables there are by reason: the number of names, and of descriptions in the DWARF."""
    rows: list[dict[str, Any]] = []
    total = inquiry.fates.totals()
    for kind, words in (("function", FUNCTIONS), ("variable", VARIABLES)):
        for reason, names in inquiry.by_reason(kind).items():
            rows.append({
                "kind": kind,
                "reason": reason or None,
                "names": len(names),
                "descriptions": sum(total.get(trace, 0) for trace in _traces(kind, reason)) or None,
                "means": words.get(reason, "in BTF"),
            })  # fmt: skip
    return rows


def _traces(kind: str, reason: str) -> list[str]:
    """The core's words for what the report counts by description, under this reason."""
    traces = VARIABLE_TRACES if kind == "variable" else FUNCTION_TRACES
    return [trace for trace, word in traces.items() if word == reason]


def is_pattern(name: str) -> bool:
    return any(mark in name for mark in "*?[")


def _like(inquiry: Inquiry, name: str, of: str | None) -> list[str]:
    """A name like one that does not exist: of the kind that was asked for, if there is one."""
    keyword, _, plain = name.partition(" ")
    if keyword in KEYWORDS:
        wanted = plain.strip()
        found = _closest(wanted, inquiry.types(*KEYWORDS[keyword])) or _closest(wanted, _near(wanted, inquiry.names()))
    elif of is not None:
        found = _closest(name, [each for each in _near(name, inquiry.names()) if inquiry.reason(each, of) is not None])
    else:
        found = _closest(name, [*_near(name, inquiry.names()), *inquiry.types(*TYPE_KINDS)])
    return [found] if found else []


def _near(wanted: str, names: list[str]) -> list[str]:
    """Of a hundred thousand names only those that begin or end alike are compared."""
    start, end, bare = wanted[:3], wanted[-6:], wanted.strip("_")
    return [each for each in names[:MOST_LIKE] if each[:3] == start or each[-6:] == end or each.strip("_") == bare]


def _closest(wanted: str, names: list[str]) -> str:
    from pybtf.support.suggest import closest

    same = [each for each in names if each.strip("_") == wanted.strip("_")]  # printk has become _printk
    return closest(wanted, same or names)


def kernel_options(
    features: str | Sequence[str] | Features = "default",
    jobs: int | None = None,
    lang: str = "",
    lang_exclude: str | None = None,
    base: str | bytes | os.PathLike[str] | Base | None = None,
    standalone: bool = False,
    force_base: bool = False,
    dwp: str | bytes | os.PathLike[str] | None = None,
    degrade: bool = False,
) -> EncodeOptions:
    """As `make_options`; unless languages are given, or it degrades, those are left out that kernels leave out."""
    if lang_exclude is None:
        lang_exclude = "" if lang or degrade else LANG_EXCLUDE
    return make_options(
        features, jobs, lang=lang, lang_exclude=lang_exclude, base=base, standalone=standalone,
        force_base=force_base, degrade=degrade, dwp=dwp,
    )  # fmt: skip


def inquire(
    path: str,
    options: EncodeOptions,
    ask: Callable[[Inquiry], None],
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Encode a file, and let `ask` put questions while it is open. What was encoded is thrown away. Raises as
    `encode_file`.
    """
    # What is in BTF is the same with a distilled base, but that has only some of the names of the base.
    options, below, timings = with_base(replace(options, features=replace(options.features, distilled_base=False)))

    def inspect(run: Run, image: ElfImage, sections: DebugSections, data: bytes, _: bytes | None) -> None:
        ask(Inquiry(run, image, sections, data, options, below))

    return encode_file(path, options, progress, timings, inspect).report


def with_base(options: EncodeOptions) -> tuple[EncodeOptions, BTF | None, Timings]:
    """The same options with their base read, that base as BTF, and the timings of reading it. Raises `InputError`."""
    timings = Timings()
    base = open_base(options.base, timings)
    return (options, None, timings) if base is None else (replace(options, base=base), base.btf, timings)


def why(
    path: str | bytes | os.PathLike[str],
    *names: str,
    features: str | Sequence[str] | Features = "default",
    jobs: int | None = None,
    lang: str = "",
    lang_exclude: str | None = None,
    base: str | bytes | os.PathLike[str] | Base | None = None,
    standalone: bool = False,
    force_base: bool = False,
    dwp: str | bytes | os.PathLike[str] | None = None,
    degrade: bool = False,
) -> list[Answer]:
    """Why functions, variables and types of the ELF file `path` are in its BTF, or are not: an `Answer` for each name.

    A name may be a pattern of the shell (`tcp_*`), or begin with `struct`, `union`, `enum`, `typedef`, `function` or
    `variable`; the name in an answer is without the last two. The file is encoded for this, by the same options as
    those of `pybtf.encode`; but unless `lang`, `lang_exclude` or `degrade` are given, units in Rust are left out, as
    kernels do. Raises as `pybtf.encode`, and `UsageError` without names, and for an empty one.
    """
    if not names:
        raise UsageError("no name is given: pybtf.why(path, name...)")
    for name in names:
        check_text(name, "a name", "text: pybtf.why(path, name, name)")
    if "" in names:
        raise UsageError("an empty name")
    file = path_of(path)
    options = kernel_options(features, jobs, lang, lang_exclude, base, standalone, force_base, dwp, degrade)
    found: list[Answer] = []
    inquire(file, options, lambda inquiry: found.extend(answers(inquiry, names)))
    return found
