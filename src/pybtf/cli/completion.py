"""`pybtf completion`: the script that connects a shell with the completions click works out."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

from ..process import write_stdout
from .app import Command, group
from .main import COMPLETE_VARIABLE


def complete_list(known: tuple[str, ...], prefixes: tuple[str, ...], incomplete: str) -> list[CompletionItem]:
    """Completions of the last element of a comma-separated list; `prefixes` may stand before its first."""
    done, comma, last = incomplete.rpartition(",")
    given = set(done.split(","))
    start = done + comma
    if not comma:
        for prefix in prefixes:
            if last.startswith(prefix):
                start, last = prefix, last[len(prefix) :]
    return [CompletionItem(start + name) for name in known if name.startswith(last) and name not in given]


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    kind = get_completion_class(shell)
    assert kind is not None, shell
    write_stdout(kind(group(), {}, "pybtf", COMPLETE_VARIABLE).source() + "\n")
    return 0
