"""Values as a user types them, `name=value`: read for the rows that they are meant for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner import catalog
from planner.errors import UserError
from planner.formulas.limits import beyond, limits
from planner.formulas.template import NUMBER, Row, Template


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
        return _known(row, text)
    if not NUMBER.fullmatch(text):
        counted = "a plain number" if row.unit == "1" else f"in {row.unit}"
        remedy = "write a decimal point, not a comma" if "," in text else f"{row.name} is {counted}"
        raise UserError(f"{row.name}={text}: {text!r} is no number", remedy=remedy)
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise UserError(f"{row.name}={text}: not a finite number", remedy="write N/A for a missing number")
    if fault := limits(row).fault(number):
        raise UserError(f"{row.name}={text}: {fault}")
    return number


def _known(row: Row, text: str) -> str:
    """The dtype as the database writes it; a choice as the template writes it; any other text as it is."""
    if row.name.endswith("dtype"):
        return catalog.load_dtypes().identify(text)
    if not row.choices:
        return text
    written = {choice.lower(): choice for choice in row.choices}
    if text.lower() not in written:
        raise UserError(f"{row.name}={text}: no such choice", remedy=f"choose one of {', '.join(row.choices)}")
    return written[text.lower()]


def values(template: Template, settings: Iterable[str]) -> dict[str, float | str | None]:
    """The --set options as values of a template's rows. Raises UserError for an unknown name."""
    return {name: typed(template.row(name), text) for name, text in parsed(settings).items()}


def check_together(given: Iterable[str], known: Mapping[str, float | str | None]) -> None:
    """Raise UserError where inputs that a user typed can't be beside other numbers of the plan."""
    if fault := beyond(given, known):
        raise UserError(fault, remedy="type less")
