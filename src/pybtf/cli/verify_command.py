"""`pybtf verify` for click."""

from __future__ import annotations

from .click_command import click_command
from .verify import LOADERS, OPTIONS, verify

command = click_command(
    "verify", OPTIONS, verify, "FILE...", choices={"loader": LOADERS}, paths=("base",)
)
