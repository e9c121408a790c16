"""Commands for click, each made of its table of options: for mistakes, unusual spellings, and completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from pybtf.cli import manual
from pybtf.cli.arguments import CHOICE, FLAG, JOBS, PATH, PATHS, SWITCH, TEXTS, Option, number_of_jobs
from pybtf.cli.main import COMMANDS, home
from pybtf.errors import UsageError, quoted
from pybtf.features import NAMES
from pybtf.languages import LANGUAGES
from pybtf.options import MAX_JOBS
from pybtf.support.process import write_stdout

if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:  # click 8.1 has no parameters for it
    _Choice = click.Choice

FILE = click.Path(readable=False)
"""A path of any kind. Whether it may be read shows when it is opened; click would call it a mistake of the user's."""
_WORDS: dict[str, Iterable[str]] = {
    "features": (*NAMES, "default", "all"),
    "lang": LANGUAGES,
    "lang-exclude": LANGUAGES,
}
"""What is offered for options that several commands have."""

Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


class Command(click.Command):
    """A command whose help is its page of the manual."""

    def get_help(self, ctx: click.Context) -> str:
        return manual.COMMANDS[self.name or ""].rstrip("\n")

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        return printed(super().get_help_option(ctx))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it, without taking an option for the value of the one before it: then a command would do
        something else than it was asked to, and write files that nobody named.
        """
        if not ctx.resilient_parsing:
            _require_values(self.get_params(ctx), args, ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """As click does it, without names that are empty; whoever reads arguments without click leaves these to it."""
        for param in self.params:
            value = ctx.params.get(param.name or "")
            if isinstance(param.type, click.Path):
                _require_names(param, value if isinstance(value, tuple) else (value,))
        return super().invoke(ctx)


def _require_values(params: list[click.Parameter], args: list[str], ctx: click.Context) -> None:
    """Raise click's `UsageError` if an option stands where the value of another one is to be."""
    options = [param for param in params if isinstance(param, click.Option)]
    known = {name: option for option in options for name in (*option.opts, *option.secondary_opts)}
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            return
        option = known.get(arg)
        if option is None or option.is_flag:
            continue
        value = next(rest, "")
        if value == "--" or value.partition("=")[0] in known:
            text = f"option '{arg}' requires an argument"
            hint = f"; '{value}' is an option ({option.opts[-1]}={value} takes it as the argument)"
            raise click.UsageError(text if value == "--" else text + hint, ctx)


def _require_names(param: click.Parameter, values: tuple[str | None, ...]) -> None:
    """Raise `UsageError` if the name of a file, or of what is looked for in one, is empty."""
    if "" not in values:
        return
    if isinstance(param, click.Option):
        raise UsageError(f"{param.opts[-1]}: the name is empty")
    named = str(param.metavar).startswith(("[NAME", "TYPE"))
    raise UsageError("a name is empty" if named and values[-1] else "the name of a FILE is empty")


def printed(help: click.Option | None) -> click.Option | None:
    """The option --help, which prints as all others do."""
    if help is not None:
        help.callback = _print_help
    return help


def _print_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        write_stdout(ctx.get_help() + "\n")
        ctx.exit()


class _Folder(click.Path):
    """As `FILE`, but shells offer folders only. That something else is in its place shows when it is used."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="dir")]


class OneOf(_Choice):
    """One of some words, for completion and help: whoever gets another one says so, in the words of all options."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value


class _Jobs(click.IntRange):
    """A number of workers, in the one spelling that is taken without click, too: no sign, no `1_0`."""

    def __init__(self) -> None:
        super().__init__(1, MAX_JOBS)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = number_of_jobs(str(value))
        if number is None:
            raise click.UsageError(f"-j expects the number of workers, 1 to {MAX_JOBS}, not {quoted(value)}", ctx)
        return number


def click_command(name: str) -> click.Command:
    """The command `name`, made as `COMMANDS` says."""
    module, function = home(name)
    metavar = COMMANDS[name]
    if not metavar:
        own: click.Command = module.command
        return own
    of_files = click.UNPROCESSED if metavar.startswith("--") else FILE
    files = click.Argument(["files"], metavar=metavar, nargs=-1, type=of_files)
    return Command(name, params=[files, *map(_option, module.OPTIONS)], callback=getattr(module, function))


def _option(option: Option) -> click.Option:
    kinds: dict[int, dict[str, Any]] = {
        FLAG: {"is_flag": True},
        SWITCH: {"default": None},
        TEXTS: {"multiple": True},
        CHOICE: {"type": OneOf(option.metavar.split("|"))},
        PATH: {"type": _Folder(readable=False) if option.metavar == "DIR" else FILE},
        PATHS: {"type": FILE, "multiple": True},
        JOBS: {"type": _Jobs()},
    }
    names = [*([f"-{option.letter}"] if option.letter else []), f"--{option.name}"]
    if option.kind == SWITCH:
        names = [f"--{option.name}/--no-{option.name}"]
    return click.Option(
        names, metavar=option.metavar or None, shell_complete=_completion(option), **kinds.get(option.kind, {})
    )


def _completion(option: Option) -> Completion | None:
    """What completes the words of an option; None if that is left to click."""
    if option.words is None and option.name not in _WORDS:
        return None

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        words = _WORDS[option.name] if option.words is None else option.words()
        return _complete_list(words, "+" if option.name == "features" else "", incomplete)

    return complete


def _complete_list(known: Iterable[str], sign: str, incomplete: str) -> list[CompletionItem]:
    """Completions of the last word of a comma-separated list; `sign` may stand in front of the first."""
    done, comma, last = incomplete.rpartition(",")
    given = set(done.split(","))
    start = done + comma
    if not comma and sign and last.startswith(sign):
        start, last = sign, last.removeprefix(sign)
    return [CompletionItem(start + name) for name in known if name.startswith(last) and name not in given]
