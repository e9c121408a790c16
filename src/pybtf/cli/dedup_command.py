"""`pybtf dedup` for click."""

from __future__ import annotations

from .dedup import OPTIONS, dedup
from .plain_command import plain_command

command = plain_command("dedup", OPTIONS, dedup, "FILE...")
