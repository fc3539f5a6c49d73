"""A planning workbook, however edited, read into plain data: `read_plan(path)` gives a `Plan`.

`read_workbook` reads the workbook of worked problems too, as a Plan without scenarios.
"""

from planner.book.plan import Check, Entry, Headline, Note, Plan, Quantity, Scenario, Stale
from planner.book.read import read_plan, read_workbook
from planner.xlsx.address import Spot

__all__ = [
    "Check", "Entry", "Headline", "Note", "Plan", "Quantity", "Scenario", "Spot", "Stale", "read_plan", "read_workbook",
]  # fmt: skip
