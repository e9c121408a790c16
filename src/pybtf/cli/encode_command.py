"""`pybtf encode` for click."""

from __future__ import annotations

from pybtf.cli.arguments import OPTIONS
from pybtf.cli.click_command import click_command
from pybtf.cli.encode import encode

command = click_command("encode", OPTIONS, encode, "FILE...")
