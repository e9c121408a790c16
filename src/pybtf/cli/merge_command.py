"""`pybtf merge` for click."""

from __future__ import annotations

from .click_command import click_command
from .merge import OPTIONS, merge

command = click_command("merge", OPTIONS, merge, "FILE", paths=("objects",))
