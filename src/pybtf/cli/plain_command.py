"""Commands for click that are made of a table of options: for mistakes, unusual spellings, and completion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from .app import Command
from .arguments import FLAG, JOBS, PATH, TEXTS, Option


def plain_command(name: str, options: Sequence[Option], run: Callable[..., int], metavar: str) -> Command:
    """The command `name`, whose arguments are called `metavar`; `run` gets them as `files`."""
    files = click.Argument(["files"], metavar=metavar, nargs=-1, type=click.Path())
    return Command(name, params=[files, *map(_click, options)], callback=run)


def _click(option: Option) -> click.Option:
    from .app import Jobs

    names = [*([f"-{option.letter}"] if option.letter else []), f"--{option.name}"]
    kinds: dict[int, dict[str, Any]] = {
        FLAG: {"is_flag": True},
        TEXTS: {"multiple": True},
        PATH: {"type": click.Path()},
        JOBS: {"type": Jobs()},
    }
    complete = None
    if option.name in ("features", "lang", "lang-exclude"):
        from .encode_command import COMPLETIONS

        complete = COMPLETIONS[option.name]
    return click.Option(names, metavar=option.metavar or None, shell_complete=complete, **kinds.get(option.kind, {}))
