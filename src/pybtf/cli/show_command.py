"""`pybtf show` for click."""

from __future__ import annotations

from pybtf.cli.click_command import click_command
from pybtf.cli.show import OPTIONS, show

command = click_command("show", OPTIONS, show, "[NAME]... FILE")
