"""Rows that a user asks for by name or pattern, and settings that don't change the requested rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

from planner.catalog import Value
from planner.errors import UserError, closest
from planner.formulas.following import leading_inputs
from planner.formulas.partial import Prepared
from planner.formulas.template import Row, Template
from planner.progress import unsaid

WILD = "*?["  # characters that make a name a pattern
ALIKE = 0.75  # least similarity of an unused name and the intended one


def named(template: Template, wanted: Iterable[str]) -> list[str]:
    """The names of the requested rows, without repetition; `kv_*` requests all that begin so, in template order.

    Raises UserError for a name or a pattern that no row has, with the nearest one.
    """
    return list(dict.fromkeys(name for text in wanted for name in _matching(template, text)))


def _matching(template: Template, text: str) -> list[str]:
    if not any(sign in text for sign in WILD):
        return [template.row(text).name]
    found = [row.name for row in template.rows if fnmatchcase(row.name, text)]
    if not found:
        words = text.translate(dict.fromkeys(map(ord, WILD)))
        alike = closest(words, template.by_name)
        remedy = f"the nearest are {', '.join(alike)}" if alike else f"planner find {words} looks in all templates"
        raise UserError(f"{template.name} has no row like {text!r}", remedy=remedy)
    return found


def unread(template: Template, given: Collection[str], asked: Iterable[str] | None) -> dict[str, str]:
    """A sentence for each name in `given` on which none of the `asked` rows (None: all) depends, by the name.

    It names a dependent to ask for, or a similar number that is used instead.
    """
    if asked is None:
        read = {name for row in template.rows if row.name not in given for name in row.reads}
    else:
        read = template.closure(asked, given)
    read |= leading_inputs(template, given, read)
    return {name: _unread(template, template.row(name), read) for name in given if name not in read}


def _unread(template: Template, row: Row, read: Collection[str]) -> str:
    what = f"{row.name} was set, and nothing you asked for reads it"
    instead = _instead(template, row, read)
    return f"{what}: {instead}" if instead else what


def without_effect(plan: Prepared, given: Mapping[str, Value], asked: Collection[str]) -> dict[str, str]:
    """A sentence for each value in `given` without which all `asked` rows are the same, by its name.

    Such are the bits of a dense model's experts. A value that its row would have anyway isn't meant, nor one without
    which the others contradict one another.
    """
    results, found = plan.results(given), dict[str, str]()
    for name in given:
        with unsaid(), suppress(UserError):
            others = plan.results({each: value for each, value in given.items() if each != name})
            is_other = others.value(name) != results.value(name)
            if is_other and all(others.value(each) == results.value(each) for each in asked):
                found[name] = f"{name} was set, and changes none of these numbers in this plan"
    return found


def _instead(template: Template, row: Row, read: Collection[str]) -> str:
    """A row that depends on `row`, or a similar number that is read; blank if there is neither."""
    results = template.of_kind("output") or template.of_kind("calc")
    made_of = template.closure(each.name for each in results)  # without cross-checks
    unasked = (each.name for each in template.rows if row.name in each.reads and each.name in made_of)
    if reader := next(unasked, None):
        return f"{reader} does"
    alike = closest(row.name, [name for name in read if template.row(name).unit == row.unit], 1, ALIKE)
    readers = (each.name for each in template.rows if alike and each.name in read and alike[0] in each.reads)
    return f"{reader} reads {alike[0]}" if (reader := next(readers, None)) else ""


def untaken(template: Template, kind: str, identifier: str, record: Mapping[str, Any], given: Collection[str]) -> str:
    """A sentence if the template doesn't use the given model or chip (`kind`: "model" or "hardware"); else blank.

    It says what to type for inputs with the names of the record's numbers.
    """
    if template.of_kind(kind):
        return ""
    option, noun = ("-m", "model") if kind == "model" else ("-H", "chip")
    typed = [
        f"{row.name}={record[row.name] if isinstance(record[row.name], str) else format(record[row.name], '.15g')}"
        for row in template.of_kind("input")
        if record.get(row.name) is not None and row.name not in given
    ]
    what = f"{template.name} takes no {noun}, so that {option} {identifier} is not read"
    return f"{what}: --set {' '.join(typed)}" if typed else what
