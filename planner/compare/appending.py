"""New rows of a Comparison: the formulas of a row of the same template copied down, as an analyst would.

Where the sheet has no row of that template there is nothing to copy: the prediction is typed in as values, and the
row's note says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from planner.catalog import Value as Known
from planner.compare.landing import cells_of, identity_of
from planner.compare.naming import label_of
from planner.compare.sheet import NOTE, CaseRow, ComparisonSheet
from planner.errors import UserError, nearest
from planner.formulas import library
from planner.measure.keys import case_key, parse_key
from planner.measure.records import Measurement
from planner.xlsx.address import address
from planner.xlsx.cellvalue import Formula, Value
from planner.xlsx.newrows import NewRow, TemplateCell
from planner.xlsx.sheetedit import Content

VALUES_ONLY = "values only: the sheet had no row of this template to copy"


@dataclass(frozen=True)
class NewCells:
    """Appended rows: those that are copies of another row, and of others what each cell holds and looks like."""

    contents: dict[str, Content] = field(default_factory=dict)
    like: dict[str, str] = field(default_factory=dict)
    copies: list[NewRow] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)  # the numbers of all
    measured: dict[int, Measurement] = field(default_factory=dict)  # and what landed in each
    above_peak: list[str] = field(default_factory=list)  # the keys of those that are too fast to be true


def appended(sheet: ComparisonSheet, measured: Sequence[Measurement]) -> NewCells:
    """The rows of these measurements, in the free rows below the table."""
    new = NewCells()
    last = {row.text("template"): row for row in sheet.rows}  # the last row of each template
    held, labels = set(sheet.xml.row_numbers), _labels(sheet)
    templates: dict[int, dict[int, TemplateCell]] = {}
    for number, one in zip(_free_rows(sheet), measured, strict=False):
        template, inputs = _case_of(one, sheet)
        new.rows.append(number)
        new.measured[number] = one
        source = last.get(template)
        label = labels.get(case_key(template, inputs)) or label_of(template, inputs)
        typed = identity_of(one) | {"case_label": label, "template": template, **inputs}
        typed |= cells_of(CaseRow(number, {}), one)
        if source is not None:
            if source.number not in templates:
                templates[source.number] = {cell.column: cell for cell in sheet.xml.template(source.number)}
            cells = templates[source.number]
            if number not in held:
                new.copies.append(NewRow(number, source.number, _typed(sheet, typed, cells)))
                continue
            _copy_down(cells, source.number, number, new)
        else:
            typed |= _prediction(template, inputs, one) | {NOTE: VALUES_ONLY}
        _type(sheet, number, typed, source or (sheet.rows[-1] if sheet.rows else None), new)
    return new


def _labels(sheet: ComparisonSheet) -> dict[str, str]:
    """What the sheet calls the cases that it has, by key; the first row of a case counts."""
    sheet.load(["case_label"])
    return {key: label for row in reversed(sheet.rows) if (label := row.text("case_label")) for key in row.keys}


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
    held = set(sheet.xml.row_numbers)
    number = max((row.number for row in sheet.rows), default=sheet.header)
    while True:
        number += 1
        cells = sheet.xml.row(number).values() if number in held else ()
        if all(cell.value is None and cell.formula is None for cell in cells):
            yield number


def _typed(sheet: ComparisonSheet, values: Mapping[str, Value], cells: Mapping[int, TemplateCell]) -> dict[int, Value]:
    """What is typed into a copied row, by column: all but what a formula gives there."""
    at = {sheet.columns[name]: value for name, value in values.items() if name in sheet.columns}
    return {column: value for column, value in at.items() if column not in cells or cells[column].formula is None}


def _copy_down(cells: Mapping[int, TemplateCell], source: int, number: int, new: NewCells) -> None:
    """Every formula of a row, its references moved; of the cells that are typed the format alone."""
    for column, cell in cells.items():
        target = address(number, column)
        new.like[target] = address(source, column)
        new.contents[target] = None if cell.formula is None else Formula(cell.formula.at(number))


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
    from planner.compare.prediction import judge, predict  # here, for it loads numpy

    try:
        known = predict(template, inputs, measured.hardware_id)
    except UserError:
        return {}
    rows = [row for row in known.template.rows if row.kind not in ("constant", "check")]
    return {row.name: known.value(row.name) for row in rows} | judge(known, measured.t_median)
