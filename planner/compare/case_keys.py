"""Normalizes case keys: a key typed by hand or written by an older version becomes the one that planner writes now."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from planner.catalog import Value
from planner.formulas import library
from planner.formulas.template import CALCULATED, Row
from planner.formulas.text import Number, Text
from planner.measure.records import case_key, in_our_order, parse_key


@lru_cache(maxsize=1 << 14)
def key_as_ours(key: str) -> str:
    """The key with its inputs in `case_key`'s order; a text that is no key of a known template is returned unchanged.

    Inputs that the template now sets itself are left out, as by `without_set`.
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
    """The inputs without those that the template now computes as a row of exactly this value.

    Older versions asked for some inputs that an include sets now.
    """
    rows = library.load(template).by_name if template in library.names() else {}
    return {name: value for name, value in inputs.items() if name not in rows or not _is_set(rows[name], value)}


def _is_set(row: Row, value: Value) -> bool:
    """Whether a row's formula is just this value."""
    if row.kind not in CALCULATED:
        return False
    match row.expression.root:
        case Number(value=known) | Text(value=known):
            return known == value
    return False


def with_defaults(key: str) -> str:
    """The key with the default of each missing input added, such as one that a newer template introduced.

    A text that is no key, a key of an unknown template, or one with unknown inputs is returned unchanged.
    """
    try:
        name, inputs = parse_key(key)
    except ValueError:
        return key
    usual = library.load(name).inputs(inputs) if inputs and name in library.names() else {}
    return case_key(name, usual) if inputs.keys() <= usual.keys() else key


def complete_key(key: str) -> str:
    """The normalized key with all inputs: equal for two keys if and only if they describe the same case."""
    return with_defaults(key_as_ours(key))
