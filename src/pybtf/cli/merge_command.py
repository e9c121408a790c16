"""`pybtf merge` for click."""

from __future__ import annotations

from .merge import OPTIONS, merge
from .plain_command import plain_command

command = plain_command("merge", OPTIONS, merge, "FILE")
