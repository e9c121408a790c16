"""`pybtf object` for click."""

from __future__ import annotations

from .click_command import click_command
from .object import OPTIONS, object

command = click_command("object", OPTIONS, object, "FILE...")
