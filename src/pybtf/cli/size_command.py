"""`pybtf size` for click."""

from __future__ import annotations

from pybtf.cli.click_command import click_command
from pybtf.cli.size import OPTIONS, ORDERS, size

command = click_command("size", OPTIONS, size, "FILE", choices={"by": ORDERS})
