"""Options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, wraps
from itertools import pairwise
from math import isnan
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from planner.errors import NEAR, UserError, closest, nearest
from planner.regularfile import refuse_existing as refuse_existing

Command = TypeVar("Command", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)
WORKBOOKS = (".xlsx", ".xlsm")


class _Seconds(click.FloatRange):
    """Seconds of 0 or more; inf means no limit. NaN is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        seconds = super().convert(value, param, ctx)
        if isnan(seconds):
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return seconds


SECONDS = _Seconds(min=0)
repeatable = partial(click.option, multiple=True)
force = click.option("--force", is_flag=True, help="Replace the output where it exists.")


def databases(command: Command) -> Command:
    """--models, --hardware-csv, --calibrations and --only: a user's own tables, passed as `databases`."""

    @wraps(command)
    def with_databases(
        models_csv: Path | None, hardware_csv: Path | None, calibrations_csv: Path | None, only: bool, **others: Any
    ) -> Any:
        from planner.catalog.databases import Databases

        return command(databases=Databases(models_csv, hardware_csv, calibrations_csv, only), **others)

    for option in (
        click.option("--only", is_flag=True, help="Use your CSVs instead of the shipped rows."),
        own_csv("--calibrations", "calibrations_csv", help="Add your own calibrations from this CSV."),
        hardware_csv,
        own_csv("--models", "models_csv", help="Add your own models from this CSV."),
    ):
        with_databases = option(with_databases)
    return cast(Command, with_databases)


def _once(_: click.Context, option: click.Parameter, paths: tuple[Path, ...]) -> Path | None:
    """The file given by an option, None for none. Raises UserError for a second one, which would be ignored."""
    if len(paths) > 1:
        said = " and ".join(map(str, paths))
        raise UserError(f"{option.opts[0]} is given twice: {said}", remedy="put their rows into one CSV")
    return paths[0] if paths else None


own_csv = partial(click.option, type=PATH, multiple=True, callback=_once)
"""An option that names one CSV of a person's own."""
hardware_csv = own_csv("--hardware-csv", help="Add your own accelerators from this CSV.")
"""A user's own chips."""


def say(file: Path, lines: Iterable[str]) -> None:
    """Print the outcome for a file: the first line next to its name, the others below."""
    for at, line in enumerate(lines):
        click.echo(f"  {line}" if at else f"{file}: {line}")


def as_it_was(backup: Path | None) -> list[str]:
    """The line that says where a replaced file is kept, if it is."""
    return [] if backup is None else [f"The file as it was: {backup}"]


def settings(command: Command) -> Command:
    """--set name=value, repeatable."""
    text = "Set an input, or override a looked-up or calculated row. Repeatable."
    return repeatable("--set", "settings", metavar="NAME=VALUE", help=text)(command)


CHIPS = ("gpu", "gpus", "tpu", "chip", "chips", "device", "accelerator")
"""What others call the option of a chip."""
ONE_OF_A_PLAN = {"model": "model", "hardware": "chip"}
"""Options that have one value in some commands and several in others, with what each is."""


class Group(click.Group):
    """A command with commands of its own; the error for an unknown one names those that there are."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The called command. Raises UserError for one that there isn't."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            what = f"planner {ctx.info_name} has no command {args[0]!r}"
            raise UserError(what, remedy=nearest(args[0], self.commands))
        return super().resolve_command(ctx, args)


class Greedy(click.Command):
    """A command whose repeatable options also take several values: `--set batch=1 n_chips=8`.

    A further value is a word after an option's value that isn't itself an option; for `--set` it must be name=value.
    Other options take further values only after the command's first argument, which they would swallow otherwise.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        repeatable = {name for option in self.params if getattr(option, "multiple", False) for name in option.opts}
        single = {
            name
            for option in self.params
            if isinstance(option, click.Option) and not option.is_flag and not option.multiple
            for name in option.opts
        }
        try:
            return super().parse_args(ctx, _spread(args, repeatable, single))
        except click.NoSuchOption as error:
            self._refuse_option(error.option_name)
            raise
        except click.UsageError as error:
            if "unexpected extra argument" in error.message:
                self._refuse_second(args)
            raise

    def _refuse_option(self, said: str) -> None:
        """Raise UserError for an option that would be other tools': that of a chip, or of an input of the plan."""
        options = {name for each in self.params for name in each.opts}
        name = said.lstrip("-").replace("-", "_")
        if not options >= {"-H", "--set"} or not said.startswith("--"):
            return
        if name in CHIPS:
            raise UserError(f"no option {said}", remedy="a chip is named with -H")
        if not closest(said, options, 1, NEAR):
            raise UserError(f"no option {said}", remedy=f"an input is set with --set, as in --set {name}=...")

    def _refuse_second(self, args: list[str]) -> None:
        """Raise UserError if a second model or chip was given to a command that takes one."""
        options = {name: each.name for each in self.params if isinstance(each, click.Option) for name in each.opts}
        for option, one, other in zip(args, args[1:], args[2:], strict=False):
            if options.get(option) in ONE_OF_A_PLAN and not other.startswith("-"):
                what = (
                    f"{self.name} takes one {ONE_OF_A_PLAN[str(options[option])]}, and {option} has {one} and {other}"
                )
                raise UserError(what, remedy="planner sweep and planner build take several")


def _spread(args: list[str], repeatable: set[str], single: set[str]) -> list[str]:
    spread: list[str] = []
    option, taken, has_argument = "", 0, False
    for before, arg in pairwise(["", *args]):
        if arg.startswith("-") and arg != "-":
            option, taken = arg.partition("=")[0], 1 if arg.startswith("--") and "=" in arg else 0
        elif option in repeatable and taken >= 1 and ("=" in arg if option == "--set" else has_argument):
            spread.append(option)
        elif (option in repeatable or option in single) and taken == 0:
            taken = 1
        elif option == "--set" and has_argument and "=" not in before:
            raise UserError(f"--set {before!r} is not name=value", remedy=f"write --set {before}={arg}")
        else:
            option, has_argument = "", True
        spread.append(arg)
    return spread


def backend(command: Command) -> Command:
    """--backend for computing many plans; passed to the command with `among`, the processes that share the work."""

    @wraps(command)
    def shared(backend: str, **others: Any) -> Any:
        from planner.processes import ALONE, join

        def clean() -> None:
            from planner.search.table_files import clear

            if others["output"] is not None:
                clear(others["output"])

        return command(backend=backend, among=join(clean) if backend == "jax" else ALONE, **others)

    text = "What computes the plans; jax uses every device of every host on which the command runs."
    chosen = click.Choice(["numpy", "jax"])
    return click.option("--backend", type=chosen, default="numpy", show_default=True, help=text)(cast(Command, shared))
