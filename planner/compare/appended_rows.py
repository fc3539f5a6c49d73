"""The rows that are appended to a Comparison: copies of a row of the same template.

If the sheet has no row of that template, the prediction is typed in as values, and the row's note says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from planner.catalog import Value as Known
from planner.compare.comparison_cases import LABELS, label_of
from planner.compare.comparison_sheet import KEY, NOTE, RESULTS, SHOWN, CaseRow, ComparisonSheet, listed_chips
from planner.compare.row_of_measurement import called_so
from planner.errors import UserError, nearest
from planner.formulas import library
from planner.measure.records import EXPECTING, Measurement, case_key, parse_key
from planner.number_text import few
from planner.terminal_table import counted
from planner.xlsx.address import address
from planner.xlsx.cellvalue import CellFormula, Value
from planner.xlsx.sheetedit import Content, NewRow
from planner.xlsx.sheetxml import SheetXml, TemplateCell

VALUES_ONLY = "values only: the sheet had no row of this template to copy"
# typed as in the copied row, unless the measurement has its own
EFFICIENCIES = ("compute_efficiency", "memory_efficiency")
NO_NETWORK = "has no network in the hardware table"
UNLINKED = f"no prediction: {{}} {NO_NETWORK}"
UNSHIPPED = "no prediction: {} is a chip of your own; planner update brings the formulas of the row"


class UnknownCaseError(UserError):
    """A measurement whose `key` is that of no row and describes no case."""

    def __init__(self, key: str, what: str, remedy: str) -> None:
        self.key = key
        super().__init__(what, remedy=remedy)


@dataclass(frozen=True)
class AppendedRows:
    """Rows to append: whole-row copies (`copies`), else each cell's content and the cell whose style it takes."""

    measured: dict[int, Measurement] = field(default_factory=dict)  # by row number
    copies: list[NewRow] = field(default_factory=list)
    contents: dict[str, Content] = field(default_factory=dict)
    like: dict[str, str] = field(default_factory=dict)
    unpredicted: list[str] = field(default_factory=list)  # the chips of values that lack a prediction: no shipped ones


def appended(sheet: ComparisonSheet, cases: Sequence[tuple[Measurement, Mapping[str, Value]]]) -> AppendedRows:
    """The rows for measurements without a row, each with further cells to type by machine name, below the table."""
    new = AppendedRows()
    if not cases:
        return new
    last = {row.text("template"): row for row in sheet.rows if not row.text(NOTE).startswith(VALUES_ONLY)}
    existing, labels = set(sheet.xml.row_numbers), _labels(sheet)
    templates: dict[int, Mapping[int, TemplateCell]] = {}
    for number, (one, cells) in zip(_free_rows(sheet), cases, strict=False):
        template, inputs = _case_of(one, sheet)
        label = labels.get(case_key(template, inputs)) or label_of(template, inputs)
        named = {KEY: one.case_key, "hardware_id": one.hardware_id or None, "case_label": label}
        note = {NOTE: UNLINKED.format(one.hardware_id)} if _is_unlinked(template, one.hardware_id) else {}
        typed = {**named, "template": template, **inputs, **cells, **note}
        new.measured[number] = one
        source = last.get(template)
        if source is None:
            typed |= _prediction(template, inputs, one)
            if _is_unshipped(one.hardware_id):
                note = {NOTE: UNSHIPPED.format(one.hardware_id)}
                new.unpredicted.append(one.hardware_id)
            typed[NOTE] = "; ".join([VALUES_ONLY, *note.values()])
            _type(sheet, number, typed, sheet.rows[-1] if sheet.rows else None, new)
            continue
        typed = {name: source.value(name) for name in EFFICIENCIES} | typed
        if source.number not in templates:
            templates[source.number] = sheet.xml.template(source.number)
        copied = templates[source.number]
        if number not in existing:
            new.copies.append(NewRow(number, source.number, _typed(sheet, typed, copied)))
            continue
        _copy_down(copied, source.number, number, new)
        _type(sheet, number, typed, source, new)
    return new


def _is_unlinked(template: str, chip: str) -> bool:
    """Whether a case spans several chips of a kind whose network isn't in the hardware table."""
    if template not in LABELS:
        return False
    from planner.compare.prediction import hardware  # here, for it loads numpy

    row = hardware().rows.get(chip)
    return row is not None and not row["topology"]


def _is_unshipped(chip: str) -> bool:
    """Whether a chip is none of the shipped hardware table, from which values are predicted."""
    from planner.compare.prediction import hardware  # here, for it loads numpy

    return bool(chip) and not hardware().has(chip)


def _labels(sheet: ComparisonSheet) -> dict[str, str]:
    """The labels of the sheet's cases by key; for a repeated case the first row's."""
    return {key: label for row in reversed(sheet.rows) if (label := row.text("case_label")) for key in row.keys}


def _case_of(measured: Measurement, sheet: ComparisonSheet) -> tuple[str, Mapping[str, Known]]:
    """The template and inputs of a measurement. Raises UnknownCaseError for a key that doesn't describe a case."""
    key = measured.case_key
    try:
        template, inputs = parse_key(key)
        known = _inputs_of(template)
    except (ValueError, UserError) as error:
        called = next((row for row in sheet.rows if row.text("case_label").lower() == key.strip().lower()), None)
        if called is not None:
            what = f"{key!r} is the label of row {called.number} of {sheet.name}, and no key"
            raise UnknownCaseError(key, what, f"write its key, {min(called.keys)}") from None
        what = f"no row of {sheet.name} has the key {key!r}, and it is no case: {error}"
        remedy = "write the key of a case, as planner measure --list shows it, or type this one into the row's key cell"
        raise UnknownCaseError(key, what, remedy) from None
    inputs = {name: known[name] for name in EXPECTING if name in known} | inputs
    unknown = next((name for name in inputs if name not in known), None)
    if unknown:
        raise UnknownCaseError(key, f"{key!r}: {template} has no input {unknown}", nearest(unknown, known))
    rows = library.load(template).of_kind("input")
    if lacking := [row.name for row in rows if row.default is None and inputs.get(row.name) is None]:
        what = f"no row of {sheet.name} has the key {key!r}, which lacks {few(lacking)}"
        raise UnknownCaseError(key, what, "write the whole key, as planner measure --list shows it")
    return template, inputs


def _inputs_of(template: str) -> Mapping[str, Known]:
    """The row names of a template; the value is an input's default, else None.

    Raises UserError for an unknown template.
    """
    rows = library.load(template).by_name
    return {name: row.default if row.kind == "input" else None for name, row in rows.items()}


def _free_rows(sheet: ComparisonSheet) -> Iterator[int]:
    """The empty rows below the last case."""
    last = max((row.number for row in sheet.rows), default=sheet.header)
    return filter(sheet.is_blank, count(last + 1))


def _typed(sheet: ComparisonSheet, values: Mapping[str, Value], cells: Mapping[int, TemplateCell]) -> dict[int, Value]:
    """The values to type into a copied row, by column: those of cells without a formula."""
    at = {sheet.columns[name]: value for name, value in values.items() if name in sheet.columns}
    return {column: value for column, value in at.items() if column not in cells or cells[column].formula is None}


def _copy_down(cells: Mapping[int, TemplateCell], source: int, number: int, new: AppendedRows) -> None:
    """Copy a row's formulas, with moved references, to the row `number`; of typed cells only the style is copied."""
    for column, cell in cells.items():
        target = address(number, column)
        new.like[target] = address(source, column)
        new.contents[target] = None if cell.formula is None else CellFormula(cell.formula.at(number))


def _type(
    sheet: ComparisonSheet,
    number: int,
    typed: Mapping[str, Value],
    like: CaseRow | None,
    new: AppendedRows,
) -> None:
    """Type values by machine name, except over copied formulas; styles are those of the row `like`."""
    for name, value in typed.items():
        if name in sheet.columns:
            target = address(number, sheet.columns[name])
            if not isinstance(new.contents.get(target), CellFormula):
                new.contents[target] = value
            if like is not None:
                new.like[target] = address(like.number, sheet.columns[name])


def _prediction(template: str, inputs: Mapping[str, Known], measured: Measurement) -> dict[str, Known]:
    """The prediction as values, by machine name; empty for an unknown template."""
    from planner.compare.prediction import judge, predict  # here, for it loads numpy

    try:
        known = predict(template, inputs, measured.hardware_id)
    except UserError:
        return {}
    rows = [row for row in known.template.rows if row.kind not in ("constant", "check")]
    return {row.name: known.value(row.name) for row in rows} | judge(known, measured.t_median)


def predicted_again(sheet: ComparisonSheet, row: CaseRow, measured: Measurement) -> dict[str, Known]:
    """The new prediction and ratios of a values-only row for a new time.

    Empty for a row of formulas or an unchanged time. If the case or chip can no longer be determined, the old results
    are blanked.
    """
    if not row.text(NOTE).startswith(VALUES_ONLY) or row.value("measured_time") == measured.t_median:
        return {}
    blank: dict[str, Known] = {each.name: None for each in library.load(RESULTS).of_kind("calc", "output")}
    blank |= {f"{name}{SHOWN}": None for name in blank}
    one = replace(measured, hardware_id=row.text("hardware_id") or measured.hardware_id)
    for key in row.keys:
        try:
            template, inputs = _case_of(replace(one, case_key=key), sheet)
        except UserError:
            continue
        return blank | _prediction(template, inputs, one)
    return blank


def unknown_chips(
    sheet: ComparisonSheet, parsed: Mapping[str, SheetXml], timed: Iterable[tuple[str, str]]
) -> dict[str, str]:
    """A line for each chip, of the timed (template, chip) pairs, that the workbook lacks: no prediction for its cases.

    The rows said to wait for it are those of templates with formulas in the sheet. Empty without a list of chips.
    """
    computed = {row.text("template") for row in sheet.rows}
    waiting = Counter[str]()
    for template, chip in timed:
        if chip:
            waiting[chip] += template in computed
    found = listed_chips(sheet, parsed) if waiting else None
    if found is None:
        return {}
    lowered = {name.lower() for name in found.kinds}  # as the formula compares them
    return {
        chip: f"{chip} is not on {found.on}{_waits(count)}; {_meant(chip, found.kinds) or f'add it to {found.on}'}"
        for chip, count in waiting.items()
        if chip.lower() not in lowered
    }


def _meant(chip: str, kinds: Mapping[str, str]) -> str:
    """The chip that is meant: the one whose JAX device kind this is, else the nearest id."""
    called = called_so(chip, kinds)
    return f"JAX calls {' or '.join(called)} so: write that as its hardware_id" if called else nearest(chip, kinds)


def _waits(count: int) -> str:
    return f": the prediction of {counted(count, 'row')} is N/A until it is" if count else ""
