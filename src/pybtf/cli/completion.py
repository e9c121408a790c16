"""`pybtf completion`: the script that connects a shell with the completions click works out."""

from __future__ import annotations

import click
from click.shell_completion import (
    BashComplete,
    FishComplete,
    ZshComplete,
    add_completion_class,
    get_completion_class,
    shell_complete,
)

from pybtf.cli.app import Group, group
from pybtf.cli.click_command import Command, OneOf
from pybtf.cli.main import COMMANDS, COMPLETE_VARIABLE
from pybtf.errors import unknown
from pybtf.support.process import write_stdout

SHELLS = ("bash", "zsh", "fish")


def _edited(script: str, *edits: tuple[str, str]) -> str:
    """click's script with these changes. A version of click whose script is another keeps it as it is."""
    for old, new in edits:
        script = script.replace(old, new)
    return script


@add_completion_class
class _Bash(BashComplete):
    """click's script for bash, with variables of its own only, and with blanks in a completion escaped: `jobs 2` is one
    word. Behind a quote that the user has typed nothing is escaped: bash closes it.

    bash splits words at `=`: of `--format=r` it passes `--format`, `=` and `r`, and click would take `=` for the value.
    """

    source_template = _edited(
        BashComplete.source_template,
        (
            "    local response\n",
            '    local response completion type value word="${COMP_WORDS[COMP_CWORD]}"\n    COMPREPLY=()\n',
        ),
        ("COMP_CWORD=$COMP_CWORD", 'COMP_CWORD="$COMP_CWORD"'),
        ("bash_complete $1)", 'bash_complete "$1")'),
        ("for completion in $response; do", "while IFS= read -r completion; do"),
        (
            """IFS=',' read type value <<< "$completion"\n""",
            "type=${completion%%%%,*}\n        value=${completion#*,}\n",
        ),
        (
            "COMPREPLY+=($value)",
            """[[ $word == [\\"\\']* ]] || value=${value// /\\\\ }\n            COMPREPLY+=("$value")""",
        ),
        ("    done\n", '    done <<< "$response"\n'),
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        words, incomplete = super().get_completion_args()
        before = ["", *words]
        words = [word for at, word in enumerate(words) if word != "=" or not before[at].startswith("--")]
        return words, incomplete


@add_completion_class
class _Zsh(ZshComplete):
    """What comes after the `=` of `--format=r` is completed, and the option stays: click's script replaces the whole
    word by `raw`.
    """

    source_template = _edited(
        ZshComplete.source_template,
        ("    local -a response\n", "    local -a response\n    local type key descr\n"),
        (
            "    for type key descr in",
            """    [[ $words[CURRENT] == --*=* ]] && compset -P 1 '*='\n\n    for type key descr in""",
        ),
        ("completions_with_descriptions -U", 'completions_with_descriptions -U -i "$IPREFIX"'),
        ("compadd -U", 'compadd -U -i "$IPREFIX"'),
    )


@add_completion_class
class _Fish(FishComplete):
    """fish completes whole words: `--format=raw`, of which click's script gives `raw`. That script also ends a
    completion at its first comma.
    """

    source_template = _edited(
        FishComplete.source_template,
        (
            "    for completion in",
            "    set -l option (string match -r -- '^--[^=]*=' (commandline -ct); or echo)\n\n    for completion in",
        ),
        ('string split ","', 'string split -m 1 ","'),
        (
            "__fish_complete_directories $metadata[2];",
            "printf '%%s\\n' $option(__fish_complete_directories $metadata[2]);",
        ),
        ("__fish_complete_path $metadata[2];", "printf '%%s\\n' $option(__fish_complete_path $metadata[2]);"),
        ("echo $metadata[2];", "printf '%%s\\n' $option$metadata[2];"),
    )


class _Completing(Group):
    """The commands, and `help`, whose argument is one of them: otherwise main.py takes it for `--help`."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "help":
            return click.Command("help", params=[click.Argument(["command"], type=click.Choice(list(COMMANDS)))])
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] == "help":
            return "help", self.get_command(ctx, "help"), args[1:]
        return super().resolve_command(ctx, args)


def complete(instruction: str) -> int:
    """Print what a shell asks for; the exit status.

    The shell shows what is said on standard error in the middle of the line that is being typed, so nothing is said:
    not of words that are not a command, and not of an environment that no shell has made.
    """
    try:
        return shell_complete(group(_Completing), {}, "pybtf", COMPLETE_VARIABLE, instruction)
    except (click.ClickException, click.exceptions.Exit, KeyError, ValueError):
        return 1


@click.command("completion", cls=Command)
@click.argument("shell", type=OneOf(SHELLS))
def command(shell: str) -> int:
    kind = get_completion_class(shell) if shell in SHELLS else None
    if kind is None:
        raise unknown("shell", shell, SHELLS)
    write_stdout(kind(group(), {}, "pybtf", COMPLETE_VARIABLE).source() + "\n")
    return 0
