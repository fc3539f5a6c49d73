"""A number explained: its formula in names, then in numbers, and so on down to inputs and their sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner import table
from planner.catalog.table import TABLES
from planner.formulas.binding import constraint, told
from planner.formulas.evaluation import Facts, Results
from planner.formulas.lookups import only_on
from planner.formulas.template import BY_ID, CALCULATED, LOOKUPS, Row

FITTED = ("calibration", "stack")
"""Kinds of rows whose numbers are fitted to published runs, or are priors."""


def in_names(row: Row) -> str:
    """A row's formula as a reader writes it: `a*b`, `hardware[hardware_id].hbm_bytes`, `dtypes[kv_dtype]`."""
    if row.kind in CALCULATED:
        return row.formula
    if row.kind in BY_ID:
        return f"{TABLES[row.kind]}[{row.column[1]}].{row.column[0]}"
    if row.kind in ("model", "hardware"):
        column, selector = row.column
        table_name = "models[model_id]" if row.kind == "model" else "hardware[hardware_id]"
        return f"{table_name}.{column}" + (f"[{selector}]" if selector else "")
    return ""


def explain(results: Results, name: str, facts: Facts) -> str:
    """How a number came about, as indented text; below it the fitted numbers that it rests on, each with its source.

    Raises UserError for an unknown name.
    """
    lines: list[str] = []
    _explain(results, results.template.row(name), facts, 0, set(), lines)
    return "\n".join([*lines, *_fitted(results, name, facts)])


def _fitted(results: Results, name: str, facts: Facts) -> list[str]:
    """The calibrations and the factors of the stack that a number is made of."""
    reached = results.template.closure([name])
    rows = [row for row in results.template.rows if row.name in reached and row.kind in FITTED]
    rows = [row for row in rows if row.name not in results.given and row.name != name]
    if not rows:
        return []
    told = [[f"  {row.name}", table.shown(results.value(row.name)), row.unit, _fitted_on(results, row, facts)]
            for row in rows]  # fmt: skip
    head = ["  name", "value", "unit", "where it is from"]
    return ["", "It rests on these fitted numbers:", *table.aligned(head, told, right=("value",)).splitlines()]


def _fitted_on(results: Results, row: Row, facts: Facts) -> str:
    """Where the number of a calibration or a stack is from."""
    identifier = results.value(str(row.column[1]))
    origin = facts.origins.get((row.kind, f"{identifier}.{row.column[0]}"))
    return origin or facts.said(row.kind, identifier)


def missing(results: Results, names: Iterable[str]) -> list[str]:
    """The inputs and lookups that make any of these rows N/A, each as a phrase that says what to do.

    What only chips of another network have is none of them.
    """
    network = results.value("topology") if "topology" in results.template.by_name else None
    found: dict[str, str] = {}
    waiting = [name for name in names if results.value(name) is None]
    while waiting:
        row = results.template.row(waiting.pop(0))
        unknown = [name for name in row.reads if results.value(name) is None]
        waiting += [name for name in unknown if name not in found]
        if not unknown and row.kind in ("input", *LOOKUPS) and only_on(row) in ("", network):
            found[row.name] = _missing(results, row)
        found.setdefault(row.name, "")
    return list(dict.fromkeys(phrase for phrase in found.values() if phrase))


def _missing(results: Results, row: Row) -> str:
    """What a row lacks that reads no other N/A: an input its value, a lookup its row or its number."""
    if row.kind == "input":
        return f"{row.name} is not set"
    if row.kind in BY_ID and row.column[1]:  # their tables have no blanks: it is the row that is not there
        return f"there is no {row.kind} {results.value(row.column[1])!r}"
    return f"{row.name} is not in the {row.kind} table"


def failed(results: Results) -> list[Row]:
    """The checks that don't hold."""
    return [row for row in results.template.of_kind("check") if results.value(row.name) == 0]


def _explain(results: Results, row: Row, facts: Facts, depth: int, seen: set[str], lines: list[str]) -> None:
    indent = "  " * depth
    unit = "" if row.unit in ("1", "text") else f" {row.unit}"
    head = f"{indent}{row.name} = {table.shown(results.value(row.name))}{unit}"
    if row.name in seen:
        lines.append(f"{head}  (explained above)")
        return
    seen.add(row.name)
    origin = table.joined(row.source, row.note)
    lines.append(f"{head}  ({row.label}{'; ' if origin else ''}{origin})")
    if row.name in results.given:
        lines.append(f"{indent}  = typed with --set" if row.kind == "input" else f"{indent}  = overridden with --set")
        return
    if row.kind in ("input", "constant"):
        lines.append(f"{indent}  = {'default' if row.kind == 'input' else 'constant'} of {row.template}")
        return
    lines.append(f"{indent}  = {in_names(row)}")
    if row.kind in CALCULATED:
        lines.append(f"{indent}  = {_in_numbers(results, row)}")
        lines += [f"{indent}  bound by {words}" for words in _bound(results, row)]
    elif row.kind in ("model", "hardware"):
        lines.append(f"{indent}  = {facts.origin(row.kind, _column(results, row))}")
    elif row.kind in BY_ID and row.kind != "dtype":
        lines.append(f"{indent}  = {_fitted_on(results, row, facts)}")
    for name in row.reads:
        _explain(results, results.template.row(name), facts, depth + 1, seen, lines)


def _bound(results: Results, row: Row) -> Iterator[str]:
    """What binds a row that is the largest or the smallest of some parts, and how far the next is."""
    each = constraint(row, results.template.by_name)
    found = told(each, results.number) if each else None
    if each is not None and found is not None:
        yield found.words("above" if each.is_largest else "below")


def _column(results: Results, row: Row) -> str:
    """The database column that a lookup read, a dtype's among several."""
    column, selector = row.column
    return f"{column}_{results.value(selector)}" if selector else column


def _in_numbers(results: Results, row: Row) -> str:
    def number(name: str) -> str:
        value = results.value(name)
        text = table.shown(value).replace(",", "")
        return f'"{value}"' if isinstance(value, str) else f"({text})" if text.startswith("-") else text

    return row.expression.substitute(number)
