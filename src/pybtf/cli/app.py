"""The group of commands. A command's module is imported when the command is used, not before.
docs/development.md says what to do to add one.
"""

from __future__ import annotations

import os

import click

from pybtf import __version__
from pybtf.cli import manual
from pybtf.cli.click_command import click_command, printed
from pybtf.cli.main import COMMANDS, COMPLETE_VARIABLE
from pybtf.errors import UsageError, quoted
from pybtf.support.process import write_stdout


class Group(click.Group):
    """The commands, loaded when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return click_command(cmd_name) if cmd_name in COMMANDS else None

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
        return printed(super().get_help_option(ctx))


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


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        write_stdout(f"pybtf {__version__}\n")
        ctx.exit()
