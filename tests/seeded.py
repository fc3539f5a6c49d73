"""A built workbook in which a test breaks something, cell by cell, and the fixtures that make one."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from xml.sax.saxutils import escape

import pytest

from planner.book.workbook import Book
from planner.check.findings import Fault
from planner.check.run import check
from planner.workbook.book import build
from planner.workbook.scenarios import plan_of
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.sheetxml import SheetXml
from tests.read_once import recalculate_once
from tests.workbooks import few_rows, smaller

ALL = "FGH"  # the columns of the three scenarios
MODELS, CHIPS = ("llama3-70b", "mixtral-8x7b"), ("tpu-v5e", "h100-sxm")


class Seeded:
    """A built workbook in which a test breaks something, cell by cell and without losing the cached values."""

    def __init__(self, package: Package, rows: dict[str, dict[str, int]]) -> None:
        self.package, self._rows = package, rows

    def at(self, sheet: str, name: str, column: str = "F") -> str:
        """The cell of a machine name in a column."""
        return f"{column}{self._rows[sheet][name]}"

    def formula(self, sheet: str, ref: str, text: str, cached: str = "0") -> None:
        """Put a formula into a cell."""
        self._put(sheet, ref, "", f"<f>{escape(text)}</f><v>{cached}</v>")

    def formulas(self, sheet: str, name: str, text: str) -> None:
        """Put a formula into all scenarios of a row; `{0}` is the column, `{name}` the row of another name."""
        for column in ALL:
            self.formula(sheet, self.at(sheet, name, column), text.format(column, **self._rows[sheet]))

    def type(self, sheet: str, ref: str, value: str | float | None) -> None:
        """Type a value into a cell, over a formula too; None empties it."""
        if isinstance(value, str):
            kind = "e" if value.startswith("#") else "inlineStr"
            text = escape(value)
            self._put(sheet, ref, f' t="{kind}"', f"<v>{text}</v>" if kind == "e" else f"<is><t>{text}</t></is>")
        else:
            self._put(sheet, ref, "", "" if value is None else f"<v>{value}</v>")

    def edit(self, part: str, old: str, new: str) -> None:
        """Replace a piece of a part's XML, once."""
        xml = self.package.parts[part].decode()
        assert old in xml
        self.package.replace(part, xml.replace(old, new, 1).encode())

    def part(self, sheet: str) -> str:
        """The part that holds a sheet."""
        return self.package.sheets()[sheet]

    def _put(self, sheet: str, ref: str, kind: str, content: str) -> None:
        part = self.part(sheet)
        cell = re.compile(rf'<c r="{ref}"( s="\d+")?[^>]*?(?:/>|>.*?</c>)')
        xml = self.package.parts[part]
        if not cell.search(xml.decode()):
            xml = with_values(SheetXml(xml), {ref: 0})
        new = cell.sub(lambda match: f'<c r="{ref}"{match[1] or ""}{kind}>{content}</c>', xml.decode(), count=1)
        self.package.replace(part, new.encode())

    def found(self) -> list[Fault]:
        """What check says of the workbook as it is."""
        return list(check(self.package).found)

    def recalculated(self) -> list[Fault]:
        """What check says when a program has recalculated the workbook."""
        recalculate_once(self.package)
        return self.found()


def three_scenarios(template: str) -> bytes:
    """A small workbook of one template: three scenarios, short databases, one sweep, and a few cases."""
    plan = plan_of(MODELS[:1], CHIPS, [template], None, ["n_chips=16"], few_rows(MODELS, CHIPS))
    third = replace(plan.scenarios[0], id="mixtral", model=MODELS[1], values={"n_chips": 16.0})
    return build(smaller(replace(plan, scenarios=[*plan.scenarios, third])))


@cache
def serving() -> bytes:
    """That of serving, built once for all tests of a process: with Operations, Roofline, sweeps and charts."""
    return three_scenarios("inference")


def rows_of(workbook: bytes) -> dict[str, dict[str, int]]:
    """The row of each machine name on each sheet of line items."""
    tables = Book(Package.from_bytes(workbook, "plan.xlsx")).tables
    return {table.sheet.name: {name: line.row for name, line in table.by_name.items()} for table in tables}


@pytest.fixture(name="built", scope="session")
def fixture_built() -> bytes:
    """The workbook of serving."""
    return serving()


@pytest.fixture(name="rows", scope="session")
def fixture_rows(built: bytes) -> dict[str, dict[str, int]]:
    """The row of each machine name on each sheet of line items."""
    return rows_of(built)


@pytest.fixture(name="plan")
def fixture_plan(built: bytes, rows: dict[str, dict[str, int]]) -> Seeded:
    """A built workbook of one's own to break."""
    return Seeded(Package.from_bytes(built, "plan.xlsx"), rows)
