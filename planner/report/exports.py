"""A report for other programs: JSON, and CSV for a spreadsheet.

JSON holds the plain data that every format is made of, numbers as they are and null for N/A. CSV has a line for each
number, and no text that a spreadsheet takes for a formula.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Iterator
from typing import Any

from planner.csvfile import FORMULA_STARTS
from planner.report.contents import Figure, FigureTable, ReportData, Section
from planner.terminal_table import joined

SCHEMA = 2  # increased when a field is renamed or removed


def as_json(report: ReportData) -> str:
    """The text. A picture is its title, words and table; the drawing itself is left to HTML and PDF."""
    return json.dumps({"schema": SCHEMA, **plain(report)}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """Data classes as dictionaries, without the empty fields of figures."""
    if isinstance(value, Figure):
        kept = {"value": value.value, "unit": value.unit, "text": value.text, "cell": value.cell}
        return kept | ({"why": value.why} if value.why else {}) | ({"derived": True} if value.is_derived else {})
    if dataclasses.is_dataclass(value):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value) if field.name != "svg"
        }
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


HEADER = ("section", "scenario", "name", "label", "value", "unit", "shown", "cell", "note")
_WIDE = "\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
_FORMULA = (*FORMULA_STARTS, "\n", *_WIDE)
CsvRecord = tuple[str, str, str, str, Figure, str]


def as_csv(report: ReportData) -> str:
    """The CSV text with a UTF-8 byte-order mark for spreadsheets. Numbers have full precision."""
    stream = io.StringIO()
    stream.write("\N{ZERO WIDTH NO-BREAK SPACE}")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(HEADER)
    for section, scenario, name, label, figure, note in _records(report):
        value = figure.exact if figure.is_number else as_text(figure.value if figure.is_text else "")
        why = joined(figure.why and f"N/A: {figure.why}", note.strip())
        unit = "" if figure.is_text else figure.unit
        row = (section, scenario, name, label, unit, figure.text, figure.cell, why)
        texts = [as_text(text) for text in row]
        writer.writerow([*texts[:4], value, *texts[4:]])
    return stream.getvalue()


def as_text(text: object) -> str:
    """A text that spreadsheets keep as text: an apostrophe is put before one that could be taken for a formula."""
    words = str(text)
    return f"'{words}" if words.lstrip(" ").startswith(_FORMULA) or words.startswith(_FORMULA) else words


def _records(report: ReportData) -> Iterator[CsvRecord]:
    for label, value in (
        ("title", report.title),
        ("file", report.file),
        ("file SHA-256", report.file_digest),
        ("date of the report", report.date),
        ("planner", report.planner),
        *((name.lower(), value) for name, value in report.workbook.items()),
    ):
        yield "report", "", "", label, Figure.of_text(value), ""
    for warning in report.warnings:
        yield "report", "", "", "note", Figure.of_text(warning), ""
    for check in (*report.failed, *report.untold):
        state = "failed" if check.fails else "can't be told"
        figure = Figure.of_text(state, check.cell, check.why)
        yield "checks", check.scenario, "", check.label, figure, joined(check.numbers, check.meaning)
    for typed in report.typed:
        yield "changed by hand", typed.scenario, "", typed.label, Figure.of_text(typed.what, typed.cell), ""
    for scenario in report.scenarios:
        fits = "can't be told" if scenario.fits is None else "fits" if scenario.fits else "doesn't fit"
        yield "summary", scenario.name, "", "Fits", Figure.of_text(fits), ""
        for memory in scenario.memory:
            yield "summary", scenario.name, "", f"Memory needed for {memory.what}", memory.needed, ""
            yield "summary", scenario.name, "", f"Memory there for {memory.what}", memory.room, ""
        for what, bound in scenario.binds:
            yield "summary", scenario.name, "", f"{what}: bound by", Figure.of_text(bound), ""
        for label, notes in (("How sure", (scenario.sure, *scenario.notes)), ("What to change", scenario.changes)):
            for note in filter(None, notes):
                yield "summary", scenario.name, "", label, Figure.of_text(note), ""
    for section in report.headlines:
        yield from _section(report, "headlines", section)
    for runs in report.near:
        yield from _near(runs)
    for own in report.own:
        yield from _table(own.title.lower(), own, "")
    for search in report.searches:
        yield from _search(search.title.lower(), search.numbers)
    for sweep in (*report.sweeps, *report.what_ifs):
        yield from _table(f"sweep {sweep.title}".strip(), sweep, report.swept)
    if report.comparison:
        yield from _table("comparison", report.comparison, "")
    for section in report.assumptions:
        yield from _section(report, f"assumptions: {section.title}", section)
    for source in report.sources:
        yield "provenance", "", "", source.what, Figure.of_text(source.detail), source.kind
    for where, note in report.notes:
        yield "notes", "", "", where, Figure.of_text(note, where), ""


def _section(report: ReportData, title: str, section: Section) -> Iterator[CsvRecord]:
    names = [report.scenarios[at].name for at in section.meant] or [""]
    for numbers in section.expected:
        for scenario, each in zip(names, numbers, strict=True):
            for words, figure in (
                ("expected", each.expected),
                ("least", each.low),
                ("most", each.high),
                ("bound", each.bound),
            ):
                yield "expected", scenario, each.name, f"{each.label}: {words}", figure, each.note
    for line in section.lines:
        for scenario, figure in zip(names, line.figures, strict=True):
            if figure.text:
                yield title, scenario, line.name, line.label, figure, line.note


def _near(runs: FigureTable) -> Iterator[CsvRecord]:
    """The numbers of each published run, with the scenario that it is similar to."""
    for scenario, run, *row in runs.rows:
        for column, figure in zip(runs.columns[2:], row, strict=True):
            yield "runs like yours", scenario.text, column.name, f"{run.text}: {column.label}", figure, ""


def _search(title: str, table: FigureTable) -> Iterator[CsvRecord]:
    """The request, then each number of the plans found, by plan number."""
    for note in table.notes:
        label, _, text = note.partition(": ")
        yield title, "", "", label, Figure.of_text(text.removesuffix(".")), ""
    for number, row in enumerate(table.rows, start=1):
        scenario = next(
            (each.text for column, each in zip(table.columns, row, strict=True) if column.name == "scenario_id"), ""
        )
        for column, figure in zip(table.columns, row, strict=True):
            if figure.text:
                yield title, scenario, column.name, f"plan {number}: {column.label}", figure, ""


def _table(title: str, table: FigureTable, scenario: str) -> Iterator[CsvRecord]:
    """Each number of a table, labelled by the first cells of its row."""
    for row in table.rows:
        for column, figure in list(zip(table.columns, row, strict=True))[1:]:
            yield title, scenario, column.name, f"{row[0].text}: {column.label}", figure, ""
