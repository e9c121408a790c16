"""`pybtf cc` for click: for mistakes, and completion. What follows `--` is none of its business."""

from __future__ import annotations

import click

from pybtf.cli.cc import OPTIONS, cc
from pybtf.cli.click_command import click_command

command = click_command("cc", OPTIONS, cc, "-- COMMAND...")
command.params[0] = click.Argument(["files"], metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED)
