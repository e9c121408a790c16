"""`pybtf merge` for click."""

from __future__ import annotations

from pybtf.cli.click_command import click_command
from pybtf.cli.merge import OPTIONS, merge

command = click_command("merge", OPTIONS, merge, "FILE", paths=("objects",))
