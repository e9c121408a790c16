"""`pybtf duplicates` for click, made of the table in duplicates.py: for mistakes, unusual spellings, and completion."""

from __future__ import annotations

from typing import Any

import click

from .app import Command, Jobs
from .arguments import FLAG, JOBS, PATH, TEXTS, Option
from .duplicates import OPTIONS, duplicates
from .encode_command import complete_features


def _click(option: Option) -> click.Option:
    names = [*([f"-{option.letter}"] if option.letter else []), f"--{option.name}"]
    kinds: dict[int, dict[str, Any]] = {
        FLAG: {"is_flag": True},
        TEXTS: {"multiple": True},
        PATH: {"type": click.Path()},
        JOBS: {"type": Jobs()},
    }
    complete = complete_features if option.name == "features" else None
    return click.Option(names, metavar=option.metavar or None, shell_complete=complete, **kinds.get(option.kind, {}))


command = Command(
    "duplicates",
    params=[click.Argument(["files"], metavar="FILE", nargs=-1, type=click.Path()), *map(_click, OPTIONS)],
    callback=duplicates,
)
