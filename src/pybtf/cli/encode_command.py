"""`pybtf encode` for click, made of the table in arguments.py: for mistakes, unusual spellings, and completion."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from .. import features as feature_names
from ..languages import LANGUAGES
from .app import Command, Jobs
from .arguments import FLAG, JOBS, OPTIONS, PATH, SWITCH, TEXTS, Option
from .completion import complete_list
from .encode import encode


def complete_features(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return complete_list((*feature_names.NAMES, "default", "all"), ("+",), incomplete)


def complete_languages(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return complete_list(tuple(LANGUAGES), (), incomplete)


COMPLETIONS = {"features": complete_features, "lang": complete_languages, "lang-exclude": complete_languages}


def _click(option: Option) -> click.Option:
    names = [*([f"-{option.letter}"] if option.letter else []), f"--{option.name}"]
    kinds: dict[int, dict[str, Any]] = {
        FLAG: {"is_flag": True},
        SWITCH: {"default": None},
        TEXTS: {"multiple": True},
        PATH: {"type": click.Path()},
        JOBS: {"type": Jobs()},
    }
    if option.kind == SWITCH:
        names = [f"--{option.name}/--no-{option.name}"]
    return click.Option(
        names,
        metavar=option.metavar or None,
        shell_complete=COMPLETIONS.get(option.name),
        **kinds.get(option.kind, {}),
    )


command = Command(
    "encode",
    params=[
        click.Argument(["files"], metavar="FILE...", nargs=-1, type=click.Path()),
        *map(_click, OPTIONS),
    ],
    callback=encode,
)
