"""`pybtf min-core` for click."""

from __future__ import annotations

from .click_command import click_command
from .min_core import OPTIONS, min_core

command = click_command("min-core", OPTIONS, min_core, "BTF OBJECT...")
