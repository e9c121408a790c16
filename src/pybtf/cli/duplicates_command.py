"""`pybtf duplicates` for click."""

from __future__ import annotations

from pybtf.cli.click_command import click_command
from pybtf.cli.duplicates import OPTIONS, duplicates

command = click_command("duplicates", OPTIONS, duplicates, "FILE")
