"""`pybtf why`: why a function, variable or type is in BTF, or is not."""

from __future__ import annotations

from pybtf.cli.arguments import FLAG, JOBS, PATH, TEXT, TEXTS, Option
from pybtf.errors import UsageError, printable
from pybtf.languages import excluded_by_environment
from pybtf.support import TYPE_CHECKING
from pybtf.support.process import write_stdout

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from pybtf.explain.inquiry import Inquiry
    from pybtf.options import EncodeOptions


def _reasons() -> Iterable[str]:
    from pybtf.explain.reasons import FUNCTIONS, VARIABLES

    return {**FUNCTIONS, **VARIABLES}


OPTIONS = (
    Option("list", TEXT, "REASON", words=_reasons),
    Option("json", FLAG),
    Option("base", PATH, "FILE"),
    Option("dwp", PATH, "FILE"),
    Option("degrade", FLAG),
    Option("standalone", FLAG),
    Option("force-base", FLAG),
    Option("features", TEXTS, "LIST"),
    Option("lang", TEXT, "LIST"),
    Option("lang-exclude", TEXT, "LIST"),
    Option("jobs", JOBS, "N", "j"),
)


def why(
    files: tuple[str, ...],
    list: str | None,
    json: bool,
    base: str | None,
    dwp: str | None,
    degrade: bool,
    standalone: bool,
    force_base: bool,
    features: tuple[str, ...],
    lang: str | None,
    lang_exclude: str | None,
    jobs: int | None,
) -> int:
    """The command, after its options have been read. The exit status: 1 if not all that was asked for is in BTF."""
    if not files:
        raise UsageError("missing argument 'FILE'; see pybtf why --help")
    *names, file = files
    if file == "-":
        raise UsageError("FILE cannot be standard input: it is read more than once")
    if lang == "":
        raise UsageError("--lang names no language")
    if lang is None and lang_exclude is None:
        lang_exclude = excluded_by_environment()
    from pybtf.cli.choice import require_file_last, require_whole_names
    from pybtf.explain.reasons import check_reason
    from pybtf.features import Features

    if list is not None:
        check_reason(list)
    wanted = Features.parse(*features)
    require_whole_names(names)
    require_file_last("why", names, file)
    from pybtf.explain.asking import inquire, kernel_options

    options = kernel_options(wanted, jobs, lang or "", lang_exclude, base, standalone, force_base, dwp, degrade)
    asked = _Asked(names, list, json, options)
    from pybtf.cli.interrupt import PromptInterrupt
    from pybtf.elf.mapped import mapped

    with mapped(file), PromptInterrupt():
        inquire(file, options, asked)
    write_stdout(asked.text)
    return asked.status


class _Asked:
    """What is asked of the file, and then the output and the exit status."""

    def __init__(self, names: Any, reason: str | None, json: bool, options: EncodeOptions) -> None:
        self.names = names
        self.reason = reason
        self.json = json
        self.options = options
        self.text = ""
        self.status = 0

    def __call__(self, inquiry: Inquiry) -> None:
        from pybtf.explain import text
        from pybtf.explain.asking import answers, listed

        if self.reason is None and not self.names:
            self._summary(inquiry)
            return
        found = (
            answers(inquiry, self.names) if self.reason is None else listed(inquiry, self.reason, self.names)
        )
        if self.json:
            self.text = _json([each.to_dict() for each in found])
        elif self.reason is not None:
            self.text = "".join(f"{printable(each.name)}\n" for each in found)
        else:
            self.text = "\n".join([text.heading(self.options), *text.lines(found), ""])
        if self.reason is None:
            self.status = 0 if found and all(each.in_btf for each in found) else 1

    def _summary(self, inquiry: Inquiry) -> None:
        from pybtf.explain import text
        from pybtf.explain.asking import summary

        rows = summary(inquiry)
        self.text = (
            _json(rows) if self.json else "\n".join([text.heading(self.options), *text.summary_lines(rows), ""])
        )


def _json(what: object) -> str:
    from json import dumps

    return dumps(what, indent=2) + "\n"
