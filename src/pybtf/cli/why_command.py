"""`pybtf why` for click, made of the table in why.py: for mistakes, unusual spellings, and completion."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from .app import Command, Jobs
from .arguments import FLAG, JOBS, PATH, TEXTS, Option
from .completion import complete_list
from .encode_command import complete_features, complete_languages
from .why import OPTIONS, why


def complete_reasons(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from ..explain.reasons import FUNCTIONS, VARIABLES

    return complete_list(tuple({**FUNCTIONS, **VARIABLES}), (), incomplete)


_COMPLETIONS = {
    "features": complete_features,
    "lang": complete_languages,
    "lang-exclude": complete_languages,
    "list": complete_reasons,
}


def _click(option: Option) -> click.Option:
    names = [*([f"-{option.letter}"] if option.letter else []), f"--{option.name}"]
    kinds: dict[int, dict[str, Any]] = {
        FLAG: {"is_flag": True},
        TEXTS: {"multiple": True},
        PATH: {"type": click.Path()},
        JOBS: {"type": Jobs()},
    }
    return click.Option(
        names,
        metavar=option.metavar or None,
        shell_complete=_COMPLETIONS.get(option.name),
        **kinds.get(option.kind, {}),
    )


command = Command(
    "why",
    params=[
        click.Argument(["files"], metavar="[NAME...] FILE", nargs=-1, type=click.Path()),
        *map(_click, OPTIONS),
    ],
    callback=why,
)
