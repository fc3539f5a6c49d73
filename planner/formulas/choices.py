"""The texts that a text input may hold: those that the formulas below compare it with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from planner.formulas.template import CALCULATED, Row
from planner.formulas.text import Binary, Name, Text, walk


def with_choices(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """The rows, each text input with its choices in the order of their first use; a dtype's are dtypes.csv's."""
    choices: dict[str, dict[str, None]] = {
        row.name: {} for row in rows if row.kind == "input" and row.unit == "text" and not row.name.endswith("dtype")
    }
    for name, text in _compared(rows, choices) if choices else ():
        choices[name][text] = None
    return tuple(replace(row, choices=tuple(choices[row.name])) if choices.get(row.name) else row for row in rows)


def _compared(rows: tuple[Row, ...], names: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Each `name="text"` of the formulas, for these names."""
    for row in rows:
        if row.kind in CALCULATED and '"' in row.formula and any(name in row.reads for name in names):
            for node in walk(row.expression.root):
                if isinstance(node, Binary) and node.op in ("=", "<>"):
                    for one, other in ((node.left, node.right), (node.right, node.left)):
                        if isinstance(one, Name) and isinstance(other, Text) and one.name in names:
                            yield one.name, other.value
