"""`pybtf verify` for click, made of the table in verify.py: for mistakes, unusual spellings, and completion."""

from __future__ import annotations

from typing import Any

import click

from .app import Command, Jobs
from .arguments import FLAG, JOBS, TEXTS, Option
from .verify import LOADERS, OPTIONS, verify


def _click(option: Option) -> click.Option:
    names = [*([f"-{option.letter}"] if option.letter else []), f"--{option.name}"]
    kinds: dict[int, dict[str, Any]] = {
        FLAG: {"is_flag": True},
        TEXTS: {"multiple": True, "type": click.Path()},
        JOBS: {"type": Jobs()},
    }
    if option.name == "loader":
        return click.Option(names, metavar=option.metavar, type=click.Choice(LOADERS))
    return click.Option(names, metavar=option.metavar or None, **kinds.get(option.kind, {}))


command = Command(
    "verify",
    params=[click.Argument(["files"], metavar="FILE...", nargs=-1, type=click.Path()), *map(_click, OPTIONS)],
    callback=verify,
)
"""See verify.py."""
