"""`pybtf decode` for click."""

from __future__ import annotations

from pybtf.cli.click_command import click_command
from pybtf.cli.decode import OPTIONS, decode

command = click_command("decode", OPTIONS, decode, "TYPE FILE")
