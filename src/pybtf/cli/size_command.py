"""`pybtf size` for click."""

from __future__ import annotations

from .click_command import click_command
from .size import OPTIONS, ORDERS, size

command = click_command("size", OPTIONS, size, "FILE", choices={"by": ORDERS})
