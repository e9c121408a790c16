"""`pybtf dump` for click."""

from __future__ import annotations

from pybtf.cli.click_command import click_command
from pybtf.cli.dump import FORMATS, OPTIONS, dump

command = click_command("dump", OPTIONS, dump, "FILE", choices={"format": FORMATS})
