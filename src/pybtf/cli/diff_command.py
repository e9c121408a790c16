"""`pybtf diff` for click, made of the table in diff.py: for mistakes, unusual spellings, and completion."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from ..differences.model import CLASSES
from ..differences.select import ONLY, RELOCATION
from .app import Command, Jobs
from .arguments import FLAG, JOBS, PATH, TEXTS, Option
from .completion import complete_list
from .diff import OPTIONS, diff

_LISTS = {"only": tuple(ONLY), "fail-on": (*CLASSES, RELOCATION, "any")}


def _click(option: Option) -> click.Option:
    names = [*([f"-{option.letter}"] if option.letter else []), f"--{option.name}"]
    kinds: dict[int, dict[str, Any]] = {
        FLAG: {"is_flag": True},
        PATH: {"type": click.Path()},
        TEXTS: {"multiple": True},
        JOBS: {"type": Jobs()},
    }
    more: dict[str, Any] = {}
    if option.name in _LISTS:
        known = _LISTS[option.name]

        def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
            return complete_list(known, (), incomplete)

        more = {"shell_complete": complete}
    elif option.name in ("ignore", "object"):
        more = {"type": click.Path()}
    return click.Option(names, metavar=option.metavar or None, **kinds[option.kind], **more)


command = Command(
    "diff",
    params=[click.Argument(["files"], metavar="OLD NEW", nargs=-1, type=click.Path()), *map(_click, OPTIONS)],
    callback=diff,
)
