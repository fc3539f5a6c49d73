"""New rows of a Comparison: the formulas of a row of the same template copied down, as an analyst would.

Where the sheet has no row of that template there is nothing to copy: the prediction is typed in as values, and the
row's note says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from measure.keys import parse_key
from measure.records import Measurement
from planner import library
from planner.catalog import Value as Known
from planner.comparison.landing import cells_of, identity_of
from planner.comparison.prediction import judge, predict
from planner.comparison.sheet import NOTE, CaseRow, ComparisonSheet
from planner.errors import UserError, nearest
from planner.xlsx.address import address
from planner.xlsx.cellvalue import Formula, Value
from planner.xlsx.sheetxml import Content

VALUES_ONLY = "values only: the sheet had no row of this template to copy"


@dataclass(frozen=True)
class NewCells:
    """Cells of appended rows: what each holds, and which old cell each looks like."""

    contents: dict[str, Content]
    like: dict[str, str]
    rows: list[int] = field(default_factory=list)  # their numbers


def appended(sheet: ComparisonSheet, measured: Sequence[Measurement]) -> NewCells:
    """The rows of these measurements, in the free rows below the table."""
    new = NewCells({}, {})
    for number, one in zip(_free_rows(sheet), measured, strict=False):
        template, inputs = _case_of(one, sheet)
        new.rows.append(number)
        source = next((row for row in reversed(sheet.rows) if row.text("template") == template), None)
        typed = identity_of(one) | {"template": template, **inputs} | cells_of(CaseRow(number, {}), one)
        if source is not None:
            _copy_down(sheet, source, number, new)
        else:
            typed |= _prediction(template, inputs, one) | {NOTE: VALUES_ONLY}
        _type(sheet, number, typed, source or (sheet.rows[-1] if sheet.rows else None), new)
    return new


def _case_of(measured: Measurement, sheet: ComparisonSheet) -> tuple[str, Mapping[str, Known]]:
    """The template and the inputs of a measurement. Raises UserError for a key that means no case."""
    try:
        template, inputs = parse_key(measured.case_key)
        known = _inputs_of(template)
    except (ValueError, UserError) as error:
        what = f"no row of {sheet.name} has the key {measured.case_key!r}, and it is no case: {error}"
        raise UserError(what, remedy="give the row that it is meant for this key") from None
    unknown = next((name for name in inputs if name not in known), None)
    if unknown:
        raise UserError(f"{measured.case_key!r}: {template} has no input {unknown}", remedy=nearest(unknown, known))
    return template, inputs


@cache
def _inputs_of(template: str) -> tuple[str, ...]:
    """The names of a template. Raises UserError for one that is unknown."""
    return tuple(library.load(template).by_name)


def _free_rows(sheet: ComparisonSheet) -> Iterator[int]:
    """The rows below the last case in which no cell holds anything."""
    used = {int(ref.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")) for ref, cell in sheet.xml.cells.items()
            if cell.value is not None or cell.formula is not None}  # fmt: skip
    number = max((row.number for row in sheet.rows), default=sheet.header)
    while True:
        number += 1
        if number not in used:
            yield number


def _copy_down(sheet: ComparisonSheet, source: CaseRow, number: int, new: NewCells) -> None:
    """Every formula of a row, its references moved; of the cells that are typed the format alone."""
    for ref, cell in sheet.xml.cells_of_row(source.number):
        target = f"{ref.rstrip('0123456789')}{number}"
        text = sheet.xml.formula_at(cell.ref, target)
        new.like[target] = ref
        new.contents[target] = None if text is None else Formula(text)


def _type(
    sheet: ComparisonSheet, number: int, typed: Mapping[str, Value], like: CaseRow | None, new: NewCells
) -> None:  # fmt: skip
    for name, value in typed.items():
        if name in sheet.columns:
            target = address(number, sheet.columns[name])
            if not isinstance(new.contents.get(target), Formula):
                new.contents[target] = value
            if like is not None:
                new.like[target] = address(like.number, sheet.columns[name])


def _prediction(template: str, inputs: Mapping[str, Known], measured: Measurement) -> dict[str, Known]:
    """The prediction as values, by machine name; nothing where the template is unknown."""
    try:
        known = predict(template, inputs, measured.hardware_id)
    except UserError:
        return {}
    rows = [row for row in known.template.rows if row.kind not in ("constant", "check")]
    return {row.name: known.value(row.name) for row in rows} | judge(known, measured.t_median)
