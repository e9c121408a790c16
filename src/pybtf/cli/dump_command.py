"""`pybtf dump` for click, made of the table in dump.py: for mistakes, unusual spellings, and completion."""

from __future__ import annotations

from typing import Any

import click

from .app import Command
from .arguments import FLAG, PATH, TEXTS, Option
from .dump import FORMATS, OPTIONS, dump


def _click(option: Option) -> click.Option:
    kinds: dict[int, dict[str, Any]] = {
        FLAG: {"is_flag": True},
        TEXTS: {"multiple": True},
        PATH: {"type": click.Path()},
    }
    if option.name == "format":
        return click.Option(["--format"], metavar=option.metavar, type=click.Choice(FORMATS))
    return click.Option([f"--{option.name}"], metavar=option.metavar or None, **kinds.get(option.kind, {}))


command = Command(
    "dump",
    params=[click.Argument(["files"], metavar="FILE", nargs=-1, type=click.Path()), *map(_click, OPTIONS)],
    callback=dump,
)
