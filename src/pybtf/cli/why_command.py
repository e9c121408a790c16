"""`pybtf why` for click."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from .click_command import click_command
from .completion import complete_list
from .why import OPTIONS, why


def complete_reasons(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from ..explain.reasons import FUNCTIONS, VARIABLES

    return complete_list(tuple({**FUNCTIONS, **VARIABLES}), (), incomplete)


command = click_command("why", OPTIONS, why, "[NAME...] FILE", completions={"list": complete_reasons})
