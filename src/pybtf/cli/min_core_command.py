"""`pybtf min-core` for click."""

from __future__ import annotations

from pybtf.cli.click_command import click_command
from pybtf.cli.min_core import OPTIONS, min_core

command = click_command("min-core", OPTIONS, min_core, "BTF OBJECT...")
