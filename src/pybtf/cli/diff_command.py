"""`pybtf diff` for click."""

from __future__ import annotations

from ..differences.model import CLASSES
from ..differences.select import ONLY, RELOCATION
from .click_command import click_command, one_of
from .diff import OPTIONS, diff

command = click_command(
    "diff",
    OPTIONS,
    diff,
    "OLD NEW",
    completions={"only": one_of(tuple(ONLY)), "fail-on": one_of((*CLASSES, RELOCATION, "any"))},
    paths=("ignore", "object"),
)
