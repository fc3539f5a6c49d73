"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from planner.errors import UserError
from planner.template import Row, Template

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


def parsed(settings: Iterable[str]) -> dict[str, str]:
    """`name=value` texts as a mapping. Raises UserError for a text without a name or an equals sign."""
    pairs: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise UserError(f"--set {setting!r} is not name=value", remedy="write --set batch=32")
        pairs[name.strip()] = value.strip()
    return pairs


def typed(row: Row, text: str) -> float | str | None:
    """A value as typed by a user for a row: a number, a text, or N/A.

    Raises UserError for what is no number where a number is wanted: never guessed from a decimal comma.
    """
    if text in ("", "#N/A", "N/A", "NA"):
        return None
    if row.unit == "text":
        return text
    try:
        number = float(text.replace("_", "x"))
    except ValueError:
        remedy = "write a decimal point, not a comma" if "," in text else f"{row.name} is in {row.unit}"
        raise UserError(f"--set {row.name}={text}: {text!r} is no number", remedy=remedy) from None
    if number != number or number in (float("inf"), float("-inf")):
        raise UserError(f"--set {row.name}={text}: not a finite number", remedy="write N/A for a missing number")
    return number


def values(template: Template, settings: Iterable[str]) -> dict[str, float | str | None]:
    """The --set options as values of a template's rows. Raises UserError for an unknown name."""
    return {name: typed(template.row(name), text) for name, text in parsed(settings).items()}


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
