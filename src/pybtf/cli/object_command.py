"""`pybtf object` for click."""

from __future__ import annotations

from .object import OPTIONS, object
from .plain_command import plain_command

command = plain_command("object", OPTIONS, object, "FILE...")
