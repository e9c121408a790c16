"""`pybtf why` for click."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from pybtf.cli.click_command import click_command
from pybtf.cli.completion import complete_list
from pybtf.cli.why import OPTIONS, why


def complete_reasons(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from pybtf.explain.reasons import FUNCTIONS, VARIABLES

    return complete_list(tuple({**FUNCTIONS, **VARIABLES}), (), incomplete)


command = click_command("why", OPTIONS, why, "[NAME...] FILE", completions={"list": complete_reasons})
