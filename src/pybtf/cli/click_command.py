"""Commands for click, each made of its table of options: for mistakes, unusual spellings, and completion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from pybtf import features as feature_names
from pybtf.cli.app import Command, Jobs
from pybtf.cli.arguments import FLAG, JOBS, PATH, SWITCH, TEXTS, Option
from pybtf.cli.completion import complete_list
from pybtf.languages import LANGUAGES

FILE = click.Path(readable=False)
"""A path of any kind. Whether it may be read shows when it is opened; click would call it a mistake of the user's."""
Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


class _Folder(click.Path):
    """As `FILE`, but shells offer folders only. That something else is in its place shows when it is used."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="dir")]


FOLDER = _Folder(readable=False)


def one_of(words: Sequence[str], signs: tuple[str, ...] = ()) -> Completion:
    """Completes the last of a list of these words, each of which may have one of the signs in front."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return complete_list(tuple(words), signs, incomplete)

    return complete


complete_features = one_of((*feature_names.NAMES, "default", "all"), ("+",))
complete_languages = one_of(tuple(LANGUAGES))
_COMPLETIONS = {"features": complete_features, "lang": complete_languages, "lang-exclude": complete_languages}


def click_command(
    name: str,
    options: Sequence[Option],
    run: Callable[..., int],
    metavar: str,
    *,
    choices: Mapping[str, Sequence[str]] | None = None,
    completions: Mapping[str, Completion] | None = None,
    paths: tuple[str, ...] = (),
) -> Command:
    """The command `name`, whose arguments are called `metavar`; `run` gets them as `files`.

    `choices`: what an option may be. `completions`: of options, besides features and languages. `paths`: options that
    are lists of files.
    """
    files = click.Argument(["files"], metavar=metavar, nargs=-1, type=FILE)

    def made(option: Option) -> click.Option:
        kinds: dict[int, dict[str, Any]] = {
            FLAG: {"is_flag": True},
            SWITCH: {"default": None},
            TEXTS: {"multiple": True},
            PATH: {"type": FOLDER if option.metavar == "DIR" else FILE},
            JOBS: {"type": Jobs()},
        }
        more = dict(kinds.get(option.kind, {}))
        if choices is not None and option.name in choices:
            more["type"] = click.Choice(choices[option.name])
        elif option.name in paths:
            more["type"] = FILE
        names = [*([f"-{option.letter}"] if option.letter else []), f"--{option.name}"]
        if option.kind == SWITCH:
            names = [f"--{option.name}/--no-{option.name}"]
        complete = {**_COMPLETIONS, **(completions or {})}.get(option.name)
        return click.Option(names, metavar=option.metavar or None, shell_complete=complete, **more)

    return Command(name, params=[files, *map(made, options)], callback=run)
