"""`pybtf duplicates` for click."""

from __future__ import annotations

from .click_command import click_command
from .duplicates import OPTIONS, duplicates

command = click_command("duplicates", OPTIONS, duplicates, "FILE")
