"""The key that a case has now: one that was typed otherwise, or written by an older planner, means the same case."""

from __future__ import annotations

from collections.abc import Mapping

from planner.catalog import Value
from planner.formulas import library
from planner.formulas.template import CALCULATED, Row
from planner.formulas.text import Number, Text
from planner.measure.records import case_key, in_our_order, parse_key


def key_as_ours(key: str) -> str:
    """The key of a template's case as `case_key` writes it, whatever the order of its inputs; another text as it is.

    Inputs that the template sets itself now are left out, as `without_set` does.
    """
    if key.partition("|")[0] not in library.names():
        return key
    ordered = in_our_order(key)
    try:
        template, inputs = parse_key(ordered)
    except ValueError:
        return key
    kept = without_set(template, inputs)
    return ordered if kept == inputs else case_key(template, kept)


def without_set(template: str, inputs: Mapping[str, Value]) -> dict[str, Value]:
    """The inputs of a case without those that its template has as rows of these very values now, and asks for no more.

    An input that an older planner asked for is such a one where an include sets it since.
    """
    rows = library.load(template).by_name if template in library.names() else {}
    return {name: value for name, value in inputs.items() if name not in rows or not _is_set(rows[name], value)}


def _is_set(row: Row, value: Value) -> bool:
    """Whether a row's formula is this value alone."""
    if row.kind not in CALCULATED:
        return False
    match row.expression.root:
        case Number(value=known) | Text(value=known):
            return known == value
    return False


def with_defaults(key: str) -> str:
    """A template's key with the usual value of each input that it lacks, as one written before there was that input.

    Another text is as it is, and so is a key of an unknown template or with inputs that the template hasn't.
    """
    try:
        name, inputs = parse_key(key)
    except ValueError:
        return key
    usual = library.load(name).inputs(inputs) if inputs and name in library.names() else {}
    return case_key(name, usual) if inputs.keys() <= usual.keys() else key


def complete_key(key: str) -> str:
    """What tells a case: its key as it is written now, with the usual value of each input that it lacks."""
    return with_defaults(key_as_ours(key))
