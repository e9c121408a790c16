"""`pybtf decode` for click."""

from __future__ import annotations

from .decode import OPTIONS, decode
from .plain_command import plain_command

command = plain_command("decode", OPTIONS, decode, "TYPE FILE")
