"""`pybtf size` for click, made of the table in size.py: for mistakes, unusual spellings, and completion."""

from __future__ import annotations

from typing import Any

import click

from .app import Command
from .arguments import FLAG, PATH, Option
from .size import OPTIONS, ORDERS, size


def _click(option: Option) -> click.Option:
    kinds: dict[int, dict[str, Any]] = {FLAG: {"is_flag": True}, PATH: {"type": click.Path()}}
    if option.name == "by":
        return click.Option(["--by"], metavar=option.metavar, type=click.Choice(ORDERS))
    return click.Option([f"--{option.name}"], metavar=option.metavar or None, **kinds.get(option.kind, {}))


command = Command(
    "size",
    params=[click.Argument(["files"], metavar="FILE", nargs=-1, type=click.Path()), *map(_click, OPTIONS)],
    callback=size,
)
