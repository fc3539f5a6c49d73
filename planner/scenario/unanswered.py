"""What a new scenario has no answer for: the first headline of its workload that is N/A, and what is missing for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.book.workbook import Book
from planner.catalog import Value
from planner.formulas import library
from planner.formulas.evaluation import Facts
from planner.formulas.headlines import leaders
from planner.formulas.sweeps import swept_templates
from planner.formulas.template import CALCULATED
from planner.workbook.scenarios import lacking
from planner.workbook.workloads import ALL_WORKLOADS
from planner.xlsx.address import address
from planner.xlsx.cellvalue import CellError, is_number
from planner.xlsx.opc import Package
from planner.xlsx.workbook_part import parse_sheets


def unanswered(package: Package, book: Book, called: str, workload: str, at: Mapping[str, int]) -> Iterator[str]:
    """As `planner build` says it of the scenario `called`, whose column on each sheet is `at`.

    `book` tells where the rows stand; the numbers are those that `package` has now, as saved. A formula of a person's
    may give what the templates don't: nothing is said where the cell of the headline holds a number.
    """
    sheets, values = parse_sheets(package), dict[str, Value]()
    for table in book.calculations:
        cells = sheets[table.sheet.name].cells
        for line in table.lines:
            cell = cells.get(address(line.row, at[table.sheet.name]))
            found = cell.value if cell is not None else None
            if is_number(found) or (isinstance(found, str) and not isinstance(found, CellError)):
                values.setdefault(line.name, found)
    for name in dict.fromkeys(book.templates.values()):
        head = leaders().get(name)
        if head is None or head in values or name not in swept_templates() or workload not in ("", name, ALL_WORKLOADS):
            continue
        counted = library.load(name).reduced([head])
        given = {row.name: values.get(row.name) for row in counted.rows if row.kind not in CALCULATED}
        model, chip = ({row.column[0]: None for row in counted.of_kind(kind)} for kind in ("model", "hardware"))
        typed = {row.name for row in counted.rows if row.kind in ("input", "constant")}
        known = {name: value for name, value in given.items() if value is not None or name in typed}
        yield from lacking(counted, head, called, Facts(model, chip), known)
