"""`pybtf duplicates` for click, made of the table in duplicates.py: for mistakes, unusual spellings, and completion."""

from __future__ import annotations

from typing import Any

import click

from .app import Command
from .arguments import FLAG, PATH, Option
from .duplicates import OPTIONS, duplicates


def _click(option: Option) -> click.Option:
    kinds: dict[int, dict[str, Any]] = {FLAG: {"is_flag": True}, PATH: {"type": click.Path()}}
    return click.Option([f"--{option.name}"], metavar=option.metavar or None, **kinds.get(option.kind, {}))


command = Command(
    "duplicates",
    params=[click.Argument(["files"], metavar="FILE", nargs=-1, type=click.Path()), *map(_click, OPTIONS)],
    callback=duplicates,
)
