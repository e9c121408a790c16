"""`pybtf show` for click."""

from __future__ import annotations

from .click_command import click_command
from .show import OPTIONS, show

command = click_command("show", OPTIONS, show, "[NAME]... FILE")
