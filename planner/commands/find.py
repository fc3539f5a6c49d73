"""`planner find`: searches rows, templates, models and chips by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.formulas.finding import NamedThing

TITLES = {"row": "Rows", "template": "Templates", "model": "Models", "chip": "Chips"}
SHOWN = {"row": 12, "template": 4, "model": 4, "chip": 4}  # lines per kind, together a screen
PLACES = 3  # most templates of a row to name


@click.command("find")
@click.argument("words", nargs=-1, required=True)
@click.option("--all", "in_full", is_flag=True, help="Print every match.")
def command(words: tuple[str, ...], in_full: bool) -> None:
    """Find rows, templates, models and chips by WORDS of a name, a label, a unit, or a common synonym.

    Every word must match. The best matches come first.
    """
    from planner.errors import NEAR, UserError, closest
    from planner.formulas.finding import everything, found
    from planner.formulas.synonyms import aliases

    text = " ".join(words)
    if not text.strip():
        raise UserError("there is no word to find", remedy="write a part of a name, such as planner find memory")
    groups = found(text) or found(text.replace("-", " ").replace("_", " "))  # as a model is called elsewhere
    if not groups:
        known = [*aliases(), *(each.name for each in everything())]
        named = (*closest(text, known, 3, NEAR), *closest(text.replace(" ", "_"), known, 3, NEAR))
        alike = list(dict.fromkeys(named))[:3]
        remedy = f"did you mean {' or '.join(alike)}?" if alike else "try fewer words, or parts of them"
        raise UserError(f"nothing is called {text!r}", remedy=remedy)
    for number, (kind, group) in enumerate(groups.items()):
        shown = group if in_full else group[: SHOWN[kind]]
        click.echo(("\n" if number else "") + _table(kind, shown))
        if len(group) > len(shown):
            click.echo(f"... and {len(group) - len(shown):,} more: a word more, or --all")


def _table(kind: str, group: Sequence[NamedThing]) -> str:
    """The found items of one kind: name and label; for rows also unit and templates."""
    from planner.number_text import few
    from planner.terminal_table import aligned

    if kind != "row":
        return aligned([TITLES[kind], ""], [[each.name, each.label] for each in group])
    body = [[each.name, each.label, each.unit, few(each.places, PLACES)] for each in group]
    return aligned([TITLES[kind], "", "unit", "of"], body)
