"""`pybtf verify` for click."""

from __future__ import annotations

from pybtf.cli.click_command import click_command
from pybtf.cli.verify import LOADERS, OPTIONS, verify

command = click_command(
    "verify", OPTIONS, verify, "FILE...", choices={"loader": LOADERS}, paths=("base",)
)
