"""Rule 27: every input has a data validation with a message, and what is typed holds to it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from planner.lint.book import Book, Sheet
from planner.lint.findings import Fault, rule
from planner.lint.pattern import pattern
from planner.xlsx.address import Area, address
from planner.xlsx.cellvalue import Value
from planner.xlsx.opc import local_name

_HOLDS: dict[str, Callable[[float, float, float], bool]] = {
    "between": lambda value, low, high: low <= value <= high,
    "notBetween": lambda value, low, high: not low <= value <= high,
    "equal": lambda value, low, _: value == low,
    "notEqual": lambda value, low, _: value != low,
    "lessThan": lambda value, low, _: value < low,
    "lessThanOrEqual": lambda value, low, _: value <= low,
    "greaterThan": lambda value, low, _: value > low,
    "greaterThanOrEqual": lambda value, low, _: value >= low,
}


class Validation(NamedTuple):
    """What a data validation asks of the cells in `areas`; `first` and `second` are its formulas."""

    areas: tuple[Area, ...]
    type: str
    operator: str
    first: str
    second: str
    has_message: bool

    def covers(self, row: int, column: int) -> bool:
        """Whether it is about this cell."""
        return any(area.covers(row, column) for area in self.areas)


@rule(27, "Every input has a data validation with a message.")
def validations(book: Book) -> Iterator[Fault]:
    """An input without a validation, and a typed value that breaks its own."""
    inputs = book.inputs
    for sheet in book.our_sheets:
        found = _validations(book, sheet)
        for rule_ in found:
            yield from _broken(book, sheet, rule_)
        if sheet is inputs.sheet:
            lines = [line for line in inputs.lines if line.section != "Constants"]
            for at in ((line.row, column) for line in lines for column in inputs.columns):
                if not any(known.covers(*at) and known.has_message for known in found):
                    what, remedy = "the input has no data validation with a message", "copy another input's: Paste Special, Validation"
                    yield Fault(sheet.name, address(*at), what, remedy)


def _broken(book: Book, sheet: Sheet, rule_: Validation) -> Iterator[Fault]:
    for at in sheet.cells:
        if rule_.covers(*at) and sheet.is_typed(*at):
            value = sheet.value(*at)
            if isinstance(value, (str, float, int)) and (wanted := _breach(book, sheet, rule_, value)):
                yield Fault(sheet.name, address(*at), f"{value} is out of range: {wanted}", "type another value")


def _breach(book: Book, sheet: Sheet, rule_: Validation, value: str | float) -> str:
    """What a validation asks where a value doesn't hold to it; blank where it does, or where it can't be told."""
    if rule_.type == "list":
        listed = _listed(book, sheet, rule_.first)
        return "" if _key(value) in listed else f"it is not one of the list {rule_.first}"
    if rule_.type not in ("decimal", "whole", "textLength"):
        return ""
    low, high = _number(rule_.first), _number(rule_.second or rule_.first)
    number = float(len(str(value))) if rule_.type == "textLength" else value
    if low is None or high is None:
        return ""
    holds = not isinstance(number, str) and _HOLDS[rule_.operator](number, low, high)
    whole = rule_.type != "whole" or number == round(float(number))
    limits = f"{rule_.first} and {rule_.second}" if rule_.second else rule_.first
    return "" if holds and whole else f"{rule_.type} {rule_.operator} {limits} is wanted"


def _listed(book: Book, sheet: Sheet, source: str) -> set[str]:
    """The values of a list: those in quotes, or those of a range's cells."""
    if source.startswith('"'):
        return {_key(item.strip()) for item in source.strip('"').split(",")}
    values: set[str] = set()
    for reference in pattern(source, 1, 1).references:
        other, area = book.sheets.get(reference.sheet or sheet.name), reference.area(1, 1)
        values |= {_key(other.value(*at)) for at in other.cells if area.covers(*at)} if other else set()
    return values


def _key(value: Value) -> str:
    """Values that a list takes for one: texts whatever their capitals, numbers whatever their spelling."""
    return f"{value:g}" if isinstance(value, (int, float)) else str(value).lower()


def _number(text: str) -> float | None:
    with contextlib.suppress(ValueError):
        return float(text)
    return None


def _validations(book: Book, sheet: Sheet) -> list[Validation]:
    """A sheet's validations, those of the extension too, in which Excel keeps lists of other sheets."""
    root = book.package.tree(book.package.sheets()[sheet.name])
    return [_validation(element) for element in root.iter() if local_name(element) == "dataValidation"]


def _validation(element: ElementTree.Element) -> Validation:
    texts = {local_name(child): "".join(child.itertext()).strip() for child in element}
    areas = tuple(Area.parse(part) for part in (element.get("sqref") or texts.get("sqref", "")).split())
    return Validation(areas, element.get("type", "none"), element.get("operator", "between"), texts.get("formula1", ""),
                      texts.get("formula2", ""), bool(element.get("prompt") or element.get("error")))  # fmt: skip
