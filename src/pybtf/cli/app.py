"""The group of commands. A command's module is imported when the command is used, not before.
docs/development.md says what to do to add one.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import click

from pybtf import __version__
from pybtf.cli import manual
from pybtf.cli.arguments import number_of_jobs
from pybtf.cli.main import COMPLETE_VARIABLE
from pybtf.errors import UsageError, quoted
from pybtf.options import MAX_JOBS
from pybtf.support.process import write_stdout

COMMANDS = {
    "encode": "encode_command",
    "dump": "dump_command",
    "show": "show_command",
    "size": "size_command",
    "duplicates": "duplicates_command",
    "object": "object_command",
    "merge": "merge_command",
    "cc": "cc_command",
    "why": "why_command",
    "min-core": "min_core_command",
    "dedup": "dedup_command",
    "decode": "decode_command",
    "verify": "verify_command",
    "diff": "diff_command",
    "reproduce": "reproduce",
    "completion": "completion",
}
"""Module, in this package, by command name; the function there has the name `command`."""


class Command(click.Command):
    """A command whose help is its page of the manual."""

    def get_help(self, ctx: click.Context) -> str:
        return manual.COMMANDS[self.name or ""].rstrip("\n")

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        return _printed(super().get_help_option(ctx))

    def invoke(self, ctx: click.Context) -> Any:
        """As click does it, without names that are empty; whoever reads arguments without click leaves these to it."""
        for param in self.params:
            value = ctx.params.get(param.name or "")
            if isinstance(param.type, click.Path):
                _require_names(param, value if isinstance(value, tuple) else (value,))
        return super().invoke(ctx)


def _require_names(param: click.Parameter, values: tuple[str | None, ...]) -> None:
    """Raise `UsageError` if the name of a file, or of what is looked for in one, is empty."""
    if "" not in values:
        return
    if isinstance(param, click.Option):
        raise UsageError(f"{param.opts[-1]}: the name is empty")
    named = str(param.metavar).startswith(("[NAME", "TYPE"))
    raise UsageError("a name is empty" if named and values[-1] else "the name of a FILE is empty")


class Group(click.Group):
    """The commands, loaded when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f".{COMMANDS[cmd_name]}", __package__).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from pybtf.cli.habits import of_words
            from pybtf.support.suggest import did_you_mean

            hint = did_you_mean(name, COMMANDS) or of_words(args) or f"; there are {', '.join(COMMANDS)}"
            if hint.startswith(";") and os.path.exists(name):  # noqa: PTH110
                from pybtf.cli.habits import of_file

                hint = of_file(name)
            ctx.fail(f"There is no command {quoted(name)}{hint}")
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        return manual.PYBTF.rstrip("\n")

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        return _printed(super().get_help_option(ctx))


class Jobs(click.IntRange):
    """A number of workers, in the one spelling that is taken without click, too: no sign, no `1_0`."""

    def __init__(self) -> None:
        super().__init__(1, MAX_JOBS)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = number_of_jobs(str(value))
        if number is None:
            raise click.UsageError(f"-j expects the number of workers, 1 to {MAX_JOBS}, not {quoted(value)}", ctx)
        return number


def group(kind: type[Group] = Group) -> Group:
    """The whole command line, for running it, completing it, and comparing it with the manual."""
    return kind(
        "pybtf",
        params=[
            click.Option(
                ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_print_version
            ),
        ],
        context_settings={"help_option_names": ["-h", "--help"]},
        no_args_is_help=False,
    )


def run(arguments: list[str]) -> int:
    """Parse the arguments and run the command; its exit status. Raises what the command raises."""
    instruction = os.environ.get(COMPLETE_VARIABLE)
    if instruction:
        from pybtf.cli.completion import complete

        return complete(instruction)
    try:
        with group().make_context("pybtf", arguments) as context:
            return context.command.invoke(context) or 0
    except click.exceptions.Exit as exit:
        return exit.exit_code
    except click.Abort as abort:
        raise KeyboardInterrupt from abort
    except click.UsageError as error:
        raise UsageError(_with_hint(error, arguments)) from error


def _with_hint(error: click.UsageError, arguments: list[str]) -> str:
    text = " ".join(error.format_message().split()).rstrip(".")
    where = "pybtf"
    if error.ctx is not None:
        where = error.ctx.command_path
    elif arguments and arguments[0] in COMMANDS:  # of an option without its value click does not say where
        where = f"pybtf {arguments[0]}"
    if isinstance(error, click.NoSuchOption):
        from pybtf.cli.habits import of_option, of_option_like_file

        hint = of_option_like_file(error.option_name, arguments) or of_option(error.option_name, where)
        text = f"no such option {quoted(error.option_name)}{hint or _like_option(error)}"
    return f"{text[:1].lower()}{text[1:]}{' See' if text.endswith('?') else '; see'} {where} --help"


def _like_option(error: click.NoSuchOption) -> str:
    """`. Did you mean '--detached' or '--detached-dir'?`, or nothing. What click finds similar often is not."""
    name = error.option_name
    if error.ctx is None or not name.startswith("--"):
        return ""
    from pybtf.support.suggest import all_close

    params = [*error.ctx.command.params, error.ctx.command.get_help_option(error.ctx)]
    known = [each for param in params if param is not None for each in (*param.opts, *param.secondary_opts)]
    like = all_close(name[2:], [each[2:] for each in known if each.startswith("--")])
    return f". Did you mean {' or '.join(quoted(f'--{each}') for each in like)}?" if like else ""


def _printed(help: click.Option | None) -> click.Option | None:
    """The option --help, which prints as all others do."""
    if help is not None:
        help.callback = _print_help
    return help


def _print_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        write_stdout(ctx.get_help() + "\n")
        ctx.exit()


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        write_stdout(f"pybtf {__version__}\n")
        ctx.exit()
