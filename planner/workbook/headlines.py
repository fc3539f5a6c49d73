"""Which rows of a template are its headlines: those that templates/dashboard.csv names, else its first outputs."""

from __future__ import annotations

from planner import csvfile, data
from planner.formulas.template import Template

COLUMNS = ("template", "name")
MOST = 12  # headlines of a template that names none


def headlines(template: Template) -> list[str]:
    """The names of a template's headline rows, in the order in which Dashboard shows them."""
    sheet = csvfile.read(data.folder("templates") / "dashboard.csv", required=COLUMNS, known=COLUMNS)
    named = [cells["name"] for _, cells in sheet.records() if cells["template"] == template.name]
    return [name for name in named if name in template.by_name] or [
        row.name for row in template.of_kind("output")[:MOST]
    ]
