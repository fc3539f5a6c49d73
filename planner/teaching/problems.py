"""The worked problems as data: templates/book.csv, with each row validated against its template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from planner import csvfile, data
from planner.catalog import Table, Value
from planner.errors import Place, UserError
from planner.formulas import input_values, library
from planner.formulas.template import Row, Template
from planner.typed_numbers import PLAIN

NAME = "book"
COLUMNS = (
    "id", "work", "chapter", "place", "question", "symbols", "template", "model", "hardware", "settings", "output",
    "factor", "unit", "exact", "printed", "mapping", "explanation",
)  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """A worked problem of a source, and the template row that answers it."""

    id: str
    work: str
    chapter: str
    place: str
    question: str
    symbols: str
    unit: str
    exact: float | None  # by the source's arithmetic, in `unit`
    printed: float | None  # as printed by the source, in `unit`; None if it prints no number
    rounding: float | None
    mapping: str  # how the problem was modelled, or why no template covers it
    explanation: str  # why the source's answer differs
    answer: Answer | None = None

    @property
    def source(self) -> str:
        """Its location: the work, and the chapter or file in it."""
        return f"{self.work}, {self.place}"


@dataclass(frozen=True)
class Answer:
    """A template's row for a problem's given values: a model, a chip, and typed inputs and overrides."""

    template: Template
    model: str | None
    hardware: str | None
    given: Mapping[str, Value]
    output: Row
    factor: float | None

    @property
    def rows(self) -> list[Row]:
        """The rows that the output depends on, in order; given values have no precedents."""
        wanted = {self.output.name}
        for row in reversed(self.template.rows):
            if row.name in wanted and row.name not in self.given:
                wanted.update(row.reads)
        return [row for row in self.template.rows if row.name in wanted]


def path() -> Path:
    """The file of the shipped problems."""
    return data.folder("templates") / f"{NAME}.csv"


def load(models: Table, hardware: Table, file: Path | None = None) -> tuple[list[Problem], str]:
    """Every problem in order, and the digest of the file.

    Raises UserError with file and line for an unknown template, row, model or chip, or an invalid number.
    """
    sheet = csvfile.read(file or path(), required=COLUMNS, known=COLUMNS)
    problems: dict[str, Problem] = {}
    for line, cells in sheet.records():
        place = Place(sheet.path, line)
        try:
            problem = _problem(cells, models, hardware)
        except UserError as error:
            raise error.at(error.place or place) from None
        if problem.id in problems:
            raise UserError(f"the problem {problem.id} stands twice", place=place, remedy="ids are unique")
        problems[problem.id] = problem
    return list(problems.values()), sheet.digest


def _problem(cells: Mapping[str, str], models: Table, hardware: Table) -> Problem:
    problem = Problem(
        id=cells["id"],
        work=cells["work"],
        chapter=cells["chapter"],
        place=cells["place"],
        question=cells["question"],
        symbols=cells["symbols"],
        unit=cells["unit"],
        exact=_number("exact", cells["exact"]),
        printed=_number("printed", cells["printed"]),
        rounding=rounding(cells["printed"]),
        mapping=cells["mapping"],
        explanation=cells["explanation"],
    )
    if not re.fullmatch(r"\w[\w ]*(:.*)?", problem.chapter):
        raise UserError(f"{problem.chapter!r} names no chapter", remedy="write `Chapter 1: Rooflines`")
    if not cells["template"]:
        return problem
    if problem.exact is None:
        raise UserError(f"{problem.id} has a template and no exact answer")
    template = library.load(cells["template"])
    answer = Answer(
        template,
        models.identify(cells["model"]) if cells["model"] else None,
        hardware.identify(cells["hardware"]) if cells["hardware"] else None,
        input_values.values(template, filter(None, cells["settings"].split(";")), input_values.meant),
        template.row(cells["output"]),
        _number("factor", cells["factor"]),
    )
    _check_lookups(answer)
    return replace(problem, answer=answer)


def _number(name: str, text: str) -> float | None:
    if text and not PLAIN.fullmatch(text):
        raise UserError(f"{name} is {text!r}, which is no number", remedy="write 0.5 or 1e12, or leave it blank")
    return float(text) if text else None


def rounding(printed: str) -> float | None:
    """Half a unit of a printed number's last nonzero digit: the largest error that rounding explains."""
    if not printed:
        return None
    number = Decimal(printed)
    exponent = number.normalize().as_tuple().exponent
    assert isinstance(exponent, int), "a printed number is finite"
    return float(Decimal(5).scaleb(exponent - 1)) if number else 0.0


def _check_lookups(answer: Answer) -> None:
    for kind, chosen, option in (("model", answer.model, "model"), ("hardware", answer.hardware, "chip")):
        for row in answer.rows:
            if row.kind == kind and chosen is None and row.name not in answer.given:
                raise UserError(f"{row.name} is looked up and no {option} is named", remedy=f"fill the column {kind}")
