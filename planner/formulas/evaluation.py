"""Evaluates a template as a function of arrays."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from planner.catalog import Value
from planner.catalog.checked_table import TABLES
from planner.errors import UserError, nearest
from planner.formulas.arrays import Arithmetic, Array
from planner.formulas.template import BY_ID, CALCULATED, Row, Template
from planner.formulas.text import Binary, Call, Formula, Name, Node, Number, Text, Unary, parse

Given = Mapping[str, Any]  # name -> number, text, None (N/A), or an array of these
_MOST_NAMED = 8  # most numbers of a model or chip to list
_NUMBERS = frozenset((float, int, type(None)))  # of a list of these numpy makes an array in one go, with NaN for None
_CODES: dict[str, float] = {}
_TEXTS: list[str] = [""]
NUMPY = Arithmetic(np)
_COMPILED: dict[tuple[str, int, int], Callable[[Mapping[str, Array]], Array]] = {}
"""Cache of compiled formulas, as functions of arrays by name; keyed by text, start and end."""


def code(text: str) -> float:
    """The number that represents a text in arrays; texts that differ only in case share one, as in Excel."""
    key = text.lower()
    if key in _CODES:
        _TEXTS[int(_CODES[key])] = text
    else:
        _CODES[key] = float(len(_TEXTS))
        _TEXTS.append(text)
    return _CODES[key]


def text_of(number: float) -> str | None:
    """The text that a code represents, as it was spelt last; None for N/A."""
    return None if number != number else _TEXTS[int(number)]


@dataclass(frozen=True)
class Facts:
    """What the lookups of a plan read: a model's row, a chip's row, and the rows of other tables by kind and id.

    Each value of a model or chip is a number, a text, or an array of them for a sweep over models or chips.
    """

    model: Mapping[str, Any] | None = None
    hardware: Mapping[str, Any] | None = None
    by_id: Mapping[str, Mapping[str, Mapping[str, Value]]] = field(default_factory=dict)
    origins: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def origin(self, kind: str, column: str) -> str:
        """The database row that a lookup reads, and the source of the number."""
        return self.origins.get((kind, column)) or "given"

    def said(self, kind: str, identifier: Value) -> str:
        """The table row that a lookup by id reads, and its source."""
        source = self.by_id.get(kind, {}).get(str(identifier), {}).get("source") or "given"
        return f"{identifier} of the {TABLES[kind]}: {source}"


class Results(Mapping[str, Any]):
    """Every row's array by name: float64, NaN for N/A, codes for text rows."""

    def __init__(
        self, template: Template, arrays: Mapping[str, Array], given: Given, spelling: Mapping[float, str]
    ) -> None:
        self.template, self.arrays, self.given, self._spelling = template, arrays, given, spelling

    def __getitem__(self, name: str) -> Array:
        return self.arrays[self.template.row(name).name]

    def __contains__(self, name: object) -> bool:
        return name in self.template.by_name  # a name that is unknown is a UserError elsewhere

    def __iter__(self) -> Iterator[str]:
        return iter(self.template.by_name)

    def __len__(self) -> int:
        return len(self.template.by_name)

    def value(self, name: str) -> Value:
        """The value in a single plan: a number, a text, or None for N/A."""
        number = float(self[name])
        if self.template.row(name).unit == "text":
            return self._spelling.get(number) or text_of(number)
        return None if number != number else number

    def known(self, name: str) -> Value:
        """The value of a row in a single plan; None also if the template has none of this name."""
        return self.value(name) if name in self else None

    def number(self, text: str) -> float | None:
        """The value of a formula in names of rows, in a single plan; None for N/A."""
        found = float(run(parse(text), self.arrays))
        return None if found != found else found


def evaluate(template: Template, facts: Facts, values: Given | None = None) -> Results:
    """Evaluate every row of a template for given values, which may be arrays that broadcast together.

    `values` sets inputs, and overrides lookups or calculated rows, by name. All is computed in float64 by Excel's rules
    (planner.formulas.arrays). Raises UserError for an unknown name, a text in place of a number, an unknown column.
    """
    given = dict(values or {})
    spelling: dict[float, str] = {}
    arrays = leaves_of(template, facts, given, spelling)
    with np.errstate(all="ignore"):
        for row in template.rows:
            if row.name not in arrays:
                arrays[row.name] = computed(row, facts, arrays)
    return Results(template, arrays, given, spelling)


def leaves_of(template: Template, facts: Facts, given: Given, spelling: dict[float, str]) -> dict[str, Array]:
    """The arrays, by name, of rows without precedents and of given ones; `spelling` collects how texts are spelt.

    Raises UserError as `evaluate` does.
    """
    for name in given:
        template.row(name)
    refuse_unnamed(template.rows, facts, given)
    return {row.name: leaf(row, facts, given, spelling) for row in template.rows if is_leaf(row, given)}


def is_leaf(row: Row, given: Container[str]) -> bool:
    """Whether a row's value is given, a default, a constant, or looked up in the plan's one model or chip."""
    is_plain_hardware = row.kind == "hardware" and row.column[1] is None
    return row.name in given or row.kind in ("input", "constant", "model") or is_plain_hardware


def leaf(row: Row, facts: Facts, given: Given, spelling: dict[float, str] | None = None) -> Array:
    """The array of such a row. Raises UserError as `evaluate` does."""
    if row.name in given:
        return encoded(row, given[row.name], spelling)
    if row.kind in ("input", "constant"):
        return encoded(row, row.default, spelling)
    record = facts.model if row.kind == "model" else facts.hardware
    return encoded(row, _looked_up(row, record, row.column[0]), spelling)


def refuse_unnamed(rows: Iterable[Row], facts: Facts, given: Container[str]) -> None:
    """Raise UserError if any of these rows is a number of a model or chip that isn't named; it lists all that are.

    A number that another row's text chooses, such as the peak of a dtype, is refused only once it is looked up.
    """
    of_none = [kind for kind, record in (("model", facts.model), ("hardware", facts.hardware)) if record is None]
    lacking = [row for row in rows if row.kind in of_none and row.name not in given and not _is_calibration(row)]
    if plain := [row for row in lacking if row.column[1] is None]:
        raise _unnamed([*plain, *(row for row in lacking if row not in plain)])


def _unnamed(lacking: Sequence[Row]) -> UserError:
    """What to do about rows of a model or chip that isn't named."""
    first = lacking[0]
    whose, option = ("model", "-m MODEL") if first.kind == "model" else ("chip", "-H CHIP")
    what = f"{first.template or 'this template'} reads a {whose}'s {first.column[0]}"  # not the file's fault: no place
    names = [f"{row.name}=..." for row in lacking if row.kind == first.kind]
    rest = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return UserError(what, remedy=f"name one with {option}, or --set {' '.join(names[:_MOST_NAMED])}{rest}")


def _is_calibration(row: Row) -> bool:
    """Whether a row has the calibration of a chip: without one a plan has bounds, but no expected times."""
    return row.column[0] == "calibration"


def _looked_up(row: Row, record: Mapping[str, Any] | None, column: str) -> Any:
    if record is None:
        return None  # a row that may lack it, or refuse_unnamed refuses it
    if column not in record:
        raise row.fault(f"the {row.kind} table has no column {column}", nearest(column, record))
    return record[column]


def encoded(row: Row, value: Any, spelling: dict[float, str] | None = None) -> Array:
    """A value, or an array or list of values, as float64: NaN for None, codes for texts.

    `spelling` collects the spelling of each text, since texts that differ in case share a code. Raises UserError for a
    text where the row has a unit, and the reverse.
    """
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype.kind in "OUS"):
        if row.unit != "text" and _NUMBERS.issuperset(map(type, value)):
            return np.array(value, dtype=np.float64)
        return np.array([encoded(row, item, spelling) for item in value], dtype=np.float64)
    if value is None:
        return np.float64(np.nan)
    if isinstance(value, str):
        if row.unit != "text":
            raise row.fault(f"{value!r} is no number", f"its unit is {row.unit}")
        number = code(value)
        if spelling is not None:
            spelling.setdefault(number, value)
        return np.float64(number)
    if row.unit == "text":
        raise row.fault(f"{value!r} is no text")
    return np.asarray(value, dtype=np.float64)[()]  # a number, whose arithmetic is faster than that of its array


def computed(row: Row, facts: Facts, arrays: Mapping[str, Array]) -> Array:
    """The array of a row with precedents, given their arrays."""
    if row.kind in CALCULATED:
        return run(row.expression, arrays)
    return looked_up_by(row, facts, NUMPY)(arrays)


def looked_up_by(row: Row, facts: Facts, arithmetic: Arithmetic) -> Callable[[Mapping[str, Array]], Array]:
    """A lookup by the text of another row, as a function of arrays by name."""
    column, selector = row.column
    table = _column(row, facts, column) if row.kind in BY_ID else _family(row, facts, column)
    return lambda arrays: _selected(arrays[str(selector)], table, arithmetic)


def _column(row: Row, facts: Facts, column: str) -> dict[str, Any]:
    """The numbers of a column by the ids of its table's rows."""
    table = facts.by_id.get(row.kind, {})
    first: Mapping[str, Value] = next(iter(table.values()), {})
    if first and column not in first:
        raise row.fault(f"the table of {TABLES[row.kind]} has no column {column}", nearest(column, first))
    return {identifier: encoded(row, cells[column]) for identifier, cells in table.items()}


def _family(row: Row, facts: Facts, column: str) -> dict[str, Any]:
    """The chip's columns `<column>_<dtype>`, by dtype."""
    if facts.hardware is None:
        raise _unnamed([row])
    prefix = f"{column}_"
    record = facts.hardware
    return {name.removeprefix(prefix): encoded(row, value) for name, value in record.items() if name.startswith(prefix)}


def _selected(codes: Array, table: Mapping[str, Any], arithmetic: Arithmetic) -> Array:
    """The table's number for each text code; N/A if the table lacks the text."""
    result: Array = np.nan
    for text, number in table.items():
        result = arithmetic.xp.where(codes == code(text), number, result)
    return result * 1.0


def run(formula: Formula, arrays: Mapping[str, Array]) -> Array:
    """A formula's value, given the array of every name in it."""
    key = formula.text, formula.root.start, formula.root.end
    function = _COMPILED.get(key)
    if function is None:
        function = _COMPILED[key] = compiled(formula.root, NUMPY)
    return function(arrays)


def number_of(node: Node, values: Mapping[str, float | str]) -> float:
    """The value of a formula's tree, given a number or text for every name in it; NaN for N/A."""
    arrays = {name: np.float64(code(value) if isinstance(value, str) else value) for name, value in values.items()}
    with np.errstate(all="ignore"):
        return float(compiled(node, NUMPY)(arrays))


def over(node: Node, parts: Sequence[Node]) -> Node:
    """The node with these children instead of its own."""
    match node:
        case Unary():
            return replace(node, operand=parts[0])
        case Binary():
            return replace(node, left=parts[0], right=parts[1])
        case Call():
            return replace(node, args=tuple(parts))
    return node


def compiled(node: Node, arithmetic: Arithmetic) -> Callable[[Mapping[str, Array]], Array]:
    """A formula's tree compiled to a function of arrays by name."""
    match node:
        case Number(value=value):
            constant = np.float64(value)
            return lambda _: constant
        case Text(value=text):
            interned = np.float64(code(text))
            return lambda _: interned
        case Name(name=name):
            return lambda arrays: arrays[name]
        case Unary(op=op, operand=operand):
            inner = compiled(operand, arithmetic)
            if op in ("()", "+"):
                return inner
            factor = np.float64(-1.0)
            return (lambda arrays: factor * inner(arrays)) if op == "-" else (lambda arrays: inner(arrays) / 100.0)
        case Binary(op=op, left=left, right=right):
            operator = arithmetic.operators[op]
            first, second = compiled(left, arithmetic), compiled(right, arithmetic)
            return lambda arrays: operator(first(arrays), second(arrays))
        case Call(function=function, args=args):
            called = arithmetic.functions[function]
            pieces = [compiled(arg, arithmetic) for arg in args]
            return lambda arrays: called(*(piece(arrays) for piece in pieces))
    raise TypeError(node)
