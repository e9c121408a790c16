"""`pybtf min-core` for click."""

from __future__ import annotations

from .min_core import OPTIONS, min_core
from .plain_command import plain_command

command = plain_command("min-core", OPTIONS, min_core, "BTF OBJECT...")
