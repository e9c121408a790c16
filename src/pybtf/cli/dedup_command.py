"""`pybtf dedup` for click."""

from __future__ import annotations

from .click_command import click_command
from .dedup import OPTIONS, dedup

command = click_command("dedup", OPTIONS, dedup, "FILE...")
