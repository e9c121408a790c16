"""`pybtf completion`: the script that connects a shell with the completions click works out."""

from __future__ import annotations

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ZshComplete,
    add_completion_class,
    get_completion_class,
    shell_complete,
)

from ..support.process import write_stdout
from .app import COMMANDS, Command, Group, group
from .main import COMPLETE_VARIABLE


@add_completion_class
class _Bash(BashComplete):
    """click's script for bash, with variables of its own only, and with blanks in a completion escaped: `jobs 2` is one
    word. Behind a quote that the user has typed nothing is escaped: bash closes it.

    bash splits words at `=`: of `--format=r` it passes `--format`, `=` and `r`, and click would take `=` for the value.
    """

    source_template = """\
%(complete_func)s() {
    local response completion type value word="${COMP_WORDS[COMP_CWORD]}"
    local IFS=$'\\n'

    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" %(complete_var)s=bash_complete "$1")

    COMPREPLY=()
    while IFS= read -r completion; do
        type=${completion%%%%,*}
        value=${completion#*,}

        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            [[ $word == [\\"\\']* ]] || value=${value// /\\\\ }
            COMPREPLY+=("$value")
        fi
    done <<< "$response"

    return 0
}

%(complete_func)s_setup() {
    complete -o nosort -F %(complete_func)s %(prog_name)s
}

%(complete_func)s_setup;
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        words, incomplete = super().get_completion_args()
        before = ["", *words]
        words = [word for at, word in enumerate(words) if word != "=" or not before[at].startswith("--")]
        return words, incomplete


@add_completion_class
class _Zsh(ZshComplete):
    """What stands behind the `=` of `--format=r` is completed, and the option stays: click's script replaces the whole
    word by `raw`.
    """

    source_template = """\
#compdef %(prog_name)s

%(complete_func)s() {
    local -a response plain described
    local type value text

    (( $+commands[%(prog_name)s] )) || return 1
    text=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) %(complete_var)s=zsh_complete %(prog_name)s)
    response=("${(@f)text}")
    [[ $words[CURRENT] == --*=* ]] && compset -P 1 '*='

    for type value text in $response; do
        if [[ $type == plain && $text == _ ]]; then
            plain+=("$value")
        elif [[ $type == plain ]]; then
            described+=("$value:$text")
        elif [[ $type == dir ]]; then
            _path_files -/
        elif [[ $type == file ]]; then
            _path_files -f
        fi
    done

    (( $#described )) && _describe -V unsorted described -U -i "$IPREFIX"
    (( $#plain )) && compadd -U -i "$IPREFIX" -V unsorted -a plain
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
"""


@add_completion_class
class _Fish(FishComplete):
    """fish completes whole words: `--format=raw`, of which click's script gives `raw`. That script also ends a
    completion at its first comma.
    """

    source_template = """\
function %(complete_func)s
    set -lx %(complete_var)s fish_complete
    set -lx COMP_WORDS (commandline -cp)
    set -lx COMP_CWORD (commandline -t)
    set -l response (%(prog_name)s)
    set -l option (string match -r -- '^--[^=]*=' (commandline -ct); or echo)

    for completion in $response
        set -l parts (string split -m 1 "," -- $completion)
        switch $parts[1]
            case dir
                printf '%%s\\n' $option(__fish_complete_directories $parts[2])
            case file
                printf '%%s\\n' $option(__fish_complete_path $parts[2])
            case plain
                printf '%%s\\n' $option$parts[2]
        end
    end
end

complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


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
    not of words that are no command, and not of an environment that no shell has made.
    """
    try:
        return shell_complete(group(_Completing), {}, "pybtf", COMPLETE_VARIABLE, instruction)
    except (click.ClickException, click.exceptions.Exit, KeyError, ValueError):
        return 1


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
