"""`pybtf encode` for click."""

from __future__ import annotations

from .arguments import OPTIONS
from .click_command import click_command
from .encode import encode

command = click_command("encode", OPTIONS, encode, "FILE...")
