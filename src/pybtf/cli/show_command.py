"""`pybtf show` for click, made of the table in show.py: for mistakes, unusual spellings, and completion."""

from __future__ import annotations

from typing import Any

import click

from .app import Command
from .arguments import FLAG, PATH, Option
from .show import OPTIONS, show


def _click(option: Option) -> click.Option:
    kinds: dict[int, dict[str, Any]] = {FLAG: {"is_flag": True}, PATH: {"type": click.Path()}}
    names = [f"--{option.name}", *([f"-{option.letter}"] if option.letter else [])]
    return click.Option(names, metavar=option.metavar or None, **kinds.get(option.kind, {}))


command = Command(
    "show",
    params=[click.Argument(["files"], metavar="[NAME]... FILE", nargs=-1), *map(_click, OPTIONS)],
    callback=show,
)
