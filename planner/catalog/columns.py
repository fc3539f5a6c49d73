"""The dictionary of a database's columns: name, unit, label, and what stands for a blank cell."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Value = float | str | None  # None: not known (N/A), which is never 0
Kind = Literal["text", "number", "count", "flag"]  # a count is a whole number, a flag 1 or 0


@dataclass(frozen=True)
class Column:
    """A column of a table as the workbook shows it; `source` is the column that says where it is from.

    `only_on` is the topology that alone has such a number: on another one it isn't missing.
    """

    name: str
    unit: str
    label: str
    source: str = ""
    only_on: str = ""


class Rule:
    """What stands for a blank cell, computed from other cells of its row.

    The function's parameters are the columns that it reads and its docstring is the rule in words. Its value
    is N/A when one of them is, save where the parameter has a default: such a column may be blank.
    """

    def __init__(self, function: Callable[..., Value]) -> None:
        parameters = inspect.signature(function).parameters.values()
        self.function = function
        self.inputs = tuple(each.name for each in parameters)
        self.needed = tuple(each.name for each in parameters if each.default is each.empty)

    def __call__(self, row: Mapping[str, Value]) -> Value:
        values = [row[name] for name in self.inputs]
        if None in values and any(row[name] is None for name in self.needed):
            return None
        return self.function(*values)


@Rule
def same_as_id(id: str) -> str:
    """The id."""
    return id


@dataclass(frozen=True)
class Field:
    """A column that a file may have, under its name or an alias.

    `blank` stands for a blank cell: a constant, a rule, or None for N/A. `at_most` names the column that
    bounds this one. A field that isn't `shown` only feeds the rules of others. `only_on` is a Column's.
    """

    name: str
    label: str
    kind: Kind = "count"
    unit: str = "1"
    blank: Value | Rule = None
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    positive: bool = False
    required: bool = False
    at_most: str = ""
    source: str = ""
    shown: bool = True
    only_on: str = ""

    @property
    def column(self) -> Column:
        """The field as a column of the table."""
        return Column(self.name, "text" if self.kind == "text" else self.unit, self.label, self.source, self.only_on)
