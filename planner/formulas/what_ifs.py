"""A plan's cost at other prices and efficiencies, as data: the rows of templates/what_if.csv.

They are formulas over the rows of a template and two factors: `price_factor` times what chips cost, and
`efficiency_factor` times what is reached of the hardware, by which an expected time moves down to its bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from planner import csvfile, data
from planner.errors import Place
from planner.formulas.include import Scope
from planner.formulas.sweeps import Sweep
from planner.formulas.template import COLUMNS, DISPLAY, Row, Template, checked, row_of

EFFICIENCY, PRICE = "efficiency_factor", "price_factor"
FACTORS = (
    Row(EFFICIENCY, "Efficiency times", "1", "input", "1", template="what_if"),
    Row(PRICE, "Price times", "1", "input", "1", template="what_if"),
)


def what_ifs(templates: Sequence[Template]) -> list[Sweep]:
    """The what-ifs of templates, as sweeps without an axis of the template's own; none of a template without a row.

    Raises UserError with file and line for a formula that can't be read or whose unit isn't the declared one.
    """
    return [_of(template, rows) for template in templates if (rows := _records().get(template.name))]


def _of(template: Template, rows: Sequence[Row]) -> Sweep:
    scope = Scope()
    for row in (*template.rows, *FACTORS):
        scope.add(row)
    for row in rows:
        scope.add(checked(row, scope.units, {}))
    names = tuple(row.name for row in rows)
    return Sweep(template, (), scope.rows, names, names, ())


@cache
def _records() -> dict[str, list[Row]]:
    """The rows of what_if.csv by template."""
    path = data.folder("templates") / "what_if.csv"
    found: dict[str, list[Row]] = {}
    columns = ("template", *COLUMNS, DISPLAY)
    for line, cells in csvfile.read(path, required=columns, known=columns).records():
        found.setdefault(cells["template"], []).append(row_of(cells, Place(path, line), "what_if"))
    return found
