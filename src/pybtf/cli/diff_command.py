"""`pybtf diff` for click."""

from __future__ import annotations

from pybtf.cli.click_command import click_command, one_of
from pybtf.cli.diff import OPTIONS, diff
from pybtf.differences.model import CLASSES
from pybtf.differences.select import ONLY, RELOCATION

command = click_command(
    "diff",
    OPTIONS,
    diff,
    "OLD NEW",
    completions={"only": one_of(tuple(ONLY)), "fail-on": one_of((*CLASSES, RELOCATION, "any"))},
    paths=("ignore", "object"),
)
