"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def databases(command: Command) -> Command:
    """--models and --hardware-csv: a user's own tables in the place of the shipped ones."""
    file = click.Path(path_type=Path)
    command = click.option("--hardware-csv", type=file, help="A CSV of accelerators in place of the shipped ones.")(
        command
    )
    return click.option("--models", "models_csv", type=file, help="A CSV of models in place of the shipped ones.")(
        command
    )


def settings(command: Command) -> Command:
    """--set name=value, any number of times."""
    text = "Type an input, or override a lookup or a calculated row. Repeatable."
    return click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help=text)(command)


class Greedy(click.Command):
    """A command whose repeatable options also take several values: `--set batch=1 n_chips=8`.

    A further value is one that follows an option's value and isn't an option itself; `--set` takes on only
    name=value. Other options do so only after the command's first argument, which they would swallow.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        repeatable = {name for option in self.params if getattr(option, "multiple", False) for name in option.opts}
        single = {
            name for option in self.params
            if isinstance(option, click.Option) and not option.is_flag and not option.multiple
            for name in option.opts
        }  # fmt: skip
        return super().parse_args(ctx, _spread(args, repeatable, single))


def _spread(args: list[str], repeatable: set[str], single: set[str]) -> list[str]:
    spread: list[str] = []
    option, taken, has_argument = "", 0, False
    for arg in args:
        if arg.startswith("-") and arg != "-":
            option, taken = arg.partition("=")[0], 1 if arg.startswith("--") and "=" in arg else 0
        elif option in repeatable and taken >= 1 and ("=" in arg if option == "--set" else has_argument):
            spread.append(option)
        elif (option in repeatable or option in single) and taken == 0:
            taken = 1
        else:
            option, has_argument = "", True
        spread.append(arg)
    return spread
