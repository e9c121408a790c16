"""`pybtf object` for click."""

from __future__ import annotations

from pybtf.cli.click_command import click_command
from pybtf.cli.object import OPTIONS, object

command = click_command("object", OPTIONS, object, "FILE...")
