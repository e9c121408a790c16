"""`pybtf dedup` for click."""

from __future__ import annotations

from pybtf.cli.click_command import click_command
from pybtf.cli.dedup import OPTIONS, dedup

command = click_command("dedup", OPTIONS, dedup, "FILE...")
