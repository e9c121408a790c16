"""`pybtf decode` for click."""

from __future__ import annotations

from .click_command import click_command
from .decode import OPTIONS, decode

command = click_command("decode", OPTIONS, decode, "TYPE FILE")
